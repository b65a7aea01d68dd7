/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_stages: the overhead of user functions, pack and bucket. A channel on host:0 with one
 * worker gives batches of 256 samples of one i64, or of one i64 and a length. Each case has a
 * pipeline without the stage and one with it, which run alternately. Prints the medians of the ns
 * per sample, and of the differences of consecutive runs, and the difference of the least times.
 * Times are CPU time of worker and loop together, which other programs disturb little; the least
 * ones are disturbed least. Outputs of functions have no guard bytes, unless
 * SLUICE_GUARDS is set.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sluice/sluice.h>

enum { ROUNDS = 41, BATCHES = 400, BATCH = 256, SAMPLES = 1 << 16 };

static int64_t values[SAMPLES];
static int32_t lengths[SAMPLES];

static const sluice_column_spec value_columns[] = {{.name = "a", .dtype = SLUICE_I64},
                                                   {.name = "n", .dtype = SLUICE_I32}};
static const sluice_column_spec map_column[] = {{.name = "m", .dtype = SLUICE_I64}};
static const char *const value_name[] = {"a"};

/* A pipeline, and its times. */
typedef struct side {
    sluice_dataset *dataset;
    sluice_channel *channel;
    double ns[ROUNDS];
} side;

static void check(sluice_status st)
{
    if (st != SLUICE_OK) {
        fprintf(stderr, "bench_stages: %s\n", sluice_last_error());
        exit(2);
    }
}

/* ---- functions that do nothing of their own -------------------------------------------------- */

static sluice_status read_value(sluice_sample *sample, uint64_t index, void *user)
{
    void *room;
    const sluice_status st = sluice_sample_room(sample, "a", NULL, &room);

    (void)user;
    if (st == SLUICE_OK) {
        *(int64_t *)room = values[index];
    }
    return st;
}

static sluice_status next_value(sluice_sample *sample, void *pass, void *user)
{
    (void)pass;
    return read_value(sample, sluice_sample_number(sample) % SAMPLES, user);
}

static sluice_status next_pair(sluice_sample *sample, void *pass, void *user)
{
    void *room;
    const sluice_status st = next_value(sample, pass, user);

    if (st != SLUICE_OK || sluice_sample_room(sample, "n", NULL, &room) != SLUICE_OK) {
        return st;
    }
    *(int32_t *)room = lengths[sluice_sample_number(sample) % SAMPLES];
    return SLUICE_OK;
}

static sluice_status map_nothing(sluice_sample *sample, void *user)
{
    void *room;
    const sluice_status st = sluice_sample_room(sample, "m", NULL, &room);

    (void)user;
    if (st == SLUICE_OK) {
        *(int64_t *)room = 0;
    }
    return st;
}

static sluice_status keep_all(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)sample;
    (void)user;
    *keep_out = 1;
    return SLUICE_OK;
}

static sluice_status map_no_batch(sluice_host_batch *batch, void *user)
{
    (void)batch;
    (void)user;
    return SLUICE_OK;
}

/* ---- the pipelines --------------------------------------------------------------------------- */

static sluice_dataset *of_memory(uint32_t columns)
{
    const sluice_array arrays[] = {
        {"a", values, SLUICE_I64, 1, {SAMPLES}},
        {"n", lengths, SLUICE_I32, 1, {SAMPLES}},
    };
    sluice_dataset *dataset = NULL;

    check(sluice_dataset_memory(arrays, columns, &dataset));
    return dataset;
}

static sluice_dataset *of_function(bool is_stream, uint32_t columns)
{
    sluice_dataset *dataset = NULL;
    sluice_source source;

    sluice_source_init(&source);
    source.name = "bench";
    source.columns = value_columns;
    source.column_count = columns;
    if (is_stream) {
        source.next = columns == 2 ? next_pair : next_value;
    } else {
        source.count = SAMPLES;
        source.read = read_value;
    }
    check(sluice_dataset_source(&source, &dataset));
    return dataset;
}

static void add_map(sluice_dataset *dataset)
{
    sluice_map map;

    sluice_map_init(&map);
    map.name = "nothing";
    map.outputs = map_column;
    map.output_count = 1;
    map.map = map_nothing;
    check(sluice_dataset_map(dataset, &map));
}

static void add_filter(sluice_dataset *dataset)
{
    sluice_filter filter;

    sluice_filter_init(&filter);
    filter.name = "all";
    filter.filter = keep_all;
    check(sluice_dataset_filter(dataset, &filter));
}

