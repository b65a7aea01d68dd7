/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_train() on streams of user code, with an end and without. */
#include "collected_kit.h"
#include "generator_kit.h"
#include "testing.h"

static generator shared;

/* The names that the kit's step reads. */
static sluice_dataset *make_shared(const char *stages)
{
    sluice_dataset *dataset =
        generator_dataset(&shared, "rename words image | rename image_length label");

    T_OK(sluice_dataset_add(dataset, stages));
    return dataset;
}

static sluice_dataset *endless(const char *batch)
{
    shared = (generator){.samples = 0};
    return make_shared(batch);
}

/* Passes of 23 samples, 25, 27, ... */
static sluice_dataset *ending(const char *batch)
{
    shared = (generator){.samples = 23, .varies_by = 2};
    return make_shared(batch);
}

static void compare_modes(sluice_dataset *(*make)(const char *), uint64_t epochs, uint64_t steps,
                          uint64_t want)
{
    kit first;

    collected_run(&first, make("batch 4"), SLUICE_MODE_AUTO, epochs, steps);
    T_EQ(first.count, want);
    for (size_t i = 1; i < COLLECTED_MODES; i++) {
        kit k;

        collected_run(&k, make("batch 4"), collected_modes[i], epochs, steps);
        kit_check_same(&first, &k, 0, want);
        collected_done(&k);
        T_EQ(atomic_load(&shared.open), 0);
    }
    collected_done(&first);
}

static void an_epoch_is_a_pass_of_the_stream(void)
{
    compare_modes(ending, 1, 0, 6);
}

static void steps_go_on_in_the_next_pass(void)
{
    kit k;

    compare_modes(ending, 0, 20, 20);
    collected_run(&k, ending("batch 4"), SLUICE_MODE_LOOP, 0, 20);
    T_EQ(k.steps[5].pass, 0);
    T_EQ(k.steps[5].valid_rows, 3);
    T_EQ(k.steps[6].pass, 1);
    T_EQ(k.steps[12].valid_rows, 1);
    T_EQ(k.steps[13].pass, 2);
    collected_done(&k);
}

static void an_endless_stream_runs_in_every_mode_with_a_number_of_steps(void)
{
    compare_modes(endless, 0, 17, 17);
}

static void epochs_of_a_fixed_length_need_no_end(void)
{
    kit k;

    kit_init(&k);
    k.dataset = endless("batch 4");
    k.config.epochs = 3;
    k.config.sink_size = 5;
    k.model.reads_valid_rows = true;
    T_OK(kit_run(&k));
    T_EQ(k.count, 15);
    T_EQ(k.hook_calls[KIT_EPOCH_END], 3);
    collected_done(&k);
}

static void a_resumed_training_takes_the_same_steps(void)
{
    collected_check_resumes(endless, "shuffle buffer=7 | batch 4 drop_remainder=true");
    collected_check_resumes(ending, "batch 4 drop_remainder=true");
}

static sluice_status save_nothing(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

static void a_check_needs_open_pass(void)
{
    sluice_source source;
    kit k;

    shared = (generator){.samples = 23};
    source = generator_source(&shared);
    source.open_pass = NULL;
    source.close_pass = NULL;
    kit_init(&k);
    k.dataset = custom_dataset(&source, "rename words image | rename image_length label | batch 4");
    k.config.check = true;
    k.config.max_steps = 3;
    k.config.epochs = 0;
    k.model.reads_valid_rows = true;
    k.model.save = save_nothing;
    k.model.load = save_nothing;
    kit_run(&k);
    T_STATUS(k.status, SLUICE_E_UNSUPPORTED);
    T_CONTAINS(k.error, "a stream without open_pass()");
    collected_done(&k);
}

const t_test custom_stream_train_tests[] = {
    T_TEST(an_epoch_is_a_pass_of_the_stream),
    T_TEST(steps_go_on_in_the_next_pass),
    T_TEST(an_endless_stream_runs_in_every_mode_with_a_number_of_steps),
    T_TEST(epochs_of_a_fixed_length_need_no_end),
    T_TEST(a_resumed_training_takes_the_same_steps),
    T_TEST(a_check_needs_open_pass),
    T_END,
};
