/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: which samples the batches of a run have, at any number of workers and ranks. */
#include <stdlib.h>

#include "filter_kit.h"
#include "testing.h"

enum { MANY = 100 };

/* What a run of several passes should give to one rank. */
typedef struct expected {
    uint64_t samples[4 * MANY]; /* UINT64_MAX: padding */
    uint64_t rows;
} expected;

/* The turns of a pass from `done` on, in batches. */
static void expect_pass(expected *e, const char *stages, uint64_t pass, uint64_t done,
                        uint32_t batch, bool drop, uint32_t rank, uint32_t world)
{
    uint64_t samples[MOST_SAMPLES];
    uint64_t kept[MOST_SAMPLES];
    const uint64_t count = samples_of_pass(stages, 5, pass, samples);
    const uint64_t round = (uint64_t)batch * world;
    uint64_t turns = 0;
    uint64_t rows;

    for (uint64_t i = 0; i < count; i++) {
        if (third_keeps(samples[i])) {
            kept[turns++] = samples[i];
        }
    }
    turns -= done;
    rows = (turns / round + (!drop && turns % round != 0)) * batch;
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t turn = i * world + rank;

        e->samples[e->rows++] = turn < turns ? kept[done + turn] : UINT64_MAX;
    }
}

/* Takes the next batches of a run: they have the samples from row *at on. */
static void check_batches(engine_run *run, const expected *e, uint64_t *at, uint64_t batches)
{
    for (uint64_t i = 0; i < batches; i++) {
        T_OK(next_batch(run));
        for (uint32_t row = 0; row < run->plan->batch_size; row++) {
            const uint64_t want = e->samples[(*at)++];

            T_EQ(run->input.samples[row], want);
            if (want == UINT64_MAX) {
                T_TRUE(is_zero(row_of(run, 0, row), row_bytes(run, 0)));
                T_TRUE(run->input.header->valid_rows <= row);
                continue;
            }
            T_TRUE(run->input.header->valid_rows > row);
            T_EQ(*(const int32_t *)row_of(run, 1, row), want);
            T_EQ(*(const uint8_t *)row_of(run, 0, row), script_pixel(want, 0));
        }
    }
}

/* Runs three passes on each rank. */
static void check_passes(const char *stages, filter_way way, uint32_t batch, bool drop,
                         uint32_t workers, uint32_t world)
{
    for (uint32_t rank = 0; rank < world; rank++) {
        sluice_dataset *dataset = filtered_dataset(stages, way, batch, drop);
        expected e = {.rows = 0};
        engine_run run;
        uint64_t at = 0;

        for (uint64_t pass = 0; pass < 3; pass++) {
            expect_pass(&e, stages, pass, 0, batch, drop, rank, world);
        }
        open_own(&run, dataset,
                 &(run_options){.workers = workers,
                                .passes = 3,
                                .batches = UINT64_MAX,
                                .settings = {.seed = 5, .rank = rank, .world = world}});
        check_batches(&run, &e, &at, e.rows / batch);
        T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
        close_run(&run);
    }
}

static void batches_have_the_samples_that_are_kept_in_order(void)
{
    script_reset(MANY, GOOD);
    for (int i = 0; i < 3; i++) {
        for (filter_way way = 0; way < FILTER_WAYS; way++) {
            check_passes(NULL, way, 6, false, worker_counts[i], 1);
            check_passes("shuffle", way, 7, false, worker_counts[i], 1);
            check_passes("shuffle", way, 7, true, worker_counts[i], 1);
        }
    }
}

/* shuffle | take: each pass has other samples, of which the filter keeps another number. */
static void passes_may_differ_in_length(void)
{
    script_reset(MANY, GOOD);
    for (int i = 0; i < 3; i++) {
        check_passes("shuffle | take 31", BY_LABEL, 4, true, worker_counts[i], 1);
        check_passes("shuffle | take 31", BY_PIXELS, 4, false, worker_counts[i], 1);
    }
}

