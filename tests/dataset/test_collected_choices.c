/* SPDX-License-Identifier: Apache-2.0 */
/* Choices of filters, pack and bucket that wait for those of earlier samples. */
#include <stdlib.h>

#include "engine_state.h"
#include "filter_kit.h"
#include "testing.h"

enum { MANY = 2000, WORKERS_MOST = 8 };

static const int64_t LIMIT_NS = INT64_C(20000000000);

/* A pipeline whose samples are kept or dropped, and a run of it. */
typedef enum choice_case { LATE, EARLY, BUCKET, CASES } choice_case;

static const char *const case_names[CASES] = {"late filter", "early filter", "bucket"};

static sluice_dataset *make(choice_case c)
{
    sluice_dataset *dataset = NULL;

    if (c != BUCKET) {
        return filtered_dataset("shuffle", c == EARLY ? BY_LABEL : BY_PIXELS, 8, true);
    }
    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_add(dataset, "shuffle"));
    T_OK(sluice_dataset_add(dataset, "bucket label 500,1000,2000"));
    T_OK(sluice_dataset_add(dataset, "batch 8 drop_remainder=true"));
    return dataset;
}

/* With two ranks a filter of the label is called before the sample is loaded. */
static run_options options_of(choice_case c, uint32_t workers)
{
    return (run_options){.workers = workers,
                         .settings = {.seed = 5, .world = c == EARLY ? 2 : 1},
                         .passes = 2,
                         .batches = UINT64_MAX};
}

/* Makes two samples of the first pass block: the first one, and one a few samples later. */
static void block_two(void)
{
    uint64_t samples[MOST_SAMPLES];

    T_EQ(samples_of_pass("shuffle", 5, 0, samples), MANY);
    script_block(samples[0]);
    script_block(samples[12]);
}

/* Adds the batches of a run to a tape. */
static void record_rest(engine_run *run, tape *t)
{
    while ((t->end = next_batch(run)) == SLUICE_OK) {
        tape_batch(t, run);
    }
}

/* While one worker reads the first sample, the other one reads samples far behind it. */
static void a_slow_sample_stops_no_other_worker(void)
{
    for (choice_case c = 0; c < CASES; c++) {
        const run_options alone = options_of(c, 1);
        const run_options options = options_of(c, 2);
        sluice_dataset *dataset;
        engine_run run;
        tape want;
        tape got = {.bytes = NULL};

        script_reset(MANY, GOOD);
        dataset = make(c);
        want = record(dataset, &alone);
        block_two();
        open_run(&run, dataset, &options);
        T_TRUE(script_await_blocked(2, LIMIT_NS));
        script_release();
        record_rest(&run, &got);
        check_equal_tapes(&got, &want, case_names[c]);
        close_run(&run);
        free(want.bytes);
        free(got.bytes);
        sluice_dataset_destroy(dataset);
    }
}

/* Choices wait for the first sample, and the run ends before it is read. */
static void a_run_ends_while_choices_wait(void)
{
    for (choice_case c = 0; c < CASES; c++) {
        const run_options options = options_of(c, 3);
        sluice_dataset *dataset;
        engine_run run;

        script_reset(MANY, GOOD);
        dataset = make(c);
        block_two();
        open_own(&run, dataset, &options);
        T_TRUE(script_await_blocked(2, LIMIT_NS));
        sli_engine_close(run.engine);
        script_release();
        close_run(&run);
    }
}

/* Some samples take long, and some are bad; a worker never waits for long, or always. */
static void uneven_samples_give_the_same_batches_at_any_number_of_workers(void)
{
    for (choice_case c = 0; c < CASES; c++) {
        run_options options = options_of(c, 1);
        sluice_dataset *dataset;
        tape want;

        script_reset(MANY, GOOD);
        for (uint64_t i = 0; i < MANY; i++) {
            script.behaviours[i] = i % 97 == 5 ? SLOW : i % 89 == 7 ? BAD : GOOD;
        }
        options.settings.on_error = c == EARLY ? SLI_ON_ERROR_REPLACE : SLI_ON_ERROR_ZERO;
        dataset = make(c);
        want = record(dataset, &options);
        T_EQ(want.end, SLUICE_END_OF_DATA);
        for (options.workers = 2; options.workers <= WORKERS_MOST; options.workers += 3) {
            tape got = record(dataset, &options);

            check_equal_tapes(&got, &want, case_names[c]);
            free(got.bytes);
        }
        free(want.bytes);
        sluice_dataset_destroy(dataset);
    }
}

/* The number of candidates that are taken, when a worker reads a sample that blocks. */
static uint64_t taken_when_blocked(const engine_run *run, uint32_t readers)
{
    script_wait_blocked(readers);
    return atomic_load(collected_rows_next(run->engine->collected));
}

/* Of samples that take little time a worker takes several at once, also if it has started so early
 * that the rate of ticks was not known. */
static void cheap_samples_are_taken_several_at_once(void)
{
    enum { PAIRS = 10, FIRST = 100, APART = 150 };
    const run_options options = {.batches = UINT64_MAX, .slots = 32}; /* room for all */
    uint32_t several = 0;
    engine_run run;

    script_reset(MANY, GOOD);
    for (uint64_t i = 0; i < 20; i++) {
        script.behaviours[i] = SLOW; /* the run is older than a millisecond after these */
    }
    for (uint64_t i = 0; i < PAIRS; i++) {
        script_block(FIRST + i * APART);
        script_block(FIRST + i * APART + 1);
    }
    open_own(&run, filtered_dataset(NULL, BY_PIXELS, 50, true), &options);
    for (uint32_t i = 0; i < 2 * PAIRS; i++) {
        const uint64_t sample = FIRST + i / 2 * APART + i % 2;

        several += taken_when_blocked(&run, i + 1) > sample + 1;
        script_let(1);
    }
    script_release(); /* else the next pass may block, and the run could not be closed */
    T_TRUE(several > 0);
    close_run(&run);
}

const t_test collected_choices_tests[] = {
    T_TEST(a_slow_sample_stops_no_other_worker),
    T_TEST(a_run_ends_while_choices_wait),
    T_TEST(cheap_samples_are_taken_several_at_once),
    T_TEST(uneven_samples_give_the_same_batches_at_any_number_of_workers),
    T_END,
};
