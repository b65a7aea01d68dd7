/* SPDX-License-Identifier: Apache-2.0 */
/* Filters in trainings, validations and channels. */
#include <sluice/custom.h>

#include "collected_kit.h"
#include "loop_kit.h"
#include "testing.h"
#include "train_kit.h"

/* Keeps 46 of 70 samples. */
static sluice_status keep(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)user;
    *keep_out = sluice_sample_number(sample) % 3 != 0;
    return SLUICE_OK;
}

static sluice_dataset *filtered(const char *batch)
{
    sluice_dataset *dataset = NULL;
    sluice_filter filter;

    sluice_filter_init(&filter);
    filter.name = "third";
    filter.filter = keep;
    T_OK(sluice_dataset_parse("synthetic 70 6,6,3 5 | shuffle", &dataset));
    T_OK(sluice_dataset_filter(dataset, &filter));
    T_OK(sluice_dataset_add(dataset, batch));
    return dataset;
}

static void run_on(kit *k, const char *batch, sluice_mode mode, uint64_t epochs, uint64_t steps)
{
    collected_run(k, filtered(batch), mode, epochs, steps);
}

static void an_epoch_is_a_pass_of_the_samples_that_are_kept(void)
{
    kit first;

    run_on(&first, "batch 4", SLUICE_MODE_AUTO, 1, 0);
    T_EQ(first.count, 12);
    T_EQ(first.steps[11].valid_rows, 2);
    T_CONTAINS(first.plan, "steps until the pass ends of batches of 4 that filters keep");
    for (size_t i = 1; i < COLLECTED_MODES; i++) {
        kit k;

        run_on(&k, "batch 4", collected_modes[i], 1, 0);
        T_EQ(k.count, 12);
        kit_check_same(&first, &k, 0, 12);
        collected_done(&k);
    }
    collected_done(&first);
}

static void steps_go_on_in_the_next_pass(void)
{
    kit first;

    run_on(&first, "batch 4 drop_remainder=true", SLUICE_MODE_AUTO, 0, 30);
    T_EQ(first.count, 30);
    T_EQ(first.steps[10].pass, 0);
    T_EQ(first.steps[11].pass, 1);
    T_EQ(first.steps[22].pass, 2);
    for (size_t i = 1; i < COLLECTED_MODES; i++) {
        kit k;

        run_on(&k, "batch 4 drop_remainder=true", collected_modes[i], 0, 30);
        kit_check_same(&first, &k, 0, 30);
        collected_done(&k);
    }
    collected_done(&first);
}

static void passes_that_may_be_padded_are_refused(void)
{
    kit k;

    kit_init(&k);
    k.dataset = filtered("batch 4");
    k.config.epochs = 1;
    kit_run(&k);
    T_STATUS(k.status, SLUICE_E_INVALID);
    T_CONTAINS(k.error, "the last batch of a dataset with a filter may be padded");
    collected_done(&k);
}

static void a_resumed_training_takes_the_same_steps(void)
{
    collected_check_resumes(filtered, "batch 4 drop_remainder=true");
}

static sluice_status note_samples(sluice_hook *hook, void *user)
{
    *(uint64_t *)user = hook->result_samples;
    return SLUICE_OK;
}

static void a_validation_has_the_samples_that_are_kept(void)
{
    sluice_dataset *dataset = filtered("batch 4");
    uint64_t samples = 0;
    const sluice_callback callback = {.validation = note_samples, .user = &samples};
    kit k;

    kit_init(&k);
    k.callbacks = &callback;
    k.callback_count = 1;
    k.pipeline = "synthetic 40 6,6,3 5 | batch 4 drop_remainder=true";
    k.config.epochs = 1;
    kit_validate(&k, dataset);
    k.validation.every_epochs = 1;
    T_OK(kit_run(&k));
    T_EQ(samples, 46);
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

/* ---- channels -------------------------------------------------------------------------------- */

/* Rewound at any point, by any number of workers, padded or with a batch dropped. */
static void a_channel_ends_passes_and_is_rewound(void)
{
    static const char *const batches[] = {"batch 4", "batch 4 drop_remainder=true"};

    for (size_t b = 0; b < COUNT(batches); b++) {
        const size_t pass = b == 0 ? 12 : 11;
        kit k;

        run_on(&k, batches[b], SLUICE_MODE_LOOP, 0, 2 * pass);
        for (uint32_t i = 0; i < 30; i++) {
            loop_kit_check_rewinds(filtered(batches[b]), i, i % (pass + 1), k.steps,
                                   (size_t[]){pass, pass});
        }
        collected_done(&k);
    }
}

const t_test filter_train_tests[] = {
    T_TEST(an_epoch_is_a_pass_of_the_samples_that_are_kept),
    T_TEST(steps_go_on_in_the_next_pass),
    T_TEST(passes_that_may_be_padded_are_refused),
    T_TEST(a_resumed_training_takes_the_same_steps),
    T_TEST(a_validation_has_the_samples_that_are_kept),
    T_TEST(a_channel_ends_passes_and_is_rewound),
    T_END,
};