/* The samples of one of three shards, by one rank. */
static void a_shard_may_be_filtered(void)
{
    script_reset(MANY, GOOD);
    for (int i = 0; i < 3; i++) {
        for (filter_way way = 0; way < FILTER_WAYS; way++) {
            check_passes("shuffle | shard 1 3", way, 4, i == 1, worker_counts[i], 1);
        }
    }
}

/* One sample is what its row of a run is. */
static void a_sample_of_a_pass_is_found_by_its_index(void)
{
    script_reset(60, GOOD);
    script.behaviours[11] = BAD;
    for (filter_way way = 0; way < FILTER_WAYS; way++) {
        sluice_dataset *dataset = filtered_dataset("shuffle", way, 1, true);
        const run_options options = {.settings = {.seed = 5, .on_error = SLI_ON_ERROR_ZERO}};
        uint8_t image[SIDE * SIDE * 3];
        int32_t label;
        uint64_t count = 0;
        uint64_t sample;
        engine_run run;

        open_own(&run, dataset, &options);
        for (; next_batch(&run) == SLUICE_OK; count++) {
            T_OK(sluice_dataset_get(dataset, 5, 0, count, NULL, &sample));
            T_EQ(sample, run.input.samples[0]);
            if (sample == 11) {
                T_STATUS(
                    sluice_dataset_get(dataset, 5, 0, count, (void *const[]){image, &label}, NULL),
                    SLUICE_E_CORRUPT);
                T_CONTAINS(sluice_last_error(), "sample 11, script/11: it is bad");
                continue;
            }
            T_OK(sluice_dataset_get(dataset, 5, 0, count, (void *const[]){image, &label}, NULL));
            T_EQ(label, (int32_t)sample);
            T_TRUE(memcmp(image, row_of(&run, 0, 0), sizeof(image)) == 0);
        }
        T_TRUE(count > 30);
        T_STATUS(sluice_dataset_get(dataset, 5, 0, count, NULL, &sample), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "is past the end: filters keep");
        close_run(&run);
    }
}

static void ranks_take_turns(void)
{
    script_reset(MANY, GOOD);
    for (int i = 0; i < 3; i++) {
        for (filter_way way = 0; way < FILTER_WAYS; way++) {
            check_passes("shuffle", way, 4, false, worker_counts[i], 3);
            check_passes("shuffle", way, 4, true, worker_counts[i], 3);
            check_passes("shuffle | take 25", way, 1, true, worker_counts[i], 4);
            check_passes("shuffle | take 25", way, 2, false, worker_counts[i], 5);
        }
    }
}

/* A run that begins behind any batch gives what the whole run gives from there. */
static void a_resumed_run_gives_the_same_batches(void)
{
    script_reset(MANY, GOOD);
    for (uint64_t first = 0; first < 12; first++) {
        const filter_way way = first % 2 == 0 ? BY_LABEL : BY_PIXELS;
        sluice_dataset *dataset = filtered_dataset("shuffle", way, 5, first % 3 == 0);
        expected e = {.rows = 0};
        engine_run run;
        uint64_t at = 0;

        expect_pass(&e, "shuffle", 0, first * 5, 5, first % 3 == 0, 0, 1);
        expect_pass(&e, "shuffle", 1, 0, 5, first % 3 == 0, 0, 1);
        open_own(&run, dataset,
                 &(run_options){.workers = worker_counts[first % 3],
                                .first_step = first,
                                .batches = e.rows / 5,
                                .settings = {.seed = 5, .world = 1}});
        check_batches(&run, &e, &at, e.rows / 5);
        T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
        /* The position behind each batch is what the next run begins with. */
        T_EQ(sli_plan_position(run.plan, 1).done, first * 5 + 5);
        close_run(&run);
    }
}

const t_test filter_tests[] = {
    T_TEST(batches_have_the_samples_that_are_kept_in_order),
    T_TEST(passes_may_differ_in_length),
    T_TEST(ranks_take_turns),
    T_TEST(a_shard_may_be_filtered),
    T_TEST(a_sample_of_a_pass_is_found_by_its_index),
    T_TEST(a_resumed_run_gives_the_same_batches),
    T_END,
};
