/* SPDX-License-Identifier: Apache-2.0 */
/*
 * null_calls FILE: calls each exported function with each pointer argument NULL, and with all of
 * them NULL, each in a process of its own. A required argument that is NULL is E_INVALID, with a
 * text that says so. Arguments that may be NULL are listed in the file, `FUNCTION ARGUMENT NULL` in
 * a line. Prints a line for each failure, and last the number of calls and of failures.
 */
#include "null_calls.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child leaves. */
typedef struct result {
    bool is_made; /* the objects are there, and the call was made */
    bool is_done;
    int status;
    char text[300];
} result;

static result *shared;
static null_objects objects;
static const null_call *call;
static uint32_t nulls;

static void perform(void)
{
    shared->is_made = true;
    shared->status = call->call(&objects, nulls);
    snprintf(shared->text, sizeof(shared->text), "%s", sluice_last_error());
    shared->is_done = true;
}

/* ---- objects --------------------------------------------------------------------------------- */

static void must(sluice_status status)
{
    if (status < SLUICE_OK) {
        snprintf(shared->text, sizeof(shared->text), "no objects: %s", sluice_last_error());
        _exit(1);
    }
}

static sluice_status step(const sluice_step *view, void *user)
{
    (void)view;
    (void)user;
    return SLUICE_OK;
}

const sluice_model *null_model(void)
{
    static sluice_model model;

    sluice_model_init(&model);
    model.step = step;
    return &model;
}

const sluice_train_config *null_train_config(void)
{
    static sluice_train_config config;

    sluice_train_config_init(&config);
    config.max_steps = 2;
    config.workers = 1;
    return &config;
}

static sluice_status read_sample(sluice_sample *sample, uint64_t index, void *user)
{
    void *room = NULL;

    (void)index;
    (void)user;
    objects.sluice_sample = sample;
    perform();
    return sluice_sample_room(sample, "x", NULL, &room);
}

static sluice_dataset *own_source(void)
{
    static const sluice_column_spec column = {
        .name = "x", .dtype = SLUICE_U8, .rank = 1, .shape = {4}};
    sluice_dataset *dataset = NULL;
    sluice_source source;

    sluice_source_init(&source);
    source.name = "mine";
    source.columns = &column;
    source.column_count = 1;
    source.count = 4;
    source.read = read_sample;
    must(sluice_dataset_source(&source, &dataset));
    must(sluice_dataset_add(dataset, "batch 1 drop_remainder=true"));
    return dataset;
}

static void perform_with_sample(void)
{
    static uint8_t x[4];
    void *const columns[] = {x};

    must(sluice_dataset_get(own_source(), 0, 0, 0, columns, NULL));
}

static sluice_status build(sluice_builder *builder, void *user)
{
    (void)user;
    objects.sluice_builder = builder;
    perform();
    return sluice_fail(SLUICE_E_UNSUPPORTED, "done");
}

/* True if the call is sluice_builder_WHAT(). */
static bool builds(const char *what)
{
    return strcmp(call->name + strlen("sluice_builder"), what) == 0;
}

static void perform_with_builder(void)
{
    static const sluice_parameter parameter = {.name = "x", .kind = SLUICE_PARAMETER_INT};
    sluice_dataset *dataset = NULL;
    sluice_stage stage;

    sluice_stage_init(&stage);
    stage.name = "mine";
    stage.summary = "is called";
    stage.kind = builds("_map")         ? SLUICE_STAGE_MAP
                 : builds("_filter")    ? SLUICE_STAGE_FILTER
                 : builds("_map_batch") ? SLUICE_STAGE_MAP_BATCH
                                        : SLUICE_STAGE_SOURCE;
    stage.parameters = &parameter;
    stage.parameter_count = 1;
    stage.build = build;
    must(sluice_stage_register(&stage));
    (void)sluice_dataset_parse(stage.kind == SLUICE_STAGE_SOURCE ? "mine x=1"
                               : stage.kind == SLUICE_STAGE_MAP_BATCH
                                   ? "synthetic samples=4 shape=4,4,3 | batch 2 | mine x=1"
                                   : "synthetic samples=4 shape=4,4,3 | mine x=1",
                               &dataset);
}

static sluice_status map_batch(sluice_host_batch *batch, void *user)
{
    (void)user;
    objects.sluice_host_batch = batch;
    perform();
    return SLUICE_OK;
}

static sluice_dataset *synthetic(const char *stages)
{
    char text[200];
    sluice_dataset *dataset = NULL;

    snprintf(text, sizeof(text), "synthetic samples=8 classes=2 shape=4,4,3%s", stages);
    must(sluice_dataset_parse(text, &dataset));
    return dataset;
}

static sluice_channel *open_channel(sluice_dataset *dataset)
{
    sluice_channel_config config;
    sluice_channel *channel = NULL;
    sluice_device *device = NULL;

    sluice_channel_config_init(&config);
    config.workers = 1;
    must(sluice_device_open("host:0", &device));
    must(sluice_channel_open(device, dataset, &config, &channel));
    must(sluice_channel_start(channel));
    return channel;
}

static void perform_with_host_batch(void)
{
    static const char *const changes[] = {"label"};
    sluice_dataset *dataset = synthetic(" | batch 8");
    const sluice_batch *batch;
    sluice_map_batch map;

    sluice_map_batch_init(&map);
    map.name = "mine";
    map.changes = changes;
    map.change_count = 1;
    map.map = map_batch;
    must(sluice_dataset_map_batch(dataset, &map));
    must(sluice_channel_get_next(open_channel(dataset), NULL, SLUICE_FOREVER, &batch));
}

