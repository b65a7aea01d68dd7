/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resumes runs from states that another version of Sluice has written. A table of cases has a block
 * of lines for each, "KEY VALUE":
 *
 *     case NAME
 *     seed N, ranks N, steps N   of the run that wrote the state; 0, 1 and 5 without these lines
 *     made TEXT                  its pipeline
 *     then-ranks N               of the run that resumes; as many without this line
 *     resumed TEXT               its pipeline, in the language of the old version; `made` without
 * it now TEXT                   the same in today's language; `resumed` without it refused STATUS
 * TEXT        today's code refuses it, with this text in the message; without it the run gives the
 * digests gives DIGEST...            of 6 steps after the resume, for each rank list LINE the lines
 * of sluice_files state LINE                 the lines of sluice_state
 *
 *     resume_states make TABLE FOLDER         prints the table with gives, list and state anew
 *     resume_states check TABLE FOLDER NAME   resumes from the state of a case
 *     resume_states names TABLE               prints the names of the cases
 *
 * FOLDER has the data of pipeline_data.c; the pipelines name them relative to it. `make` is meant
 * for the old version (make.sh), so the program uses public functions only.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/sluice.h>

enum {
    THEN_STEPS = 6,
    NAME = 64,
    FOLDER = 80,
    MAX_RANKS = 4,
    LINE = 2048,
    TEXT = 4096,
    PATH = 300,
    TIME_LIMIT = 120
};

typedef struct resume_case {
    char name[NAME];
    char made[LINE];
    char resumed[LINE];
    char now[LINE];
    char refused[LINE];
    char gives[LINE];
    char list[TEXT];
    char state[TEXT];
    uint64_t seed;
    uint32_t ranks;
    uint32_t then_ranks;
    uint32_t steps;
} resume_case;

/* A run of all ranks. */
typedef struct run {
    const char *folder; /* of checkpoints */
    const char *pipeline;
    uint64_t seed;
    uint32_t world;
    uint32_t steps;
    pthread_barrier_t barrier; /* of agree */
    int64_t values[MAX_RANKS];
    uint64_t digests[MAX_RANKS];
    sluice_status statuses[MAX_RANKS];
    char errors[MAX_RANKS][LINE];
} run;

typedef struct rank_run {
    run *all;
    uint32_t rank;
} rank_run;

static void fail(const char *what, const char *of)
{
    fprintf(stderr, "resume_states: %s %s\n", what, of);
    exit(2);
}

/* ---- a run of several ranks, each a thread --------------------------------------------------- */

static sluice_status step(const sluice_step *s, void *user)
{
    (void)user;
    s->outputs[0] = 0;
    return SLUICE_OK;
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    char path[PATH];
    FILE *file;

    (void)user;
    snprintf(path, sizeof(path), "%s/weights-%" PRIu32, folder, rank);
    file = fopen(path, "wb");
    if (file == NULL) {
        return SLUICE_E_IO;
    }
    fprintf(file, "rank %" PRIu32 " of %" PRIu32 "\n", rank, world);
    return fclose(file) == 0 ? SLUICE_OK : SLUICE_E_IO;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

static sluice_status agree(int64_t value, int64_t *most_out, void *user)
{
    rank_run *me = user;
    run *all = me->all;
    int64_t most = value;

    all->values[me->rank] = value;
    pthread_barrier_wait(&all->barrier);
    for (uint32_t rank = 0; rank < all->world; rank++) {
        most = all->values[rank] > most ? all->values[rank] : most;
    }
    pthread_barrier_wait(&all->barrier);
    *most_out = most;
    return SLUICE_OK;
}

static sluice_status train(rank_run *me, sluice_device *device, sluice_dataset *dataset)
{
    sluice_checkpointing checkpoint;
    sluice_train_config config;
    sluice_report_stats stats;
    sluice_report *report = NULL;
    sluice_model model;
    sluice_status st;

    sluice_model_init(&model);
    model.step = step;
    model.save = save;
    model.load = load;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.max_steps = me->all->steps;
    config.seed = me->all->seed;
    config.digest = true;
    config.workers = 2;
    config.world = me->all->world;
    config.rank = me->rank;
    config.agree = me->all->world > 1 ? agree : NULL;
    config.agree_user = me;
    sluice_checkpointing_init(&checkpoint);
    checkpoint.folder = me->all->folder;
    checkpoint.resume = true;
    config.checkpoint = &checkpoint;
    sluice_report_stats_init(&stats);
    st = sluice_train(device, &model, dataset, &config, &report);
    if (st == SLUICE_OK) {
        st = sluice_report_stats_get(report, &stats);
        me->all->digests[me->rank] = stats.digest;
    }
    sluice_report_destroy(report);
    return st;
}

static void *run_rank(void *user)
{
    rank_run *me = user;
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_device_open("host:0", &device);

    if (st == SLUICE_OK) {
        st = sluice_dataset_parse(me->all->pipeline, &dataset);
    }
    if (st != SLUICE_OK) {
        fail(me->all->pipeline, sluice_last_error()); /* the other ranks would wait for this one */
    }
    st = train(me, device, dataset);
    if (st != SLUICE_OK) {
        snprintf(me->all->errors[me->rank], LINE, "%s %s", sluice_status_name(st),
                 sluice_last_error());
    }
    me->all->statuses[me->rank] = st;
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return NULL;
}

/* Runs all ranks. Writes what they give into `gives`, or the first error that is not of another
 * rank's failure; returns whether they ran. */
static bool run_all(run *all, char gives[LINE])
{
    pthread_t threads[MAX_RANKS];
    rank_run ranks[MAX_RANKS];
    bool ran = true;

    pthread_barrier_init(&all->barrier, NULL, all->world);
    for (uint32_t i = 0; i < all->world; i++) {
        ranks[i] = (rank_run){all, i};
        if (pthread_create(&threads[i], NULL, run_rank, &ranks[i]) != 0) {
            fail("no thread for", all->pipeline);
        }
    }
    for (uint32_t i = 0; i < all->world; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&all->barrier);
    gives[0] = '\0';
    for (uint32_t i = 0; i < all->world && ran; i++) {
        const size_t length = strlen(gives);

        ran = all->statuses[i] == SLUICE_OK;
        if (ran) {
            snprintf(gives + length, LINE - length, "%s%016" PRIx64, i > 0 ? " " : "",
                     all->digests[i]);
        } else {
            snprintf(gives, LINE, "%s", all->errors[i]);
        }
    }
    return ran;
}

/* ---- checkpoints on disk --------------------------------------------------------------------- */

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[PATH];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "wb");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        fail("cannot write", path);
    }
}

