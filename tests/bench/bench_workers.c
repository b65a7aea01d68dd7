/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_workers: how much faster two workers are than one, without and with a filter, pack and
 * bucket, on cheap samples. A channel on host:0 gives batches of 64 rows; the work of a sample is a
 * loop of a fixed number of steps, about US microseconds (default 5). One worker and two run
 * alternately. Prints the medians of the samples/s before filtering, of their ratio in a round, and
 * of the CPU time of the process per sample. On a machine with other work, the CPU times and the
 * ratio against that of the source alone tell more than the rates.
 *
 *     bench_workers [US [ROUNDS]]
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sluice/sluice.h>

enum { ROUNDS_MOST = 99, SLOTS = 8, SAMPLES = 1 << 14, SEQ = 64, ROUND_US = 60000, BATCHES = 40 };

static int64_t values[SAMPLES];
static int32_t lengths[SAMPLES];
static uint64_t steps; /* of the work on a sample */
static uint32_t batch_size = 64;
static int rounds = 21;

static const sluice_column_spec value_columns[] = {{.name = "a", .dtype = SLUICE_I64},
                                                   {.name = "n", .dtype = SLUICE_I32}};
static const sluice_column_spec token_column[] = {
    {.name = "a", .dtype = SLUICE_I32, .rank = 1, .shape = {SEQ / 2}, .ragged = 1}};
static const char *const value_name[] = {"a"};

typedef enum source_kind { READ, MEMORY, STREAM, TOKENS } source_kind;

typedef struct bench_case {
    const char *name;
    source_kind source;
    bool filters;
    uint64_t of;         /* the filter keeps one of so many */
    uint64_t unevenness; /* one of 64 samples takes so many times as long as the others */
    const char *stage;
} bench_case;

static bench_case cases[] = {
    {"source", READ, false, 1, 1, NULL},
    {"filter, keeps all", READ, true, 1, 1, NULL},
    {"filter, keeps half", READ, true, 2, 1, NULL},
    {"filter, keeps 1 of 10", READ, true, 10, 1, NULL},
    {"early filter, keeps all", MEMORY, true, 1, 1, NULL},
    {"early filter, 1 of 10", MEMORY, true, 10, 1, NULL},
    {"bucket", READ, false, 1, 1, "bucket n 64,128,256"},
    {"pack", TOKENS, false, 1, 1, "pack column=a seq=64"},
    {"stream", STREAM, false, 1, 1, NULL},
    {"stream, filter half", STREAM, true, 2, 1, NULL},
    {"uneven source", READ, false, 1, 64, NULL},
    {"filter, uneven", READ, true, 2, 64, NULL},
    {"early filter, uneven", MEMORY, true, 2, 64, NULL},
    {"bucket, uneven", READ, false, 1, 64, "bucket n 64,128,256"},
    {"pack, uneven", TOKENS, false, 1, 64, "pack column=a seq=64"},
    {"stream filter, uneven", STREAM, true, 2, 64, NULL},
};

/* A channel, and its results. */
typedef struct side {
    sluice_dataset *dataset;
    sluice_channel *channel;
    double rate[ROUNDS_MOST];   /* samples before filtering per second */
    double cpu_us[ROUNDS_MOST]; /* per sample */
    double awake[ROUNDS_MOST];  /* mean number of threads that were not asleep */
} side;

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "bench_workers: %s\n", sluice_last_error());
        exit(2);
    }
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Takes the same CPU time for any worker. Returns the number of the sample. */
static uint64_t work(const bench_case *c, uint64_t sample)
{
    const bool is_long = (sample * 2654435761U >> 8) % 64 == 0;
    const uint64_t count = c->unevenness == 1 ? steps
                           : is_long          ? steps / 2 * c->unevenness
                                              : steps / 2;
    volatile uint64_t bits = sample;

    for (uint64_t i = 0; i < count; i++) {
        bits = bits * 6364136223846793005U + 1442695040888963407U;
    }
    return sample;
}

