/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: what a resumed run does, and what is kept. */
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_kit.h"
#include "log_kit.h"
#include "stream_kit.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

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

    checkpointed_init(&whole, NULL);
    whole.checkpoint = (sluice_checkpointing){.folder = NULL};
    T_OK(kit_run(&whole));
    for (size_t m = 0; m < COUNT(modes); m++) {
        const uint64_t parts[] = {1, 33, 66, 150}; /* mid-sink, and twice in one pass */
        char folder[300];
        uint64_t done = 0;

        snprintf(folder, sizeof(folder), "%s/c", t_folder());
        for (size_t i = 0; i < COUNT(parts); i++) {
            kit k;

            checkpointed_init(&k, folder);
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
    const char *folder = t_file("c");
    kit k;

    checkpointed_init(&k, folder);
    k.step_at = 73;
    k.step_answer = SLUICE_STOPPED;
    T_STATUS(kit_run(&k), SLUICE_STOPPED);
    T_TRUE(is_there(folder, "step-000000000074/DONE"));
    kit_fini(&k);
}

static void a_run_that_fails_does_not(void)
{
    const char *folder = t_file("c");
    kit k;

    checkpointed_init(&k, folder);
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

        checkpointed_init(&k, folder);
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
    const char *folder = t_file("c");

    for (int i = 0; i < 2; i++) {
        kit k;

        checkpointed_init(&k, folder);
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
    const char *folder = t_file("c");
    kit k;

    mkdir(folder, 0777);
    checkpointed_init(&k, folder);
    T_OK(kit_run(&k));
    T_EQ(k.report->stats.first_step, 0);
    T_EQ(k.count, 250);
    kit_fini(&k);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static void the_newest_are_kept(void)
{
    const char *folder = t_file("c");
    kit k;

    checkpointed_init(&k, folder);
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
    const char *folder = t_file("c");
    kit k;

    checkpointed_init(&k, folder);
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
    const char *folder = t_file("c");
    kit k;

    checkpointed_init(&k, folder);
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

    begin_checkpoints(folder);
    T_EQ(unlink(t_path(folder, "step-000000000050/DONE")), 0); /* killed before it was done */
    t_write_file(t_path(folder, ".partial-step/inner/half"), "x", 1);
    t_write_file(t_path(folder, ".removed-step/inner/half"), "x", 1);
    for (size_t i = 0; i < COUNT(others); i++) {
        t_write_file(t_path(folder, others[i]), "mine", 4);
    }
    checkpointed_init(&k, folder);
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
    const char *folder = t_file("c");
    kit k;

    t_write_file(t_path(folder, "step-000000000020/mine"), "x", 1);
    checkpointed_init(&k, folder);
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_CONTAINS(k.error, "cannot complete");
    T_TRUE(is_there(folder, "step-000000000020/mine"));
    kit_fini(&k);
}

static void a_checkpoint_is_written_anew_over_one_that_is_not_done(void)
{
    char folder[300];
    kit k;

    begin_checkpoints(folder);
    T_EQ(unlink(t_path(folder, "step-000000000050/DONE")), 0);
    checkpointed_init(&k, folder);
    k.config.max_steps = 10; /* from 40 on */
    T_OK(kit_run(&k));
    T_TRUE(is_there(folder, "step-000000000050/DONE"));
    kit_fini(&k);
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
    T_END,
};
