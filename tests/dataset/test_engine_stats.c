/* SPDX-License-Identifier: Apache-2.0 */
/* Engine statistics and stall diagnostics. */
#include <sched.h>

#include "clock_int.h"
#include "collected_buckets.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "generator_kit.h"
#include "sample_loader.h"
#include "testing.h"

static void a_stall_is_described_by_rows_and_workers(void)
{
    engine_run run;
    sli_text text = {0};
    bool first;

    script_reset(40, SLOW);
    script.behaviours[2] = BAD;
    script.behaviours[9] = BLOCKS;
    open_own(&run, script_dataset(4, false),
             &(run_options){.workers = 2,
                            .slots = 3,
                            .settings = {.on_error = SLI_ON_ERROR_ZERO},
                            .first_step = 20,
                            .batches = UINT64_MAX});
    script_wait_blocked(1);
    T_OK(next_batch(&run));
    T_OK(next_batch(&run));
    /* The other worker does what there is room for, and then waits for more. */
    do {
        sli_text_free(&text);
        sli_engine_describe_wait(run.engine, 3, &text);
        first = strstr(text.data, "worker 0 is in read of script/9 for ") != NULL;
    } while (strstr(text.data, "the batch at sample 8 of pass 2 has 3 of 4 rows; ") == NULL ||
             strstr(text.data, first ? "worker 1 waits for room or is done"
                                     : "worker 0 waits for room or is done") == NULL);
    T_TRUE(first || strstr(text.data, "worker 1 is in read of script/9 for ") != NULL);
    sli_text_free(&text);
    script_release();
    T_OK(next_batch(&run));
    close_run(&run);
}

/* A worker that met a bad sample and then waits for room is not in that sample any more. */
static void a_bad_sample_does_not_hold_its_worker(void)
{
    engine_run run;
    sli_text text = {0};

    script_reset(3, GOOD);
    script.behaviours[2] = BAD;
    open_own(&run, script_dataset(1, false),
             &(run_options){
                 .slots = 3, .settings = {.on_error = SLI_ON_ERROR_ZERO}, .batches = UINT64_MAX});
    script_wait_reads(1);
    do {
        sli_text_free(&text);
        sli_engine_describe_wait(run.engine, 1, &text);
    } while (strstr(text.data, "worker 0 waits for room or is done") == NULL);
    sli_text_free(&text);
    close_run(&run);
}

static void the_profile_counts_samples_and_bytes(void)
{
    const char *folder = t_folder();
    sli_stage_summary summary;
    engine_run run;

    open_own(&run, jpeg_dataset(folder, "decode | resize 30 | center_crop 20 | batch 5"),
             &(run_options){.workers = 2, .batches = 8});
    while (next_batch(&run) == SLUICE_OK) {
    }
    sli_engine_stop(run.engine);
    sli_profile_stop(&run.profile);
    for (uint32_t stage = 0; stage < run.plan->stage_count; stage++) {
        sli_profile_summarise(&run.profile, stage, &summary);
        if (stage >= PLAN_MAPS && stage < PLAN_BATCH) {
            T_EQ(summary.samples, 0); /* there are no maps */
            continue;
        }
        T_EQ(summary.samples, stage == PLAN_BATCH ? 8 : 40);
        T_TRUE(summary.bytes > 0 && summary.busy_ns > 0);
    }
    sli_profile_summarise(&run.profile, PLAN_READ, &summary);
    T_EQ(summary.bytes, sli_engine_bytes_read(run.engine));
    for (uint32_t i = 0; i < 2; i++) {
        char name[32];

        snprintf(name, sizeof(name), "sluice/w/%u", i);
        T_STR(sli_engine_thread(run.engine, i)->name, name);
    }
    close_run(&run);
}

/* At its end the source does not return until it has taken longer than all samples before. */
static void the_time_of_reading_a_stream_is_counted(void)
{
    atomic_int gate = GENERATOR_GATE;
    generator g = {.samples = 40, .gate = &gate};
    const sli_counters *counters;
    uint64_t before;
    uint64_t start;
    engine_run run;

    open_own(&run, generator_dataset(&g, "batch 4"),
             &(run_options){.slots = 16, .batches = 20, .passes = 1});
    while (atomic_load(&gate) != GENERATOR_AT_GATE) {
        sched_yield();
    }
    start = sli_ticks();
    counters = sli_profile_cell(&run.profile, PLAN_READ, 0);
    before = atomic_load(&counters->busy_ticks);
    while (sli_ticks() - start <= before) {
    }
    atomic_store(&gate, GENERATOR_OPEN);
    while (next_batch(&run) == SLUICE_OK) {
    }
    sli_engine_stop(run.engine);
    T_TRUE(atomic_load(&counters->busy_ticks) > 2 * before);
    T_TRUE(atomic_load(&counters->wait_input_ticks) > 0);
    close_run(&run);
}

/* What the engine holds after all batches of a run with 2 workers. Destroys the dataset. */
static sli_engine_memory memory_of(sluice_dataset *dataset, uint64_t passes)
{
    sli_engine_memory memory;
    engine_run run;

    open_own(&run, dataset, &(run_options){.workers = 2, .passes = passes});
    while (next_batch(&run) == SLUICE_OK) {
    }
    sli_engine_stop(run.engine);
    sli_engine_memory_get(run.engine, &memory);
    close_run(&run);
    return memory;
}

static void the_memory_of_workers_is_counted(void)
{
    const char *folder = t_folder();
    const sli_engine_memory direct =
        memory_of(jpeg_dataset(folder, "decode | resize 20,20 | batch 5"), 0);
    const sli_engine_memory turned =
        memory_of(jpeg_dataset(folder, "decode | resize 600,600 | rotate 5 | "
                                       "resize 20,20 | batch 5"),
                  0);

    T_EQ(direct.rows, 0);
    T_EQ(turned.rows, 0);
    T_TRUE(direct.workers > 2 * sizeof(sample_loader));
    T_TRUE(turned.workers > direct.workers + 500 * 500 * 3);
}

/* A bucket of a source has the numbers of samples, that of a stream its rows, too. */
static void rows_outside_of_batches_are_counted(void)
{
    generator g = {.samples = 200, .repeats = true};
    const sli_engine_memory twin =
        memory_of(generator_twin(&g, "bucket words_length edges=3,6 | batch 50"), 0);
    const sli_engine_memory stream =
        memory_of(generator_dataset(&g, "bucket words_length edges=3,6 | batch 50"), 1);

    T_TRUE(twin.rows > 0 && twin.workers > 0);
    T_TRUE(stream.rows > twin.rows + 50 * sizeof(held_row));
    T_TRUE(stream.workers > 0 && stream.workers < 2 * twin.workers + stream.rows);
}

/* The buffer of shuffle has been larger than all that workers hold; at the end it is empty. */
static void a_buffer_that_was_full_hides_no_memory(void)
{
    generator g = {.samples = 20000, .repeats = true};
    const sli_engine_memory stream =
        memory_of(generator_dataset(&g, "shuffle buffer=20000 | batch 50"), 1);

    T_TRUE(stream.workers > 2 * sizeof(sample_loader));
}

const t_test engine_stats_tests[] = {
    T_TEST(a_stall_is_described_by_rows_and_workers),
    T_TEST(a_bad_sample_does_not_hold_its_worker),
    T_TEST(the_profile_counts_samples_and_bytes),
    T_TEST(the_memory_of_workers_is_counted),
    T_TEST(rows_outside_of_batches_are_counted),
    T_TEST(a_buffer_that_was_full_hides_no_memory),
    T_TEST(the_time_of_reading_a_stream_is_counted),
    T_END,
};