static sluice_status put_pair(sluice_sample *sample, uint64_t index)
{
    void *room;
    sluice_status st = sluice_sample_room(sample, "a", NULL, &room);

    if (st == SLUICE_OK) {
        *(int64_t *)room = values[index];
        st = sluice_sample_room(sample, "n", NULL, &room);
    }
    if (st == SLUICE_OK) {
        *(int32_t *)room = lengths[index];
    }
    return st;
}

static sluice_status read_pair(sluice_sample *sample, uint64_t index, void *user)
{
    return put_pair(sample, work(user, index));
}

static sluice_status next_pair(sluice_sample *sample, void *pass, void *user)
{
    (void)pass;
    (void)user;
    return put_pair(sample, sluice_sample_number(sample) % SAMPLES);
}

static sluice_status read_tokens(sluice_sample *sample, uint64_t index, void *user)
{
    const uint64_t shape[] = {SEQ / 2};
    const int32_t first = (int32_t)work(user, index);
    void *room;
    const sluice_status st = sluice_sample_room(sample, "a", shape, &room);

    for (int32_t i = 0; st == SLUICE_OK && i < SEQ / 2; i++) {
        ((int32_t *)room)[i] = first + i;
    }
    return st;
}

static sluice_status keep_some(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    const bench_case *c = user;
    sluice_sample_view view;
    const sluice_status st = sluice_sample_get(sample, "a", &view);

    if (st == SLUICE_OK) {
        const uint64_t value = (uint64_t) * (const int64_t *)view.data;

        *keep_out = (c->source == READ ? value : work(c, value)) % c->of == 0;
    }
    return st;
}

/* ---- the pipelines --------------------------------------------------------------------------- */

static sluice_dataset *open_source(bench_case *c)
{
    const sluice_array arrays[] = {{"a", values, SLUICE_I64, 1, {SAMPLES}}};
    sluice_dataset *dataset = NULL;
    sluice_source source;

    if (c->source == MEMORY) {
        check(sluice_dataset_memory(arrays, 1, &dataset));
        return dataset;
    }
    sluice_source_init(&source);
    source.name = "bench";
    source.user = c;
    source.columns = c->source == TOKENS ? token_column : value_columns;
    source.column_count = c->source == TOKENS ? 1 : 2;
    if (c->source == STREAM) {
        source.next = next_pair;
    } else {
        source.count = SAMPLES;
        source.read = c->source == TOKENS ? read_tokens : read_pair;
    }
    check(sluice_dataset_source(&source, &dataset));
    return dataset;
}

static sluice_dataset *make(bench_case *c)
{
    sluice_dataset *dataset = open_source(c);
    sluice_filter filter;

    sluice_filter_init(&filter);
    filter.name = "some";
    filter.inputs = value_name;
    filter.input_count = 1;
    filter.filter = keep_some;
    filter.user = c;
    if (c->filters) {
        check(sluice_dataset_filter(dataset, &filter));
    }
    if (c->stage != NULL) {
        check(sluice_dataset_add(dataset, c->stage));
    }
    check(sluice_dataset_addf(dataset, "batch %u drop_remainder=true", batch_size));
    return dataset;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void open_side(side *s, sluice_device *device, bench_case *c, uint32_t workers)
{
    sluice_channel_config config;

    s->dataset = make(c);
    sluice_channel_config_init(&config);
    config.workers = workers;
    config.world = 1;
    config.slots = SLOTS;
    check(sluice_channel_open(device, s->dataset, &config, &s->channel));
    check(sluice_channel_start(s->channel));
}

static void close_side(side *s)
{
    sluice_channel_close(s->channel);
    sluice_dataset_destroy(s->dataset);
}

/* Returns the first number in a file, and the second one if it has it; 0: there is no such file. */
static double two_numbers(const char *folder, const char *thread, const char *name)
{
    char path[512];
    double first = 0;
    double second = 0;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%.32s/%s", folder, thread, name);
    file = fopen(path, "r");
    if (file != NULL) {
        if (fscanf(file, "%lf %lf", &first, &second) < 1) {
            first = second = 0;
        }
        fclose(file);
    }
    return first + second;
}

/* Returns the time in which threads of the process were not asleep, in seconds: they ran, or waited
 * for a CPU. */
static double seconds_awake(void)
{
    static const char folder[] = "/proc/self/task";
    DIR *threads = opendir(folder);
    const struct dirent *entry;
    double awake = 0;

    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        awake += two_numbers(folder, entry->d_name, "schedstat") / 1e9;
    }
    if (threads != NULL) {
        closedir(threads);
    }
    return awake;
}