/* Files of tokens in the format of llm.c: a header of 256 numbers, then 16-bit tokens. */
static sluice_llmc *open_llmc(void)
{
    static const char *const paths[] = {"tokens.bin"};
    const int32_t head[256] = {20240520, 1, 100};
    const uint16_t tokens[100] = {0};
    FILE *file = fopen(paths[0], "wb");
    sluice_llmc *llmc = NULL;

    if (file == NULL || fwrite(head, sizeof(head), 1, file) != 1 ||
        fwrite(tokens, sizeof(tokens), 1, file) != 1 || fclose(file) != 0) {
        _exit(1);
    }
    must(sluice_llmc_open(paths, 1, 2, 4, 0, 1, &llmc));
    return llmc;
}

static void make_objects(void)
{
    const char *name = call->name;

    must(sluice_device_open("host:0", &objects.sluice_device));
    objects.sluice_dataset = synthetic(strcmp(name, "sluice_channel_open") == 0 ||
                                               strcmp(name, "sluice_dataset_get") == 0 ||
                                               strcmp(name, "sluice_train") == 0
                                           ? " | batch 2"
                                           : "");
    if (strstr(name, "sluice_reader_") == name) {
        must(sluice_reader_create(objects.sluice_dataset, &objects.sluice_reader));
    }
    if (strstr(name, "sluice_channel_") == name || strstr(name, "sluice_report_") == name) {
        objects.sluice_channel = open_channel(synthetic(" | batch 2"));
        must(sluice_channel_report(objects.sluice_channel, &objects.sluice_report));
    }
    if (strstr(name, "sluice_llmc_") == name) {
        objects.sluice_llmc = open_llmc();
    }
    must(sluice_stop_create(&objects.sluice_stop));
}

/* ---- processes ------------------------------------------------------------------------------- */

static void run_child(void)
{
    sluice_log_set_level(SLUICE_LOG_OFF);
    (void)freopen("/dev/null", "w", stderr);
    alarm(60);
    if (strcmp(call->context, "sluice_sample") == 0) {
        perform_with_sample();
    } else if (strcmp(call->context, "sluice_builder") == 0) {
        perform_with_builder();
    } else if (strcmp(call->context, "sluice_host_batch") == 0) {
        perform_with_host_batch();
    } else {
        make_objects();
        perform();
    }
    _exit(0);
}

/* ---- what is expected ------------------------------------------------------------------------ */

static char allowed[8192]; /* the lines of the file, between newlines */

static bool read_allowed(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL) {
        return false;
    }
    allowed[0] = '\n';
    size = fread(allowed + 1, 1, sizeof(allowed) - 2, file);
    fclose(file);
    return size > 0 && size < sizeof(allowed) - 2;
}

/* Copies the name of pointer i. */
static void name_pointer(uint32_t i, char name[64])
{
    const char *at = call->pointers;

    while (i-- > 0) {
        at = strchr(at, ' ') + 1;
    }
    snprintf(name, 64, "%.*s", (int)strcspn(at, " "), at);
}

static bool is_allowed(uint32_t i)
{
    char name[64];
    char line[200];

    name_pointer(i, name);
    snprintf(line, sizeof(line), "\n%s %s NULL\n", call->name, name);
    return strstr(allowed, line) != NULL;
}

/* Makes the call in a child. Returns false, with a line of output, if it is not as expected. */
static bool try_call(void)
{
    bool is_wrong = false;
    char which[64] = "all pointers";
    pid_t pid;
    int status = 0;

    for (uint32_t i = 0; i < call->count; i++) {
        is_wrong = is_wrong || ((nulls >> i & 1) != 0 && !is_allowed(i));
        if (nulls == UINT32_C(1) << i) {
            name_pointer(i, which);
        }
    }
    memset(shared, 0, sizeof(*shared));
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        run_child();
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        printf("%s: no process\n", call->name);
        return false;
    }
    if (!shared->is_made || !shared->is_done) {
        printf("%s: %s NULL: %s %d %s\n", call->name, which,
               WIFSIGNALED(status) ? "ended by signal" : "ended with exit status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), shared->text);
        return false;
    }
    if (call->has_status && is_wrong &&
        (shared->status != SLUICE_E_INVALID ||
         (strstr(shared->text, "NULL") == NULL && strstr(shared->text, "is missing") == NULL))) {
        printf("%s: %s NULL: %s, \"%s\"; must be E_INVALID, and say so\n", call->name, which,
               sluice_status_name((sluice_status)shared->status), shared->text);
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    uint32_t calls = 0;
    uint32_t failed = 0;

    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (argc != 2 || !read_allowed(argv[1]) || shared == MAP_FAILED) {
        fprintf(stderr, "usage: null_calls FILE\n");
        return 2;
    }
    for (call = null_calls; call->name != NULL; call++) {
        for (uint32_t i = 0; i < call->count + (call->count > 1); i++) {
            nulls = i < call->count ? UINT32_C(1) << i : (UINT32_C(1) << call->count) - 1;
            calls++;
            failed += !try_call();
        }
    }
    printf("%u calls, %u failed\n", calls, failed);
    return failed == 0 && calls > 0 ? 0 : 1;
}
