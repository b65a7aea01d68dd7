/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in passes of unknown length, and passes without a batch: a run ends with the error after
 * the steps and epochs before it, in every mode. */
#include <stdlib.h>

#include "collected_kit.h"
#include "collected_sets.h"
#include "loop_kit.h"
#include "random_kit.h"
#include "testing.h"

enum { RUNS = 300, PASSES = 4, STEPS_MOST = 200 };

static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=20"};
static const sluice_mode modes[] = {SLUICE_MODE_AUTO, SLUICE_MODE_DIRECT, SLUICE_MODE_DATA,
                                    SLUICE_MODE_GRAPH, SLUICE_MODE_LOOP};

/* What a run is made of. */
typedef struct drawn {
    collected_maker make;
    char batch[60];
    const char *device;
    sluice_mode mode; /* AUTO: without sinks */
    int64_t sink_size;
    uint32_t workers;
    uint32_t slots;
    uint64_t pass; /* of the error */
    uint64_t at;   /* its sample */
} drawn;

static drawn draw(uint32_t seed)
{
    uint32_t state = seed * 2654435761U + 1;
    drawn d = {.make = collected_makers[test_below(&state, COLLECTED_MAKERS)],
               .device = devices[test_below(&state, COUNT(devices))],
               .mode = modes[test_below(&state, COUNT(modes))],
               .workers = test_below(&state, 4) + 1,
               .pass = test_below(&state, PASSES),
               .at = test_below(&state, 3) > 0 ? 0 : test_below(&state, 23)};

    snprintf(d.batch, sizeof(d.batch), "batch %u%s", test_below(&state, 5) + 1,
             test_below(&state, 2) > 0 ? " drop_remainder=true" : "");
    d.sink_size = test_below(&state, 3) > 0 ? -1 : 1 + (int64_t)test_below(&state, 5);
    d.slots = test_below(&state, 2) > 0 ? 0 : 3 + test_below(&state, 5);
    return d;
}

static void train(const drawn *d, uint64_t fails_at, uint64_t empty_pass, kit *k)
{
    kit_init(k);
    k->dataset = d->make(d->batch);
    collected_generator.fails_at = fails_at;
    collected_generator.empty_pass = empty_pass;
    k->device = d->device;
    k->config.dataset_sink_mode = d->mode != SLUICE_MODE_AUTO;
    k->config.mode = d->mode;
    k->config.sink_size = d->sink_size;
    k->config.epochs = d->sink_size > 0 ? STEPS_MOST / (uint64_t)d->sink_size : PASSES;
    k->config.max_steps = STEPS_MOST;
    k->config.workers = d->workers;
    k->config.slots = d->slots;
    k->config.max_seconds = 20; /* a run that spins ends without its error */
    k->model.reads_valid_rows = true;
    kit_run(k);
}

static bool drops(const drawn *d)
{
    return strstr(d->batch, "drop") != NULL;
}

static void check_error(uint32_t seed, const drawn *d, const kit *k)
{
    /* Where bucket drops an incomplete batch, its bad sample is in no batch. */
    const bool dropped = d->make == collected_bucketed && drops(d) && k->status == SLUICE_OK &&
                         k->report->stats.seconds < k->config.max_seconds;

    if (k->status != SLUICE_E_IO && !dropped) {
        T_FAIL_("run %u, %s, mode %d, sink_size %d, pass %d, sample %d: ends with %d %.700s", seed,
                d->batch, (int)d->mode, (int)d->sink_size, (int)d->pass, (int)d->at, (int)k->status,
                k->error);
    }
    T_TRUE(dropped || strstr(k->error, "the server x is down") != NULL);
    if (d->mode == SLUICE_MODE_AUTO || d->sink_size < 0) {
        const uint64_t ends = dropped ? PASSES : d->pass;
        const uint64_t ended = k->hook_calls[KIT_EPOCH_END];

        /* A bad sample in an incomplete batch, which is dropped, comes after the pass. */
        T_TRUE(ended == ends || (ended == ends + 1 && d->at > 0 && drops(d)));
    }
    for (size_t i = 0; i < k->count; i++) {
        T_TRUE(dropped || k->steps[i].pass <= d->pass);
    }
}

/* SLUICE_RUNS sets another number of runs. */
static void an_error_in_any_pass_ends_the_run(void)
{
    const char *const runs = getenv("SLUICE_RUNS");
    const uint32_t count = runs != NULL ? (uint32_t)strtoul(runs, NULL, 10) : RUNS;

    for (uint32_t seed = 0; seed < count; seed++) {
        const drawn d = draw(seed);
        kit k;

        train(&d, d.pass * 1000 + d.at + 1, 0, &k);
        check_error(seed, &d, &k);
        collected_done(&k);
        T_EQ(atomic_load(&collected_generator.open), 0);
    }
}

static void a_pass_without_a_batch_ends_the_run(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        for (size_t i = 0; i < COUNT(modes); i++) {
            for (uint64_t pass = 0; pass < PASSES; pass++) {
                const drawn d = {.make = collected_makers[m],
                                 .batch = "batch 2",
                                 .device = devices[i % COUNT(devices)],
                                 .mode = modes[i],
                                 .sink_size = -1,
                                 .workers = (uint32_t)pass % 3 + 1};
                kit k;

                train(&d, 0, pass + 1, &k);
                T_STATUS(k.status, SLUICE_E_INVALID);
                T_CONTAINS(k.error, "no valid data in the dataset");
                T_EQ(k.hook_calls[KIT_EPOCH_END], pass);
                T_EQ(k.hook_calls[KIT_EPOCH_BEGIN], pass + 1);
                collected_done(&k);
            }
        }
    }
}