/* Returns the number of samples before filtering of a batch. */
static uint64_t samples_of_batch(const bench_case *c)
{
    return c->of * batch_size * (c->source == TOKENS ? 2 : 1);
}

/* Runs a round of so many batches. */
static void run(side *s, const bench_case *c, uint64_t batches, int round)
{
    const double samples = (double)(batches * samples_of_batch(c));
    const sluice_batch *batch = NULL;
    double cpu;
    double awake;
    double start;
    double wall;

    for (int i = 0; i < SLOTS; i++) { /* made before the round */
        check(sluice_channel_get_next(s->channel, NULL, SLUICE_FOREVER, &batch));
    }
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    awake = seconds_awake();
    start = seconds(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < batches; i++) {
        check(sluice_channel_get_next(s->channel, NULL, SLUICE_FOREVER, &batch));
    }
    wall = seconds(CLOCK_MONOTONIC) - start;
    s->rate[round] = samples / wall;
    s->awake[round] = (seconds_awake() - awake) / wall;
    s->cpu_us[round] = (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) * 1e6 / samples;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *numbers)
{
    qsort(numbers, (size_t)rounds, sizeof(*numbers), compare);
    return numbers[rounds / 2];
}

static void run_case(sluice_device *device, bench_case *c, double us)
{
    const uint64_t enough = (uint64_t)(ROUND_US / (us + 1)) / samples_of_batch(c);
    const uint64_t batches = enough > BATCHES ? enough : BATCHES;
    static side sides[2];
    double ratios[ROUNDS_MOST];

    for (uint32_t i = 0; i < 2; i++) {
        open_side(&sides[i], device, c, i + 1);
        run(&sides[i], c, SLOTS, 0);
    }
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 2; i++) { /* each is first in every other round */
            run(&sides[(i + round) % 2], c, batches, round);
        }
        ratios[round] = sides[1].rate[round] / sides[0].rate[round];
    }
    printf("%-24s %8.0f %8.0f   x %4.2f", c->name, median(sides[0].rate), median(sides[1].rate),
           median(ratios));
    /* median() has sorted them */
    printf("   x %4.2f", sides[1].rate[rounds - 1] / sides[0].rate[rounds - 1]);
    printf(" %8.2f %6.2f", median(sides[0].cpu_us), median(sides[1].cpu_us));
    printf(" %8.2f %6.2f\n", median(sides[0].awake), median(sides[1].awake));
    fflush(stdout);
    close_side(&sides[0]);
    close_side(&sides[1]);
}

/* Sets `steps` for work of so many microseconds. */
static void calibrate(double us)
{
    const uint64_t count = 2000000;
    double start;

    steps = count;
    start = seconds(CLOCK_PROCESS_CPUTIME_ID);
    work(&cases[0], 0);
    steps = (uint64_t)(us * (double)count / ((seconds(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e6));
}

int main(int argc, char **argv)
{
    const double us = argc > 1 ? atof(argv[1]) : 5;
    sluice_device *device = NULL;

    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    if (us <= 0 || rounds < 1 || rounds > ROUNDS_MOST) {
        fprintf(stderr, "usage: bench_workers [US [ROUNDS]]\n");
        return 2;
    }
    setenv("SLUICE_GUARDS", "off", 0);
    batch_size = us > 20 ? 8 : 64;
    calibrate(us);
    for (int i = 0; i < SAMPLES; i++) {
        values[i] = i;
        lengths[i] = (int32_t)((uint32_t)i * 2654435761U >> 23); /* 0 to 511 */
    }
    check(sluice_device_open("host:0", &device));
    printf("%-24s %8s %8s %8s %8s %8s %6s %8s %6s\n", "samples/s by", "1 worker", "2", "ratio",
           "of best", "CPU us", "of 2", "awake", "of 2");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        run_case(device, &cases[i], us);
    }
    sluice_device_close(device);
    return 0;
}
