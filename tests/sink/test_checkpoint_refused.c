/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints, settings and folders that a run refuses, and a save or load that fails. */
#include <unistd.h>

#include "checkpoint_kit.h"
#include "testing.h"
#include "train_state.h"

static void check_refused(kit *k, sluice_status status, const char *why)
{
    T_STATUS(kit_run(k), status);
    T_CONTAINS(k->error, why);
    kit_fini(k);
}

static void a_new_run_wants_a_folder_of_its_own(void)
{
    char folder[300];
    kit k;

    begin_checkpoints(folder);
    checkpointed_init(&k, folder);
    k.checkpoint.resume = false;
    check_refused(&k, SLUICE_E_INVALID, "holds checkpoints already");
    T_TRUE(is_there(folder, "step-000000000050/DONE"));
}

static void checkpoints_of_other_data_are_refused(void)
{
    char folder[300];
    kit k;

    begin_checkpoints(folder);
    checkpointed_init(&k, folder);
    k.pipeline = "synthetic samples=200 shape=4,4,3 | shuffle | batch 2";
    check_refused(&k, SLUICE_E_INVALID,
                  "the pipeline differs: there was \"random_horizontal_flip p=0.5 "
                  "offload=auto\" after shuffle; restore the earlier value");
    checkpointed_init(&k, folder);
    k.pipeline = "synthetic samples=202 shape=4,4,3 | shuffle | random_horizontal_flip | batch 2";
    check_refused(&k, SLUICE_E_INVALID, "the number of samples was 200 and is 202 now");
    checkpointed_init(&k, folder);
    k.config.seed = 5;
    check_refused(&k, SLUICE_E_INVALID, "the seed was 0 and is 5 now");
}

/* Where conversions are done, and where to_chw and a mirror stand, changes no bit. */
static void changes_that_keep_the_bits_are_not_refused(void)
{
    static const char *const pipelines[] = {
        "synthetic samples=200 shape=4,4,3 | shuffle | random_horizontal_flip | normalize 0.5 0.5 "
        "offload=host | to_chw | batch 2",
        "synthetic samples=200 shape=4,4,3 | to_chw offload=device | normalize 0.5 0.5 range=1 "
        "offload=device | random_horizontal_flip p=0.5 | shuffle seed=run | batch 2",
    };
    char folder[300];
    kit whole;
    kit k;

    checkpointed_init(&whole, NULL);
    whole.checkpoint = (sluice_checkpointing){.folder = NULL};
    whole.pipeline = pipelines[0];
    T_OK(kit_run(&whole));
    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    for (int i = 0; i < 2; i++) {
        checkpointed_init(&k, folder);
        k.pipeline = pipelines[i];
        k.config.max_steps = 50;
        T_OK(kit_run(&k));
        kit_check_same(&whole, &k, (size_t)50 * (size_t)i, 50);
        kit_fini(&k);
    }
    kit_fini(&whole);
}

static void states_that_are_damaged_are_refused(void)
{
    static const char *const states[] = {
        "",
        "sluice_state\n",
        "sluice_state 2",
        "sluice_state 2\nstep 5\n",
        "sluice_state 2\nstep 99999999999999999999\n",
        "sluice_state 2\nstep -5\npass 0\n",
        "sluice_state 2\nstep 5\npass 0\ndone 0\nseed 0\nbatch 2\nworld 1\nbest_name 0\nbest_step "
        "0\nbest_value 0\nsamples 200\nnames "
        "1\nstages x",
        "sluice_state 2\nstep 5\npass 0\ndone 0\nseed 0\nbatch 2\nworld 1\nbest_name 0\nbest_step "
        "0\nbest_value 0\nsamples 200\nnames "
        "1\nstages x\ny\n",
    };
    const char *later = "sluice_state 9\ncrc32c 2eedddb0\n";
    char folder[300];
    kit k;

    begin_checkpoints(folder);
    for (size_t i = 0; i < COUNT(states); i++) {
        t_write_file(t_path(folder, "step-000000000050/sluice_state"), states[i],
                     strlen(states[i]));
        checkpointed_init(&k, folder);
        check_refused(&k, SLUICE_E_CORRUPT, "cannot resume from");
    }
    t_write_file(t_path(folder, "step-000000000050/sluice_state"), later, strlen(later));
    checkpointed_init(&k, folder);
    check_refused(&k, SLUICE_E_UNSUPPORTED,
                  "sluice_state is of version 9, this library reads versions 2 to 3; continue with "
                  "the version that wrote it");
    T_EQ(unlink(t_path(folder, "step-000000000050/sluice_state")), 0);
    checkpointed_init(&k, folder);
    check_refused(&k, SLUICE_E_CORRUPT, "sluice_state: No such file");
}

/* A state with each byte changed to each other: refused, or a state that prints and parses again.
 */