static void read_text(const char *folder, const char *name, char text[TEXT])
{
    char path[PATH];
    FILE *file;
    size_t size;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "rb");
    if (file == NULL) {
        fail("cannot read", path);
    }
    size = fread(text, 1, TEXT - 1, file);
    text[size] = '\0';
    fclose(file);
}

static void make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0) {
        fail("cannot make", path);
    }
}

/* The folder of the checkpoint at this step. */
static void name_step(const char *folder, uint32_t steps, char path[PATH])
{
    snprintf(path, PATH, "%s/step-%012" PRIu32, folder, steps);
}

/* Writes the state of a case as the only checkpoint in a folder. */
static void restore(const resume_case *c, const char *folder)
{
    char path[PATH];

    make_folder(folder);
    name_step(folder, c->steps, path);
    make_folder(path);
    for (uint32_t rank = 0; rank < c->ranks; rank++) {
        if (save(NULL, path, rank, c->ranks) != SLUICE_OK) {
            fail("cannot write the weights in", path);
        }
    }
    write_text(path, "sluice_files", c->list);
    write_text(path, "sluice_state", c->state);
    write_text(path, "DONE", "");
}

/* ---- a case ---------------------------------------------------------------------------------- */

static void name_folder(const resume_case *c, char folder[FOLDER])
{
    snprintf(folder, FOLDER, "states-%s", c->name);
}

static void print_lines(const char *key, const char *text)
{
    while (*text != '\0') {
        const int length = (int)strcspn(text, "\n");

        printf("%s %.*s\n", key, length, text);
        text += length + 1;
    }
}

/* Makes the state of a case, and resumes from it. */
static void make(resume_case *c)
{
    const char *resumed = c->resumed[0] != '\0' ? c->resumed : c->made;
    char folder[FOLDER];
    char path[PATH];
    run before = {folder, c->made, c->seed, c->ranks, c->steps, .values = {0}};
    run after = {folder, resumed, c->seed, c->then_ranks, THEN_STEPS, .values = {0}};

    name_folder(c, folder);
    if (!run_all(&before, c->gives)) {
        fail(c->name, c->gives);
    }
    name_step(folder, c->steps, path);
    read_text(path, "sluice_files", c->list);
    read_text(path, "sluice_state", c->state);
    if (c->refused[0] == '\0') {
        if (!run_all(&after, c->gives)) {
            fail(c->name, c->gives);
        }
        printf("gives %s\n", c->gives);
    }
    print_lines("list", c->list);
    print_lines("state", c->state);
}

