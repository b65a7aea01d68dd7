/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: what a resumed run does, what is kept, what is refused. */
#include <sys/stat.h>
#include <unistd.h>

#include "log_kit.h"
#include "stream_kit.h"
#include "testing.h"
#include "train_kit.h"
#include "train_state.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* ---- a model that can be saved --------------------------------------------------------------- */

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    T_EQ(rank, 0);
    T_EQ(world, 1);
    return kit_save_state(user, folder);
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)rank;
    (void)world;
    return kit_load_state(user, folder);
}

static sluice_status fail(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_E_CALLBACK;
}

/* 250 steps of 100 a pass, in sinks of 30, with a checkpoint every 20 steps. */
static void init(kit *k, const char *folder)
{
    kit_init(k);
    k->model.save = save;
    k->model.load = load;
    k->config.sink_size = 30;
    k->config.epochs = 0;
    k->config.max_steps = 250;
    k->checkpoint.folder = folder;
    k->checkpoint.every_steps = 20;
    k->checkpoint.resume = true;
}

static bool is_there(const char *folder, const char *name)
{
    return access(t_path(folder, name), F_OK) == 0;
}

/* A folder with checkpoints of a run that ended after 50 steps; its name is good for the test. */
static void begin(char folder[300])
{
    kit k;

    snprintf(folder, 300, "%s/c", t_folder());
    init(&k, folder);
    k.config.max_steps = 50;
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.checkpoints, 3); /* 20, 40, and 50 at the end */
    kit_fini(&k);
}

/* ---- going on -------------------------------------------------------------------------------- */

/* The steps of `b` and what they gave are those of `a` from its step `from` on. */
static void check_goes_on(const kit *a, const kit *b, size_t from)
{
    kit_check_same(a, b, from, a->count - from);
    for (size_t i = 0; i < b->count; i++) {
        T_EQ(memcmp(b->steps[i].outputs, a->steps[from + i].outputs, sizeof(a->steps[0].outputs)),
             0);
    }
}

static void a_resumed_run_goes_on_exactly(void)
{
    kit whole;

    init(&whole, NULL);
    whole.checkpoint = (sluice_checkpointing){.folder = NULL};
    T_OK(kit_run(&whole));
    for (size_t m = 0; m < COUNT(modes); m++) {
        const uint64_t parts[] = {1, 33, 66, 150}; /* mid-sink, and twice in one pass */
        char folder[300];
        uint64_t done = 0;

        snprintf(folder, sizeof(folder), "%s/c", t_folder());
        for (size_t i = 0; i < COUNT(parts); i++) {
            kit k;

            init(&k, folder);
            k.config.mode = modes[(m + i) % COUNT(modes)]; /* another mode each time */
            k.config.sink_size = i == 2 ? -1 : 7 + (int64_t)i;
            k.config.workers = (uint32_t)(1 + i);
            k.config.max_steps = parts[i];
            T_OK(kit_run(&k));
            T_EQ(k.report->stats.first_step, done);
            T_EQ(k.steps[0].step, done);
            T_EQ(memcmp(k.steps[k.count - 1].outputs, whole.steps[done + parts[i] - 1].outputs,
                        sizeof(k.steps[0].outputs)),
                 0);
            done += parts[i];
            if (i + 1 == COUNT(parts)) {
                check_goes_on(&whole, &k, 100);
            }
            kit_fini(&k);
        }
    }
    kit_fini(&whole);
}

static void a_run_that_is_stopped_saves_its_last_step(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    init(&k, folder);
    k.step_at = 73;
    k.step_answer = SLUICE_STOPPED;
    T_STATUS(kit_run(&k), SLUICE_STOPPED);
    T_TRUE(is_there(folder, "step-000000000074/DONE"));
    kit_fini(&k);
}

static void a_run_that_fails_does_not(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    init(&k, folder);
    k.step_at = 73;
    k.step_answer = SLUICE_E_CALLBACK;
    T_STATUS(kit_run(&k), SLUICE_E_CALLBACK);
    T_TRUE(is_there(folder, "step-000000000060/DONE"));
    T_TRUE(!is_there(folder, "step-000000000074"));
    kit_fini(&k);
}

/* Trains for three epochs, twice; the second run says that nothing is left. */
static void train_twice(const char *folder, const char *pipeline, int64_t sink_size, uint64_t steps)
{
    for (int i = 0; i < 2; i++) {
        const char *log;
        kit k;

        init(&k, folder);
        k.pipeline = pipeline != NULL ? pipeline : k.pipeline;
        k.config.sink_size = sink_size;
        k.config.max_steps = 0;
        k.config.epochs = 3;
        kit_log_start(NULL, NULL);
        T_OK(kit_run(&k));
        log = kit_log_stop();
        T_EQ(k.count, i == 0 ? steps : 0);
        T_EQ(k.report->stats.steps, i == 0 ? steps : 0);
        T_EQ(k.report->stats.first_step, i == 0 ? 0 : steps);
        T_EQ(k.hook_calls[KIT_TRAIN_END], 1);
        T_EQ(kit_log_count(SLUICE_LOG_WARN), (unsigned)i);
        if (i > 0) {
            char said[80];

            snprintf(said, sizeof(said), "complete at step %u; nothing to do", (unsigned)steps);
            T_CONTAINS(log, said);
        }
        kit_fini(&k);
    }
}

