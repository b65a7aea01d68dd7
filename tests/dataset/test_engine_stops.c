/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are stopped, or run out of memory, at any moment. */
#include <stdatomic.h>
#include <stdlib.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "fault_kit.h"
#include "random_kit.h"
#include "testing.h"

/* At any of its requests: the run does not start, or ends with E_NO_MEMORY after good batches. */
static void runs_survive_running_out_of_memory(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset =
        jpeg_dataset(folder, "decode | resize 40 | center_crop 30 | random_resized_crop 12 | "
                             "random_horizontal_flip | batch 4");
    const run_options options = {.workers = 2, .settings = {.on_error = SLI_ON_ERROR_REPLACE}};
    tape want = record(dataset, &options);
    bool complete = false;

    T_EQ(want.end, SLUICE_END_OF_DATA);
    for (int64_t passes = 0; !complete; passes++) {
        tape got = {.bytes = NULL};
        engine_run run;

        sli_alloc_fail_after(passes);
        got.end = start_run(&run, dataset, &options);
        if (got.end == SLUICE_OK) {
            while ((got.end = next_batch(&run)) == SLUICE_OK) {
                tape_batch(&got, &run);
            }
            sli_alloc_fail_after(-1);
            sli_engine_errors_get(run.engine, &got.errors);
            T_EQ(got.errors.count, 0);
            close_run(&run);
        }
        sli_alloc_fail_after(-1);
        complete = got.end == SLUICE_END_OF_DATA;
        T_TRUE(complete || got.end == SLUICE_E_NO_MEMORY);
        T_TRUE(got.size <= want.size &&
               (got.size == 0 || memcmp(got.bytes, want.bytes, got.size) == 0));
        T_TRUE(!complete || got.size == want.size);
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

static void runs_can_be_stopped_at_any_moment(void)
{
    sluice_dataset *dataset =
        parsed("synthetic 100 8,8,3 | shuffle | random_crop 6 | normalize imagenet | batch 4");
    uint32_t state = 1;

    for (int i = 0; i < 150; i++) {
        run_options options = {.device = devices[i % 2],
                               .workers = 1 + test_below(&state, 5),
                               .slots = 3 + test_below(&state, 4),
                               .settings = {.prefer_device = test_below(&state, 2) == 1},
                               .batches = i % 3 == 0 ? 1 + test_below(&state, 6) : UINT64_MAX};
        uint32_t batches = test_below(&state, 8);
        engine_run run;

        open_run(&run, dataset, &options);
        while (batches-- > 0 && next_batch(&run) == SLUICE_OK) {
        }
        for (uint32_t spin = test_below(&state, 20000); spin > 0; spin--) {
            atomic_signal_fence(memory_order_seq_cst);
        }
        sli_engine_stop(run.engine);
        done_with_batch(&run);
        T_STATUS(next_batch(&run), SLUICE_CLOSED);
        sli_engine_stop(run.engine);
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
}

static void runs_that_fail_can_be_stopped_at_any_moment(void)
{
    uint32_t state = 2;

    for (int i = 0; i < 100; i++) {
        run_options options = {.device = devices[i % 2],
                               .workers = 1 + test_below(&state, 5),
                               .settings = {.on_error = (sli_error_policy)(i % 3)},
                               .batches = UINT64_MAX};
        engine_run run;

        script_reset(40, BAD);
        memset(script.behaviours, GOOD, test_below(&state, 30));
        open_own(&run, script_dataset(3, false), &options);
        for (uint32_t batches = test_below(&state, 12);
             batches > 0 && next_batch(&run) == SLUICE_OK; batches--) {
        }
        close_run(&run);
    }
}

static void an_engine_can_be_stopped_while_a_sample_is_read(void)
{
    engine_run run;

    script_reset(40, GOOD);
    script.behaviours[5] = BLOCKS;
    open_own(&run, script_dataset(4, false), &(run_options){.workers = 2, .batches = UINT64_MAX});
    T_OK(next_batch(&run));
    script_wait_blocked(1);
    script_release();
    close_run(&run);
    sli_engine_destroy(NULL);
}

static void close_engine(void *arg)
{
    sli_engine *engine = atomic_load((_Atomic(sli_engine *) *)arg);

    if (engine != NULL) {
        sli_engine_close(engine);
    }
}

static void an_engine_can_be_stopped_while_it_waits_for_descriptors(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = jpeg_dataset(folder, "decode | resize 8,8 | batch 4");
    _Atomic(sli_engine *) engine = NULL;
    engine_run run;

    fault_pauses_begin();
    pauses.also = close_engine; /* before the workers start, which read it */
    pauses.arg = &engine;
    open_own(&run, dataset, &(run_options){.workers = 2, .batches = UINT64_MAX});
    T_OK(next_batch(&run));
    atomic_store(&engine, run.engine);
    do {
        fault_take_descriptors(); /* again, as readahead may have had one */
    } while (next_batch(&run) == SLUICE_OK);
    T_STATUS(next_batch(&run), SLUICE_CLOSED);
    sli_engine_stop(run.engine);
    T_TRUE(pauses.count >= 1 && pauses.count <= 4);
    fault_pauses_end();
    close_run(&run);
}

const t_test engine_stops_tests[] = {
    T_TEST(runs_survive_running_out_of_memory),
    T_TEST(runs_can_be_stopped_at_any_moment),
    T_TEST(runs_that_fail_can_be_stopped_at_any_moment),
    T_TEST(an_engine_can_be_stopped_while_a_sample_is_read),
    T_TEST(an_engine_can_be_stopped_while_it_waits_for_descriptors),
    T_END,
};
