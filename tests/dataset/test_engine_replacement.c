/* SPDX-License-Identifier: Apache-2.0 */
/* Bad samples under policy replace: by which others, and what when there are none. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "testing.h"

static void bad_samples_are_replaced_by_others_of_the_set(void)
{
    sluice_dataset *dataset = NULL;
    run_options options = {.settings = {.on_error = SLI_ON_ERROR_REPLACE, .seed = 8},
                           .batches = 12};
    engine_run run;
    tape want;
    uint32_t replacements[60] = {0};
    uint32_t replaced = 0;

    script_reset(100, GOOD);
    for (int i = 0; i < 100; i += 3) {
        script.behaviours[i] = BAD;
    }
    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_add(dataset, "skip 40 | batch 10"));
    open_run(&run, dataset, &options);
    for (uint64_t step = 0; step < 12; step++) {
        T_OK(next_batch(&run));
        T_EQ(run.input.count, 2);
        for (uint32_t row = 0; row < 10; row++) {
            const uint64_t own = 40 + step % 6 * 10 + row;
            const uint64_t sample = run.input.samples[row];
            const uint8_t *image = row_of(&run, 0, row);

            if (own % 3 != 0) {
                T_EQ(sample, own);
            } else {
                /* Never from outside of what the stages leave, and good itself. */
                T_TRUE(sample >= 40 && sample < 100 && sample % 3 != 0);
                replacements[sample - 40]++;
                replaced++;
            }
            T_EQ(*(const int32_t *)row_of(&run, 1, row), sample);
            for (size_t i = 0; i < row_bytes(&run, 0); i++) {
                T_EQ(image[i], script_pixel(sample, i));
            }
        }
    }
    close_run(&run);
    for (int i = 0; i < 60; i++) {
        T_TRUE(replacements[i] < 8); /* not always the same */
    }
    want = record(dataset, &options);
    T_EQ(want.errors.replaced, replaced);
    T_EQ(want.errors.zeroed + want.errors.failed, 0);
    for (int i = 0; i < 6; i++) {
        tape got;

        options.device = devices[i % 2];
        options.workers = worker_counts[i / 2];
        got = record(dataset, &options);
        check_equal_tapes(&got, &want, "replacements");
        T_EQ(got.errors.replaced, replaced);
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

/* What replaces a sample does not depend on how many ranks share the pass. */
static void replacements_are_the_same_for_any_world(void)
{
    engine_run whole;
    engine_run part;
    sluice_dataset *alone = NULL;
    sluice_dataset *shared = NULL;

    script_reset(90, GOOD);
    for (int i = 0; i < 90; i += 2) {
        script.behaviours[i] = BAD;
    }
    T_OK(dataset_begin(&stage_script, "", &alone));
    T_OK(sluice_dataset_add(alone, "shuffle seed=1 | batch 15"));
    T_OK(dataset_begin(&stage_script, "", &shared));
    T_OK(sluice_dataset_add(shared, "shuffle seed=1 | batch 5"));
    for (uint32_t rank = 0; rank < 3; rank++) {
        const sli_run_settings settings = {.on_error = SLI_ON_ERROR_REPLACE, .world = 1};
        const sli_run_settings shares = {
            .on_error = SLI_ON_ERROR_REPLACE, .rank = rank, .world = 3};

        open_run(&whole, alone, &(run_options){.settings = settings, .batches = 12});
        open_run(&part, shared, &(run_options){.settings = shares, .workers = 2, .batches = 12});
        for (int batch = 0; batch < 12; batch++) {
            T_OK(next_batch(&whole));
            T_OK(next_batch(&part));
            for (uint32_t i = 0; i < 5; i++) {
                T_EQ(part.input.samples[i], whole.input.samples[i * 3 + rank]);
            }
        }
        close_run(&whole);
        close_run(&part);
    }
    sluice_dataset_destroy(alone);
    sluice_dataset_destroy(shared);
}

static void replacements_stay_within_a_split(void)
{
    sluice_dataset *dataset = NULL;
    engine_run run;
    sluice_dataset *open;
    uint32_t replaced = 0;

    script_reset(200, GOOD);
    for (int i = 0; i < 200; i += 2) {
        script.behaviours[i] = BAD;
    }
    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_add(dataset, "split test 0.3 | shuffle | batch 4"));
    open_own(&run, dataset,
             &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE, .rank = 1, .world = 2},
                            .batches = 30});
    open = run.plan->dataset;
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
            const split_members *split = &open->splits[1];
            uint64_t k = 0;

            while (k < split->count && split->members[k] != run.input.samples[row]) {
                k++;
            }
            T_TRUE(k < split->count);
            replaced += run.input.samples[row] % 2;
        }
    }
    T_TRUE(replaced > 20);
    close_run(&run);
}

/* With nine bad samples in ten, 0.9^8 of the bad ones find no replacement in 8 tries. */
static void after_eight_tries_a_row_is_left_zero(void)
{
    sluice_dataset *dataset;
    tape t;

    script_reset(3000, BAD);
    for (int i = 0; i < 3000; i += 10) {
        script.behaviours[i] = GOOD;
    }
    dataset = script_dataset(100, false);
    t = record(dataset,
               &(run_options){.workers = 2, .settings = {.on_error = SLI_ON_ERROR_REPLACE}});
    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.errors.replaced + t.errors.zeroed, 2700);
    T_NEAR(t.errors.zeroed, 2700 * 0.43046721, 100);
    T_EQ(t.errors.count, 100);
    free(t.bytes);
    T_TRUE(script.reads > 2700 && script.reads < 2700 * 9);
    sluice_dataset_destroy(dataset);
    /* Read once, and eight times more. */
    script_reset(1, BAD);
    dataset = script_dataset(100, false);
    t = record(dataset, &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE}});
    T_EQ(script.reads, 9);
    free(t.bytes);
    sluice_dataset_destroy(dataset);
}

static void running_out_of_memory_while_replacing_ends_the_run(void)
{
    tape t;

    script_reset(40, NO_MEMORY);
    for (int i = 0; i < 11; i++) {
        script.behaviours[i] = i < 10 ? GOOD : BAD;
    }
    t = record_own(
        script_dataset(5, false),
        &(run_options){.settings = {.on_error = SLI_ON_ERROR_REPLACE, .seed = 3}, .batches = 3});
    T_EQ(t.end, SLUICE_E_NO_MEMORY);
    T_EQ(t.batches, 2);
    T_EQ(t.errors.count, 1);
    T_EQ(t.errors.replaced + t.errors.zeroed, 0);
    free(t.bytes);
}

const t_test engine_replacement_tests[] = {
    T_TEST(bad_samples_are_replaced_by_others_of_the_set),
    T_TEST(replacements_are_the_same_for_any_world),
    T_TEST(replacements_stay_within_a_split),
    T_TEST(after_eight_tries_a_row_is_left_zero),
    T_TEST(running_out_of_memory_while_replacing_ends_the_run),
    T_END,
};