static void a_run_that_is_done_is_done_when_it_is_started_again(void)
{
    const char *base = t_folder();
    char folder[300];
    char text[500];

    snprintf(folder, sizeof(folder), "%s/c", base);
    train_twice(folder, NULL, 30, 90);
    make_image_shard(t_path(base, "x.tar"), 0, 9); /* passes of unknown length */
    snprintf(folder, sizeof(folder), "%s/unknown", base);
    snprintf(
        text, sizeof(text),
        "webdataset %s/x.tar access=stream | decode | resize 4,4 | batch 2 drop_remainder=true",
        base);
    train_twice(folder, text, -1, 12);
}

/* No step, and not complete either. */
static void a_resumed_run_without_time_is_not_done(void)
{
    char folder[300];

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    for (int i = 0; i < 2; i++) {
        kit k;

        init(&k, folder);
        k.config.max_steps = i == 0 ? 60 : 0;
        k.config.epochs = 3;
        k.config.max_seconds = i == 0 ? 0 : 1e-9;
        kit_log_start(NULL, NULL);
        T_OK(kit_run(&k));
        T_TRUE(strstr(kit_log_stop(), "nothing to do") == NULL);
        T_EQ(k.report->stats.steps, i == 0 ? 60 : 0);
        T_EQ(k.report->stats.first_step, i == 0 ? 0 : 60);
        kit_fini(&k);
    }
}

static void without_a_checkpoint_a_run_begins_at_the_beginning(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    mkdir(folder, 0777);
    init(&k, folder);
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.first_step, 0);
    T_EQ(k.count, 250);
    kit_fini(&k);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static void the_newest_are_kept(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    init(&k, folder);
    k.checkpoint.keep = 2;
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.checkpoints, 13);
    T_TRUE(is_there(folder, "step-000000000250/DONE"));
    T_TRUE(is_there(folder, "step-000000000250/sluice_state"));
    T_TRUE(is_there(folder, "step-000000000240/inner/state"));
    T_TRUE(!is_there(folder, "step-000000000220"));
    T_TRUE(!is_there(folder, "step-000000000020"));
    T_TRUE(!is_there(folder, ".partial-step"));
    kit_fini(&k);
}

static void sinks_end_where_a_checkpoint_is_due(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    init(&k, folder);
    k.config.max_steps = 65;
    T_OK(kit_run(&k));
    for (size_t i = 0; i < 6; i++) { /* of the sinks of 30: 20 10 | 10 20 | 5 */
        const char *const want[] = {"step_begin 0+20\n",  "step_begin 20+10\n",
                                    "step_begin 30+10\n", "step_begin 40+20\n",
                                    "step_begin 60+5\n",  "epoch_begin 60+0\n"};

        T_CONTAINS(k.events.data, want[i]);
    }
    T_EQ(k.hook_calls[KIT_EPOCH_BEGIN], 3);
    T_EQ(k.hook_calls[KIT_EPOCH_END], 3);
    T_EQ(k.report->stats.launches - k.report->stats.yields, 5);
    kit_fini(&k);
}

static void checkpoints_can_follow_epochs(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    init(&k, folder);
    k.checkpoint.every_steps = 0;
    k.checkpoint.every_epochs = 2;
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.checkpoints, 5); /* 60, 120, 180, 240, 250 */
    T_TRUE(is_there(folder, "step-000000000240/DONE"));
    kit_fini(&k);
}

/* ---- what kills leave ------------------------------------------------------------------------ */

static void only_complete_checkpoints_count(void)
{
    /* What others have put there is nobody's to remove. */
    static const char *const others[] = {"notes",
                                         "step-9x/DONE",
                                         "step-99999999999999999999999/DONE",
                                         "step-7/sluice_state",
                                         "step-000000000007/weights",
                                         "step-000000000050x/sluice_state"};
    char folder[300];
    kit k;

    begin(folder);
    T_EQ(unlink(t_path(folder, "step-000000000050/DONE")), 0); /* killed before it was done */
    t_write_file(t_path(folder, ".partial-step/inner/half"), "x", 1);
    t_write_file(t_path(folder, ".removed-step/inner/half"), "x", 1);
    for (size_t i = 0; i < COUNT(others); i++) {
        t_write_file(t_path(folder, others[i]), "mine", 4);
    }
    init(&k, folder);
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.first_step, 40);
    T_TRUE(!is_there(folder, ".partial-step"));
    T_TRUE(!is_there(folder, ".removed-step"));
    for (size_t i = 0; i < COUNT(others); i++) {
        T_TRUE(is_there(folder, others[i]));
    }
    kit_fini(&k);
}

