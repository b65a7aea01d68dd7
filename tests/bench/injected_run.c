/* SPDX-License-Identifier: Apache-2.0 */
#include "injected_run.h"

#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sluice/custom.h>
#include <sluice/sluice.h>

#include "report_reader.h"

enum {
    SAMPLES = 4096,
    SIDE = 8, /* of images without a cost; pixels */
    DECODED = 256,
    SIDE_MOST = 256 /* of encoded images */
};

static void fail(const char *what)
{
    fprintf(stderr, "bench_verdict: %s\n", what);
    exit(2);
}

static void check(sluice_status st)
{
    if (st < 0) {
        fail(sluice_last_error());
    }
}

/* ---- costs ----------------------------------------------------------------------------------- */

static double cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Takes CPU time, however long that lasts. */
static void spin(double us)
{
    const double end = us > 0 ? cpu_us() + us : 0;

    while (us > 0 && cpu_us() < end) {
        for (volatile int turns = 0; turns < 1000; turns++) { /* mostly outside of the kernel */
        }
    }
}

static void nap(double us)
{
    const struct timespec time = {(time_t)(us / 1e6), (long)(us * 1e3) % 1000000000};

    if (us > 0) {
        (void)nanosleep(&time, NULL);
    }
}

static void take(const injection *in, injection_place place)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const injection_kind kind = in->form->kind;
    const bool holds = kind == BY_MUTEX || kind == BY_HELD_SLEEP;

    if (!in->is_there || in->form->place != place) {
        return;
    }
    if (holds) {
        pthread_mutex_lock(&mutex);
    }
    if (kind == BY_SLEEP || kind == BY_HELD_SLEEP || kind == BY_SLOW_SERIAL) {
        nap(in->cost_us);
    } else {
        spin(in->cost_us);
    }
    if (holds) {
        pthread_mutex_unlock(&mutex);
    }
}

static bool is_serial(const injection *in)
{
    return in->form->kind == BY_SERIAL || in->form->kind == BY_SLOW_SERIAL;
}

/* ---- neighbours ------------------------------------------------------------------------------ */

/* Starts processes that are busy until they are killed, or this one ends. */
static pid_t *start_neighbours(uint32_t count)
{
    pid_t *pids = calloc(count + 1, sizeof(*pids));

    if (pids == NULL) {
        fail("no memory");
    }
    for (uint32_t i = 0; i < count; i++) {
        pids[i] = fork();
        if (pids[i] < 0) {
            fail("no process can be started");
        }
        if (pids[i] == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (volatile uint64_t turns = 0;; turns++) {
            }
        }
    }
    return pids;
}

static void end_neighbours(pid_t *pids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)kill(pids[i], SIGKILL);
        (void)waitpid(pids[i], NULL, 0);
    }
    free(pids);
}

/* ---- functions of the pipeline --------------------------------------------------------------- */

static sluice_status read_sample(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    sluice_status st = sluice_sample_room(sample, "x", NULL, &room);

    take(user, IN_SOURCE);
    if (st == SLUICE_OK) {
        memset(room, (int)index, 256);
        st = sluice_sample_room(sample, "label", NULL, &room);
    }
    if (st == SLUICE_OK) {
        *(int32_t *)room = (int32_t)index;
    }
    return st;
}

/* A PPM file, in which numbers are text. All samples are the same. */
static char image_file[32 + SIDE_MOST * SIDE_MOST * 3 * 4];
static size_t image_bytes;

static void write_image(uint32_t side)
{
    int at = snprintf(image_file, sizeof(image_file), "P3\n%u %u\n255\n", side, side);

    for (uint32_t i = 0; i < 3 * side * side; i++) {
        at += snprintf(image_file + at, sizeof(image_file) - (size_t)at, "%03u\n", i * 7 % 256);
    }
    image_bytes = (size_t)at;
}

static sluice_status read_image(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    sluice_status st = sluice_sample_lend(sample, "image", NULL, image_file, image_bytes);

    (void)user;
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "label", NULL, &room);
    }
    if (st == SLUICE_OK) {
        *(int32_t *)room = (int32_t)index;
    }
    return st;
}

static sluice_status map(sluice_sample *sample, void *user)
{
    const injection *in = user;
    void *room;
    const sluice_status st = sluice_sample_room(sample, "extra", NULL, &room);

    spin(in->base_us);
    take(in, IN_MAP);
    if (st == SLUICE_OK) {
        memset(room, 0, 16);
    }
    return st;
}

static sluice_status map_batch(sluice_host_batch *batch, void *user)
{
    (void)batch;
    take(user, IN_BATCH_MAP);
    return SLUICE_OK;
}

static sluice_status step(const sluice_step *s, void *user)
{
    const injection *in = user;

    spin(in->step_us * *s->valid_rows);
    take(in, IN_STEP);
    s->outputs[0] = 1;
    return SLUICE_OK;
}

static sluice_status map_on_device(const sluice_step *s, const sluice_tensor *outputs, void *user)
{
    (void)s;
    take(user, IN_DEVICE_MAP);
    memset(outputs[0].data, 0, outputs[0].bytes);
    return SLUICE_OK;
}