static void add_map_batch(sluice_dataset *dataset)
{
    sluice_map_batch map;

    sluice_map_batch_init(&map);
    map.name = "no_batch";
    map.inputs = value_name;
    map.input_count = 1;
    map.map = map_no_batch;
    check(sluice_dataset_map_batch(dataset, &map));
}

static void add_bucket(sluice_dataset *dataset)
{
    check(sluice_dataset_add(dataset, "bucket n 64,128,256"));
}

typedef enum stage_case {
    SOURCE,
    STREAM,
    MAP,
    FILTER,
    MAP_BATCH,
    BUCKET,
    STREAM_FILTER,
    STREAM_BUCKET,
    CASES
} stage_case;

static const char *const names[CASES] = {"source callback",       "stream callback", "map",
                                         "filter that keeps all", "map_batch",       "bucket",
                                         "filter, stream",        "bucket, stream"};

static sluice_dataset *make_source(stage_case c, bool with)
{
    switch (c) {
    case SOURCE:
    case STREAM:
        return with ? of_function(c == STREAM, 1) : of_memory(1);
    case STREAM_FILTER:
        return of_function(true, 1);
    case STREAM_BUCKET:
        return of_function(true, 2);
    default:
        return of_memory(c == BUCKET ? 2 : 1);
    }
}

static sluice_dataset *make(stage_case c, bool with)
{
    sluice_dataset *dataset = make_source(c, with);

    if (with && c == MAP) {
        add_map(dataset);
    } else if (with && (c == FILTER || c == STREAM_FILTER)) {
        add_filter(dataset);
    } else if (with && (c == BUCKET || c == STREAM_BUCKET)) {
        add_bucket(dataset);
    }
    check(sluice_dataset_addf(dataset, "batch %u drop_remainder=true", BATCH));
    if (with && c == MAP_BATCH) {
        add_map_batch(dataset);
    }
    return dataset;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void open_side(side *s, sluice_device *device, stage_case c, bool with)
{
    sluice_channel_config config;

    s->dataset = make(c, with);
    sluice_channel_config_init(&config);
    config.workers = 1;
    config.world = 1;
    config.slots = 16;
    check(sluice_channel_open(device, s->dataset, &config, &s->channel));
    check(sluice_channel_start(s->channel));
}

static double run(side *s)
{
    const sluice_batch *batch = NULL;
    const double start = now_ns();

    for (int i = 0; i < BATCHES; i++) {
        check(sluice_channel_get_next(s->channel, NULL, SLUICE_FOREVER, &batch));
    }
    return (now_ns() - start) / (BATCHES * BATCH);
}

static void close_side(side *s)
{
    sluice_channel_close(s->channel);
    sluice_dataset_destroy(s->dataset);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *numbers)
{
    qsort(numbers, ROUNDS, sizeof(*numbers), compare);
    return numbers[ROUNDS / 2];
}

static void run_case(sluice_device *device, stage_case c)
{
    static side sides[2];
    double differences[ROUNDS];

    open_side(&sides[0], device, c, false);
    open_side(&sides[1], device, c, true);
    run(&sides[0]);
    run(&sides[1]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 2; i++) { /* each is first in every other round */
            const int at = (i + round) % 2;

            sides[at].ns[round] = run(&sides[at]);
        }
        differences[round] = sides[1].ns[round] - sides[0].ns[round];
    }
    printf("%-24s %7.1f %7.1f %+7.1f", names[c], median(sides[0].ns), median(sides[1].ns),
           median(differences));
    printf(" %+7.1f\n", sides[1].ns[0] - sides[0].ns[0]); /* sorted by median() */
    fflush(stdout);
    close_side(&sides[0]);
    close_side(&sides[1]);
}

int main(void)
{
    sluice_device *device = NULL;

    setenv("SLUICE_GUARDS", "off", 0);
    for (int i = 0; i < SAMPLES; i++) {
        values[i] = i;
        lengths[i] = (int32_t)((uint32_t)i * 2654435761U >> 23); /* 0 to 511 */
    }
    check(sluice_device_open("host:0", &device));
    printf("%-24s %7s %7s %7s %7s\n", "ns a sample", "without", "with", "more", "least");
    for (stage_case c = SOURCE; c < CASES; c++) {
        run_case(device, c);
    }
    sluice_device_close(device);
    return 0;
}