static void what_is_no_checkpoint_is_not_overwritten(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    t_write_file(t_path(folder, "step-000000000020/mine"), "x", 1);
    init(&k, folder);
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_CONTAINS(k.error, "cannot complete");
    T_TRUE(is_there(folder, "step-000000000020/mine"));
    kit_fini(&k);
}

static void a_checkpoint_is_written_anew_over_one_that_is_not_done(void)
{
    char folder[300];
    kit k;

    begin(folder);
    T_EQ(unlink(t_path(folder, "step-000000000050/DONE")), 0);
    init(&k, folder);
    k.config.max_steps = 10; /* from 40 on */
    T_OK(kit_run(&k));
    T_TRUE(is_there(folder, "step-000000000050/DONE"));
    kit_fini(&k);
}

/* ---- what is refused ------------------------------------------------------------------------- */

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

    begin(folder);
    init(&k, folder);
    k.checkpoint.resume = false;
    check_refused(&k, SLUICE_E_INVALID, "holds checkpoints already");
    T_TRUE(is_there(folder, "step-000000000050/DONE"));
}

static void checkpoints_of_other_data_are_refused(void)
{
    char folder[300];
    kit k;

    begin(folder);
    init(&k, folder);
    k.pipeline = "synthetic samples=200 shape=4,4,3 | shuffle | batch 2";
    check_refused(&k, SLUICE_E_INVALID,
                  "the pipeline differs: there was \"random_horizontal_flip p=0.5 "
                  "offload=auto\" after shuffle; restore what it was");
    init(&k, folder);
    k.pipeline = "synthetic samples=202 shape=4,4,3 | shuffle | random_horizontal_flip | batch 2";
    check_refused(&k, SLUICE_E_INVALID, "the number of samples was 200 and is 202 now");
    init(&k, folder);
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

    init(&whole, NULL);
    whole.checkpoint = (sluice_checkpointing){.folder = NULL};
    whole.pipeline = pipelines[0];
    T_OK(kit_run(&whole));
    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    for (int i = 0; i < 2; i++) {
        init(&k, folder);
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

    begin(folder);
    for (size_t i = 0; i < COUNT(states); i++) {
        t_write_file(t_path(folder, "step-000000000050/sluice_state"), states[i],
                     strlen(states[i]));
        init(&k, folder);
        check_refused(&k, SLUICE_E_CORRUPT, "cannot resume from");
    }
    t_write_file(t_path(folder, "step-000000000050/sluice_state"), later, strlen(later));
    init(&k, folder);
    check_refused(&k, SLUICE_E_UNSUPPORTED, "sluice_state is of version 9");
    T_EQ(unlink(t_path(folder, "step-000000000050/sluice_state")), 0);
    init(&k, folder);
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

static void a_save_that_fails_ends_the_run(void)
{
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    init(&k, folder);
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

    begin(folder);
    init(&k, folder);
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

    begin(folder);
    init(&k, folder);
    k.model.load = fail_aloud;
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_CONTAINS(k.error, "model.load returned E_IO: no weight in ");
    kit_fini(&k);
    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    init(&k, folder);
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
    init(&k, t_path(folder, "file"));
    check_refused(&k, SLUICE_E_IO, "/file: Not a directory");
    init(&k, "/nowhere/at/all");
    check_refused(&k, SLUICE_E_IO, "cannot make /nowhere/at/all: No such file");
}

static void settings_that_make_no_sense_are_refused(void)
{
    kit k;

    init(&k, NULL);
    check_refused(&k, SLUICE_E_INVALID, "checkpoint.folder is NULL");
    init(&k, "x");
    k.model.save = NULL;
    check_refused(&k, SLUICE_E_INVALID, "model.save is NULL");
    init(&k, "x");
    k.model.load = NULL;
    check_refused(&k, SLUICE_E_INVALID, "model.load is NULL");
    init(&k, "x");
    k.checkpoint.every_epochs = 1;
    check_refused(&k, SLUICE_E_INVALID, "want one of them");
    init(&k, "x");
    k.config.start_step = 1;
    check_refused(&k, SLUICE_E_INVALID, "resume finds out");
    init(&k, "x");
    k.config.world = 2;
    check_refused(&k, SLUICE_E_INVALID, "checkpoints of 2 ranks need config.agree");
}

const t_test checkpoint_tests[] = {
    T_TEST(a_resumed_run_goes_on_exactly),
    T_HOST_TEST(a_run_that_is_stopped_saves_its_last_step),
    T_HOST_TEST(a_run_that_fails_does_not),
    T_TEST(a_run_that_is_done_is_done_when_it_is_started_again),
    T_TEST(a_resumed_run_without_time_is_not_done),
    T_TEST(without_a_checkpoint_a_run_begins_at_the_beginning),
    T_TEST(the_newest_are_kept),
    T_TEST(sinks_end_where_a_checkpoint_is_due),
    T_TEST(checkpoints_can_follow_epochs),
    T_TEST(only_complete_checkpoints_count),
    T_TEST(what_is_no_checkpoint_is_not_overwritten),
    T_TEST(a_checkpoint_is_written_anew_over_one_that_is_not_done),
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