static void any_bytes_may_stand_in_a_state(void)
{
    const char *good = "sluice_state 2\nstep 50\npass 0\ndone 100\nseed 7\nbatch 2\nworld "
                       "1\nbest_name 0\nbest_step 0\nbest_value 0\nsamples 200\nnames 12\n"
                       "stages shuffle | batch 2\n";
    const size_t size = strlen(good);

    for (size_t i = 0; i <= size; i++) {
        for (int change = 0; change < 256; change++) {
            char bytes[300] = "";
            train_state state;
            train_state again;

            memcpy(bytes, good, size);
            bytes[i] = (char)change;
            if (train_state_parse(bytes, "x", &state) == SLUICE_OK) {
                sli_text text = {0};

                train_state_print(&state, &text);
                T_OK(train_state_parse(text.data, "x", &again));
                T_EQ(again.step, state.step);
                T_OK(train_state_compare(&again, &state));
                train_state_free(&again);
                sli_text_free(&text);
                train_state_free(&state);
            }
        }
    }
}

static sluice_status fail(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_E_CALLBACK;
}

static void a_save_that_fails_ends_the_run(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    checkpointed_init(&k, folder);
    k.model.save = fail;
    T_STATUS(kit_run(&k), SLUICE_E_CALLBACK);
    T_CONTAINS(k.error, ": model.save returned E_CALLBACK");
    T_EQ(k.count, 20);
    T_TRUE(!is_there(folder, "step-000000000020"));
    kit_fini(&k);
}

static void a_load_that_fails_ends_the_run(void)
{
    char folder[300];
    kit k;

    begin_checkpoints(folder);
    checkpointed_init(&k, folder);
    k.model.load = fail;
    T_STATUS(kit_run(&k), SLUICE_E_CALLBACK);
    T_CONTAINS(k.error, "step-000000000050: model.load returned E_CALLBACK");
    T_EQ(k.count, 0);
    kit_fini(&k);
}

static sluice_status fail_aloud(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)rank;
    (void)world;
    return sluice_fail(SLUICE_E_IO, "no weight in %s", folder);
}

static void a_save_or_load_that_fails_says_why(void)
{
    char folder[300];
    kit k;

    begin_checkpoints(folder);
    checkpointed_init(&k, folder);
    k.model.load = fail_aloud;
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_CONTAINS(k.error, "model.load returned E_IO: no weight in ");
    kit_fini(&k);
    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    checkpointed_init(&k, folder);
    k.model.save = fail_aloud;
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_CONTAINS(k.error, ": model.save returned E_IO: no weight in ");
    T_CONTAINS(k.error, ": no weight in ");
    kit_fini(&k);
}

static void folders_that_cannot_be_are_refused(void)
{
    const char *folder = t_folder();
    kit k;

    t_write_file(t_path(folder, "file"), "x", 1);
    checkpointed_init(&k, t_path(folder, "file"));
    check_refused(&k, SLUICE_E_IO, "/file: Not a directory");
    checkpointed_init(&k, "/nowhere/at/all");
    check_refused(&k, SLUICE_E_IO, "cannot make /nowhere/at/all: No such file");
}

static void settings_that_make_no_sense_are_refused(void)
{
    kit k;

    checkpointed_init(&k, NULL);
    check_refused(&k, SLUICE_E_INVALID, "checkpoint.folder is NULL");
    checkpointed_init(&k, "x");
    k.model.save = NULL;
    check_refused(&k, SLUICE_E_INVALID, "model.save is NULL");
    checkpointed_init(&k, "x");
    k.model.load = NULL;
    check_refused(&k, SLUICE_E_INVALID, "model.load is NULL");
    checkpointed_init(&k, "x");
    k.checkpoint.every_epochs = 1;
    check_refused(&k, SLUICE_E_INVALID, "set only one of them");
    checkpointed_init(&k, "x");
    k.config.start_step = 1;
    check_refused(&k, SLUICE_E_INVALID, "resume continues from");
    checkpointed_init(&k, "x");
    k.config.world = 2;
    check_refused(&k, SLUICE_E_INVALID, "checkpoints of 2 ranks need config.agree");
}

const t_test checkpoint_refused_tests[] = {
    T_TEST(a_new_run_wants_a_folder_of_its_own),
    T_TEST(checkpoints_of_other_data_are_refused),
    T_TEST(changes_that_keep_the_bits_are_not_refused),
    T_TEST(states_that_are_damaged_are_refused),
    T_TEST(any_bytes_may_stand_in_a_state),
    T_TEST(a_save_that_fails_ends_the_run),
    T_TEST(a_load_that_fails_ends_the_run),
    T_TEST(a_save_or_load_that_fails_says_why),
    T_TEST(folders_that_cannot_be_are_refused),
    T_TEST(settings_that_make_no_sense_are_refused),
    T_END,
};