static void fewer_samples_than_a_batch_end_the_run(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        for (size_t i = 0; i < COUNT(modes); i++) {
            const drawn d = {.make = collected_makers[m],
                             .batch = "batch 400 drop_remainder=true",
                             .device = devices[i % COUNT(devices)],
                             .mode = modes[i],
                             .sink_size = i % 2 == 0 ? -1 : 3,
                             .workers = (uint32_t)i % 3 + 1};
            kit k;

            train(&d, 0, 0, &k);
            T_STATUS(k.status, SLUICE_E_INVALID);
            T_CONTAINS(k.error, "no valid data in the dataset");
            T_CONTAINS(k.error, "drop_remainder=false keeps what is left");
            T_EQ(k.count, 0);
            T_EQ(k.hook_calls[KIT_EPOCH_BEGIN], 1);
            collected_done(&k);
        }
    }
}

/* ---- channels -------------------------------------------------------------------------------- */

/* Fetches the batches that are there once the generator waits for the gate to end the pass. */
static void fetch_pass(const loop_kit *loop, const atomic_int *gate)
{
    const sluice_batch *batch = NULL;
    sluice_status st = SLUICE_OK;
    bool all = false;

    while (st == SLUICE_OK || !all) {
        all = atomic_load(gate) == GENERATOR_AT_GATE;
        st = sluice_channel_get_next(loop->channel, NULL, 0, &batch);
        T_TRUE(st == SLUICE_OK || st == SLUICE_TIMEOUT);
    }
}

/* Opens the gate, and fetches the batches that the end of the pass completes. */
static sluice_status end_pass(const loop_kit *loop, atomic_int *gate)
{
    const sluice_batch *batch = NULL;
    sluice_status st = SLUICE_OK;

    atomic_store(gate, GENERATOR_OPEN);
    while (st == SLUICE_OK) {
        st = sluice_channel_get_next(loop->channel, NULL, 20000, &batch);
    }
    return st;
}

/* The pass ends while the loop waits for the next batch, which fails. */
static void a_channel_reports_the_end_of_the_pass_before_an_error(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        for (uint64_t pass = 1; pass < 3; pass++) {
            sluice_dataset *dataset = collected_makers[m]("batch 3 drop_remainder=true");
            sluice_channel_config config = loop_kit_config(0, 0);
            atomic_int gate = GENERATOR_GATE;
            loop_kit loop;

            collected_generator.gate = &gate;
            collected_generator.fails_at = pass * 1000 + 1;
            config.workers = 1;
            config.end_of_pass = true;
            loop = loop_kit_open_dataset(devices[pass % 2], dataset, &config);
            T_OK(sluice_channel_start(loop.channel));
            for (uint64_t p = 0; p < pass; p++) {
                fetch_pass(&loop, &gate);
                T_STATUS(end_pass(&loop, &gate), SLUICE_END_OF_PASS);
            }
            T_STATUS(end_pass(&loop, &gate), SLUICE_E_IO);
            loop_kit_close(&loop);
            sluice_dataset_destroy(dataset);
        }
    }
}

/* A channel that is stopped at the end of a pass is closed, not at the end of the pass. */
static void a_stop_is_told_before_the_end_of_the_pass(void)
{
    for (size_t m = 0; m <= COLLECTED_MAKERS; m++) {
        const sluice_batch *batch = NULL;
        sluice_dataset *dataset = NULL;
        sluice_channel_config config = loop_kit_config(0, 0);
        loop_kit loop;

        if (m < COLLECTED_MAKERS) {
            dataset = collected_makers[m]("batch 3 drop_remainder=true");
        } else {
            T_OK(sluice_dataset_parse(loop_kit_padded, &dataset)); /* passes of known length */
        }
        config.end_of_pass = true;
        loop = loop_kit_open_dataset(devices[m % 2], dataset, &config);
        T_OK(sluice_channel_start(loop.channel));
        while (sluice_channel_get_next(loop.channel, NULL, SLUICE_FOREVER, &batch) == SLUICE_OK) {
        }
        T_OK(sluice_channel_rewind(loop.channel));
        for (uint64_t left = batch->number + 1; left > 0; left--) {
            T_OK(loop_kit_next(&loop, &batch));
        }
        sluice_channel_stop(loop.channel);
        T_STATUS(sluice_channel_get_next(loop.channel, NULL, 0, &batch), SLUICE_CLOSED);
        loop_kit_close(&loop);
        sluice_dataset_destroy(dataset);
    }
}

const t_test pass_errors_tests[] = {
    T_TEST(an_error_in_any_pass_ends_the_run),
    T_TEST(a_pass_without_a_batch_ends_the_run),
    T_TEST(fewer_samples_than_a_batch_end_the_run),
    T_TEST(a_channel_reports_the_end_of_the_pass_before_an_error),
    T_TEST(a_stop_is_told_before_the_end_of_the_pass),
    T_END,
};