static sluice_status evaluate(const sluice_step *s, void *user)
{
    take(user, IN_VALIDATION);
    s->outputs[0] = 1;
    return SLUICE_OK;
}

static sluice_status end_step(sluice_hook *hook, void *user)
{
    (void)hook;
    take(user, IN_HOOK);
    return SLUICE_OK;
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    char path[4096];
    FILE *file;

    (void)rank;
    (void)world;
    take(user, IN_CHECKPOINT);
    snprintf(path, sizeof(path), "%s/model", folder);
    file = fopen(path, "w");
    return file != NULL && fputs("model", file) >= 0 && fclose(file) == 0 ? SLUICE_OK : SLUICE_E_IO;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

/* ---- the pipeline ---------------------------------------------------------------------------- */

static sluice_dataset *open_source(injection *in)
{
    static const sluice_column_spec plain[] = {
        {.name = "x", .dtype = SLUICE_U8, .rank = 1, .shape = {256}},
        {.name = "label", .dtype = SLUICE_I32}};
    static const sluice_column_spec encoded[] = {
        {.name = "image", .dtype = SLUICE_ENCODED, .role = SLUICE_ROLE_IMAGE},
        {.name = "label", .dtype = SLUICE_I32}};
    const bool is_encoded = in->form->place == IN_DECODE;
    sluice_dataset *dataset = NULL;
    sluice_source source;

    sluice_source_init(&source);
    source.name = "mysource";
    source.columns = is_encoded ? encoded : plain;
    source.column_count = 2;
    source.count = is_encoded ? DECODED : SAMPLES;
    source.read = is_encoded ? read_image : read_sample;
    source.user = in;
    check(sluice_dataset_source(&source, &dataset));
    if (is_encoded) {
        write_image(in->is_there ? in->side : SIDE);
        check(sluice_dataset_addf(dataset, "decode | resize %d,%d", SIDE, SIDE));
    }
    if (in->is_cached) {
        check(sluice_dataset_add(dataset, "cache 16M"));
    }
    return dataset;
}

static sluice_dataset *open_synthetic(const injection *in)
{
    const bool has_operator = in->form->place == IN_OPERATOR;
    const uint32_t side = has_operator ? in->side : SIDE;
    sluice_dataset *dataset = NULL;
    char text[100];

    snprintf(text, sizeof(text), "synthetic samples=%d shape=%u,%u,3", SAMPLES, side, side);
    check(sluice_dataset_parse(text, &dataset));
    if (has_operator && in->is_there) {
        check(sluice_dataset_addf(dataset, "gaussian_blur %u 1,2", in->kernel));
    }
    return dataset;
}

static void add_map(sluice_dataset *dataset, injection *in)
{
    static const char *const inputs[] = {"label"};
    static const sluice_column_spec outputs[] = {
        {.name = "extra", .dtype = SLUICE_F32, .rank = 1, .shape = {4}}};
    sluice_map of;

    sluice_map_init(&of);
    of.name = INJECTION_MAP;
    of.inputs = inputs;
    of.input_count = 1;
    of.outputs = outputs;
    of.output_count = 1;
    of.serial = is_serial(in);
    of.map = map;
    of.user = in;
    check(sluice_dataset_map(dataset, &of));
}

static void add_batch_map(sluice_dataset *dataset, injection *in)
{
    static const char *const changes[] = {"label"};
    sluice_map_batch of;

    sluice_map_batch_init(&of);
    of.name = INJECTION_MAP;
    of.changes = changes;
    of.change_count = 1;
    of.serial = is_serial(in);
    of.map = map_batch;
    of.user = in;
    check(sluice_dataset_map_batch(dataset, &of));
}

static sluice_dataset *open_dataset(injection *in)
{
    const injection_place place = in->form->place;
    sluice_dataset *dataset =
        place == IN_SOURCE || place == IN_DECODE ? open_source(in) : open_synthetic(in);

    if (in->base_us > 0 || place == IN_MAP) {
        add_map(dataset, in);
    }
    check(sluice_dataset_addf(dataset, "batch %u", in->batch));
    if (place == IN_BATCH_MAP) {
        add_batch_map(dataset, in);
    }
    return dataset;
}

/* ---- the training ---------------------------------------------------------------------------- */

/* What sluice_train() borrows. */
typedef struct training {
    sluice_model model;
    sluice_train_config config;
    sluice_callback callback;
    sluice_callback *callbacks[1];
    sluice_device_map device_map;
    const sluice_device_map *device_maps[1];
    sluice_checkpointing checkpoint;
    sluice_validating validation;
    char folder[1024];
} training;

static void use_device_map(training *t, injection *in)
{
    static const sluice_column seen[] = {{"seen", SLUICE_F32, 1, {1}}};

    sluice_device_map_init(&t->device_map);
    t->device_map.name = INJECTION_MAP;
    t->device_map.map = map_on_device;
    t->device_map.user = in;
    t->device_map.outputs = seen;
    t->device_map.output_count = 1;
    t->device_maps[0] = &t->device_map;
    t->config.device_maps = t->device_maps;
    t->config.device_map_count = 1;
}

static void use_hook(training *t, injection *in)
{
    sluice_callback_init(&t->callback);
    t->callback.step_end = end_step;
    t->callback.user = in;
    t->callbacks[0] = &t->callback;
    t->config.callbacks = t->callbacks;
    t->config.callback_count = 1;
}

/* The training without the cost has no checkpoints and no validations. */
static void use_checkpoints(training *t, const injection *in)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(t->folder, sizeof(t->folder), "%s/bench_verdict.XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(t->folder) == NULL) {
        fail("no folder can be made for checkpoints: set TMPDIR");
    }
    sluice_checkpointing_init(&t->checkpoint);
    t->checkpoint.folder = t->folder;
    t->checkpoint.every_steps = in->period;
    t->config.checkpoint = &t->checkpoint;
    t->model.save = save;
    t->model.load = load;
}

