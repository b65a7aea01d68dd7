/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that workers of a run claim at once, where samples take next to no time. */
#include "clock_int.h"
#include "engine_kit.h"
#include "engine_state.h"
#include "testing.h"

enum { ROWS = 64, WARM_UP = 40, SLOTS = 4, ROW = 10 };

/* Of a batch that no worker has begun after the warm-up, in the first pass. */
static const uint64_t FIRST = (WARM_UP + SLOTS + 2) * ROWS;

/* A run whose workers have learnt how long its samples take. Returns CPU nanoseconds for one. */
static double start_warm(engine_run *run, sluice_dataset **dataset_out, uint32_t workers)
{
    const run_options options = {.workers = workers, .slots = SLOTS, .batches = UINT64_MAX};
    int64_t start_ns;

    script_reset(MOST_SAMPLES, GOOD);
    *dataset_out = script_dataset(ROWS, true);
    open_run(run, *dataset_out, &options);
    start_ns = sli_now_ns();
    while (sli_now_ns() - start_ns < 2000000) { /* how fast ticks are is known after 1 ms */
    }
    start_ns = sli_process_cpu_ns();
    for (uint32_t i = 0; i < WARM_UP; i++) {
        T_OK(next_batch(run));
    }
    return (double)(sli_process_cpu_ns() - start_ns) / (WARM_UP * ROWS);
}

static void finish(engine_run *run, sluice_dataset *dataset)
{
    script_release();
    while (run->seq < FIRST / ROWS + 2) {
        T_OK(next_batch(run));
        for (uint32_t row = 0; row < ROWS; row++) {
            const uint64_t sample = (run->seq - 1) * ROWS + row;
            const uint8_t *pixels = row_of(run, 0, row);

            T_EQ(*(const int32_t *)row_of(run, 1, row), sample);
            T_EQ(pixels[5], script_pixel(sample, 5));
        }
    }
    close_run(run);
    sluice_dataset_destroy(dataset);
}

/* Under load a worker that lost its processor claims rows one by one for a while: a test that wants
 * runs is tried again. */
enum { TRIES = 20 };

/* Has the worker that reads a sample claimed those behind it, too? */
static bool a_run_is_claimed(double *ns_out)
{
    sluice_dataset *dataset;
    engine_run run;
    uint64_t claimed;

    *ns_out = start_warm(&run, &dataset, 1);
    script_block(FIRST + ROW);
    while (run.seq < FIRST / ROWS) {
        T_OK(next_batch(&run));
    }
    script_wait_blocked(1);
    claimed = atomic_load(&run.engine->claims.next);
    finish(&run, dataset);
    T_TRUE(claimed > FIRST + ROW && claimed <= FIRST + ROWS);
    return claimed > FIRST + ROW + 1;
}

static void small_samples_are_claimed_in_runs(void)
{
    double ns = 0;

    for (uint32_t i = 0; i < TRIES; i++) {
        if (a_run_is_claimed(&ns)) {
            return;
        }
    }
    if (ns > 2000) {
        T_SKIP("a sample takes more than 2 us of a CPU here");
    }
    T_FAIL_("rows are claimed one by one");
}

/* Are both rows behind one that took long being read at once, though one worker had claimed them?
 * Not where a run of the other worker began there; then nothing more comes within a second. */
static bool rows_are_shared(void)
{
    sluice_dataset *dataset;
    engine_run run;
    int64_t start_ns;
    bool shared;

    (void)start_warm(&run, &dataset, 2);
    for (uint64_t i = 0; i < 3; i++) {
        script_block(FIRST + ROW + i);
    }
    while (run.seq < FIRST / ROWS) {
        T_OK(next_batch(&run));
    }
    script_wait_blocked(1);
    start_ns = sli_now_ns();
    while (sli_now_ns() - start_ns < 2000000) { /* so long that it is slow */
    }
    script_let(1);
    shared = script_await_blocked(3, 1000000000);
    finish(&run, dataset);
    return shared;
}

static void rows_behind_a_slow_row_are_shared(void)
{
    uint32_t tries = 0;

    while (tries < TRIES && !rows_are_shared()) {
        tries++;
    }
    T_TRUE(tries < TRIES);
}

const t_test engine_claims_tests[] = {
    T_TEST(small_samples_are_claimed_in_runs),
    T_TEST(rows_behind_a_slow_row_are_shared),
    T_END,
};