/* Resumes from the state of a case; true if that gives what it must. */
static bool check(const resume_case *c)
{
    const char *resumed = c->resumed[0] != '\0' ? c->resumed : c->made;
    const char *now = c->now[0] != '\0' ? c->now : resumed;
    const size_t status = strcspn(c->refused, " ");
    char folder[FOLDER];
    char gives[LINE];
    run after = {folder, now, c->seed, c->then_ranks, THEN_STEPS, .values = {0}};
    bool ran;
    bool good;

    name_folder(c, folder);
    restore(c, folder);
    ran = run_all(&after, gives);
    if (c->refused[0] != '\0') {
        good = !ran && strncmp(gives, c->refused, status + 1) == 0 &&
               strstr(gives, c->refused + status + 1) != NULL;
    } else {
        good = ran && strcmp(gives, c->gives) == 0;
    }
    if (!good) {
        printf("%s must give %s\ngives %s\n", c->name,
               c->refused[0] != '\0' ? c->refused : c->gives, gives);
    }
    return good;
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool take(const char *line, const char *key, char value[LINE])
{
    const size_t length = strlen(key);

    if (strncmp(line, key, length) != 0 || line[length] != ' ') {
        return false;
    }
    snprintf(value, LINE, "%s", line + length + 1);
    return true;
}

static void add_line(char text[TEXT], const char *line)
{
    const size_t length = strlen(text);

    if (length + strlen(line) + 2 > TEXT) {
        fail("too long:", line);
    }
    sprintf(text + length, "%s\n", line);
}

/* Takes a line of a case. Returns whether `make` writes it anew. */
static bool take_line(resume_case *c, const char *line)
{
    char value[LINE];

    if (take(line, "list", value)) {
        add_line(c->list, value);
        return true;
    }
    if (take(line, "state", value)) {
        add_line(c->state, value);
        return true;
    }
    if (take(line, "gives", c->gives)) {
        return true;
    }
    if (take(line, "case", value)) {
        snprintf(c->name, NAME, "%.*s", NAME - 1, value);
        return false;
    }
    if (take(line, "made", c->made) || take(line, "resumed", c->resumed) ||
        take(line, "now", c->now) || take(line, "refused", c->refused)) {
        return false;
    }
    if (take(line, "seed", value)) {
        c->seed = strtoull(value, NULL, 10);
    } else if (take(line, "steps", value)) {
        c->steps = (uint32_t)atoi(value);
    } else if (take(line, "ranks", value)) {
        c->ranks = c->then_ranks = (uint32_t)atoi(value);
    } else if (take(line, "then-ranks", value)) {
        c->then_ranks = (uint32_t)atoi(value);
    } else if (line[0] != '#') {
        fail("not a line of a case:", line);
    }
    return false;
}

/* Reads the next case; false at the end. With `echo`, prints the lines that `make` keeps. */
static bool next_case(FILE *table, resume_case *c, bool echo)
{
    char line[LINE];

    memset(c, 0, sizeof(*c));
    c->ranks = c->then_ranks = 1;
    c->steps = 5;
    while (fgets(line, sizeof(line), table) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0' && c->name[0] != '\0') {
            break;
        }
        if ((line[0] == '\0' || !take_line(c, line)) && echo) {
            printf("%s\n", line);
        }
    }
    if (c->ranks > MAX_RANKS || c->then_ranks > MAX_RANKS) {
        fail("too many ranks in", c->name);
    }
    return c->name[0] != '\0';
}

int main(int argc, char **argv)
{
    static resume_case c;
    const bool makes = argc == 4 && strcmp(argv[1], "make") == 0;
    const bool checks = argc == 5 && strcmp(argv[1], "check") == 0;
    FILE *table = argc > 2 ? fopen(argv[2], "r") : NULL;
    bool good = !checks;

    if (table == NULL || (!makes && !checks && (argc != 3 || strcmp(argv[1], "names") != 0))) {
        fail("usage: make TABLE FOLDER | check TABLE FOLDER NAME | names TABLE;", "a table");
    }
    if (argc > 3 && chdir(argv[3]) != 0) {
        fail("no folder", argv[3]);
    }
    alarm(TIME_LIMIT); /* ranks that wait for each other */
    sluice_log_set_level(SLUICE_LOG_OFF);
    while (next_case(table, &c, makes)) {
        if (makes) {
            make(&c);
            printf("\n");
        } else if (!checks) {
            printf("%s\n", c.name);
        } else if (strcmp(c.name, argv[4]) == 0) {
            good = check(&c);
        }
    }
    fclose(table);
    return good ? 0 : 1;
}