static void use_validation(training *t, const injection *in)
{
    sluice_validating_init(&t->validation);
    check(
        sluice_dataset_parse("synthetic samples=8 shape=8,8,3 | batch 8", &t->validation.dataset));
    t->validation.every_steps = in->period;
    t->config.validation = &t->validation;
    t->model.eval = evaluate;
}

static void set_up(training *t, injection *in, double seconds)
{
    const injection_place place = in->form->place;

    memset(t, 0, sizeof(*t));
    sluice_model_init(&t->model);
    t->model.step = step;
    t->model.user = in;
    t->model.reads_valid_rows = true;
    sluice_train_config_init(&t->config);
    t->config.max_seconds = seconds;
    t->config.dataset_sink_mode = true;
    t->config.sink_size = in->sink;
    t->config.workers = in->workers;
    t->config.world = 1;
    if (place == IN_DEVICE_MAP) {
        use_device_map(t, in);
    } else if (place == IN_HOOK) {
        use_hook(t, in);
    } else if (place == IN_CHECKPOINT && in->is_there) {
        use_checkpoints(t, in);
    } else if (place == IN_VALIDATION && in->is_there) {
        use_validation(t, in);
    }
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static void clean_up(training *t)
{
    sluice_dataset_destroy(t->validation.dataset);
    if (t->folder[0] != '\0' && nftw(t->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS) != 0) {
        fprintf(stderr, "bench_verdict: cannot remove %s\n", t->folder);
    }
}

/* ---- its report ------------------------------------------------------------------------------ */

static void copy_text(char *to, size_t size, const json_t *object, const char *key)
{
    const char *text = report_string(object, key);

    snprintf(to, size, "%s", text != NULL ? text : "");
}

static double number_or(const json_t *object, const char *key, double other)
{
    return report_get(object, key) != NULL ? report_number(object, key) : other;
}

static double longest_queue(const json_t *threads)
{
    double most = -1;
    size_t i;
    json_t *thread;

    json_array_foreach(threads, i, thread)
    {
        const double seconds = number_or(thread, "seconds", 0);
        const double share = number_or(thread, "runqueue_s", -1) / (seconds > 0 ? seconds : 1);

        most = share > most ? share : most;
    }
    return most;
}

static void read_report(const sluice_report *report, run_result *result)
{
    char *text = NULL;
    saved_report saved;
    const json_t *verdict;
    const json_t *advice;

    check(sluice_report_json(report, &text));
    if (!report_parse("report", strdup(text), &saved)) {
        fail(sluice_last_error());
    }
    sluice_string_free(text);
    memset(result, 0, sizeof(*result));
    verdict = report_get(saved.json, "bottleneck");
    advice = json_array_get(report_get(saved.json, "advice"), 0);
    result->rate = report_number(saved.json, "samples_per_s");
    result->runqueue = longest_queue(report_get(saved.json, "threads"));
    copy_text(result->stage, sizeof(result->stage), verdict, "stage");
    copy_text(result->cause, sizeof(result->cause), verdict, "cause");
    copy_text(result->why, sizeof(result->why), verdict, "why");
    copy_text(result->advice.change, sizeof(result->advice.change), advice, "change");
    copy_text(result->advice.text, sizeof(result->advice.text), advice, "text");
    result->advice.workers = (uint32_t)number_or(advice, "workers", 0);
    result->advice.rate_low = number_or(advice, "rate_low", 0);
    result->advice.rate_high = number_or(advice, "rate_high", 0);
    report_free(&saved);
}

void injected_run(const injection *in, double seconds, run_result *result_out)
{
    const bool is_beside = in->is_there && in->form->kind == BY_NEIGHBOURS;
    const uint32_t count = is_beside ? in->neighbours : 0;
    injection own = *in; /* which the functions get */
    sluice_dataset *dataset = open_dataset(&own);
    sluice_device *device = NULL;
    sluice_report *report = NULL;
    pid_t *pids;
    training t;

    set_up(&t, &own, seconds);
    check(sluice_device_open("host:0", &device));
    pids = start_neighbours(count);
    check(sluice_train(device, &t.model, dataset, &t.config, &report));
    end_neighbours(pids, count);
    read_report(report, result_out);
    sluice_report_destroy(report);
    sluice_device_close(device);
    sluice_dataset_destroy(dataset);
    clean_up(&t);
}
