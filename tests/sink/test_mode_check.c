/* SPDX-License-Identifier: Apache-2.0 */
/* Check mode: what it finds, what it leaves alone, what it leaves behind. */
#include <stdlib.h>

#include "alloc_int.h"
#include "checked_run.h"
#include "ranks_kit.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* Lets the kit forget what it was told in the check. */
static void begin_anew(kit *k)
{
    sli_text_free(&k->events);
    sli_text_add(&k->events, "train_begin\n");
    k->count = 0;
    k->step_ends = 0;
    atomic_store(&k->calls, 0);
    memset(k->hook_calls, 0, sizeof(k->hook_calls));
    k->hook_calls[KIT_TRAIN_BEGIN] = 1;
}

/* ---- what passes ----------------------------------------------------------------------------- */

static void check_the_same(kit *plain, kit *k)
{
    const char *rest = strchr(k->events.data, '\n');
    const char *plain_rest = strchr(plain->events.data, '\n');

    kit_check(k);
    kit_check_same(plain, k, 0, plain->count);
    for (size_t i = 0; i < plain->count; i++) {
        T_EQ(k->steps[i].epoch, plain->steps[i].epoch);
    }
    CU_ASSERT_PTR_NOT_NULL_FATAL(rest);
    CU_ASSERT_PTR_NOT_NULL_FATAL(plain_rest);
    T_STR(rest, plain_rest);
    T_EQ(k->report->stats.digest, plain->report->stats.digest);
    T_EQ(k->report->stats.launches, plain->report->stats.launches);
    T_EQ(k->report->stats.epochs, plain->report->stats.epochs);
}

/* One mode and one device, checked and not. Mode auto: without sinks. */
static void compare_with_unchecked(sluice_mode mode, const char *device, uint32_t micro)
{
    const bool direct = mode == SLUICE_MODE_DIRECT || mode == SLUICE_MODE_AUTO;
    checked_run plain;
    checked_run s;

    checked_init(&plain);
    checked_init(&s);
    plain.kit.config.check = false;
    for (int i = 0; i < 2; i++) {
        kit *k = i == 0 ? &plain.kit : &s.kit;

        k->device = device;
        k->config.mode = mode;
        k->config.dataset_sink_mode = mode != SLUICE_MODE_AUTO;
        k->config.micro_batches = micro;
        k->config.seed = 5;
    }
    T_OK(kit_run(&plain.kit));
    s.kit.act_in = KIT_TRAIN_BEGIN;
    s.kit.act_at = direct ? 2 : 3; /* the runs of the check */
    s.kit.act = begin_anew;
    T_OK(kit_run(&s.kit));
    check_the_same(&plain.kit, &s.kit);
    T_EQ(s.saves, 1);
    T_EQ(s.loads, direct ? 2 : 3);
    T_EQ(plain.saves + plain.loads, 0);
    checked_fini(&s);
    checked_fini(&plain);
}

static void a_good_step_passes_and_trains_as_without(void)
{
    static const char *const devices[] = {"host:0", "host:0,copy=1,latency_us=300"};

    for (size_t d = 0; d < COUNT(devices); d++) {
        compare_with_unchecked(SLUICE_MODE_AUTO, devices[d], 1);
        for (size_t m = 0; m < COUNT(modes); m++) {
            compare_with_unchecked(modes[m], devices[d], 1);
            compare_with_unchecked(modes[m], devices[d], 3);
        }
    }
}

/* The first sink, at most 16 steps, at least 2 where there are; three times. */
static void as_many_steps_are_compared_as_the_first_sink_has(void)
{
    static const struct {
        int64_t sink_size;
        uint64_t max_steps;
        uint32_t capacity;
        uint64_t steps;
    } cases[] = {{30, 0, 0, 16}, {5, 0, 0, 5}, {1, 0, 0, 2}, {30, 1, 0, 1}, {-1, 7, 3, 7}};

    for (size_t c = 0; c < COUNT(cases); c++) {
        char line[80];
        checked_run s;

        checked_init(&s);
        s.kit.config.sink_size = cases[c].sink_size;
        s.kit.config.max_steps = cases[c].max_steps;
        s.kit.config.output_capacity = cases[c].capacity;
        kit_log_start(NULL, NULL);
        sluice_log_set_level(SLUICE_LOG_INFO);
        T_OK(kit_run(&s.kit));
        sluice_log_set_level(SLUICE_LOG_WARN);
        snprintf(line, sizeof(line), "check: %llu steps are the same in direct and loop mode\n",
                 (unsigned long long)cases[c].steps);
        T_CONTAINS(kit_log_stop(), line);
        T_EQ(atomic_load(&s.kit.calls), 3 * cases[c].steps + s.kit.report->stats.steps);
        checked_fini(&s);
    }
}

/* Where a resumed run goes on, and what it saves, is as without. */
static void a_resumed_run_is_checked_where_it_goes_on(void)
{
    char folder[300];
    checked_run s;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    checked_init(&s);
    for (int part = 0; part < 2; part++) {
        s.kit.checkpoint =
            (sluice_checkpointing){.folder = folder, .every_steps = 20, .resume = true};
        s.kit.config.max_steps = part == 0 ? 50 : 0;
        s.kit.act_in = KIT_TRAIN_BEGIN;
        s.kit.act_at = 3;
        s.kit.act = begin_anew;
        T_OK(kit_run(&s.kit));
        T_EQ(s.kit.report->stats.checkpoints, 3); /* 20 40 50; 60 80 90 */
        T_EQ(s.kit.report->stats.first_step, part == 0 ? 0 : 50);
        T_EQ(s.kit.steps[0].step, part == 0 ? 0 : 50);
        T_EQ(s.kit.count, part == 0 ? 50 : 40);
    }
    T_EQ(s.loads, 3 + 1 + 3);
    checked_fini(&s);
}

/* A run that is done already has nothing to compare. */
static void a_run_of_no_steps_is_not_checked(void)
{
    char folder[300];
    checked_run s;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    checked_init(&s);
    s.kit.checkpoint = (sluice_checkpointing){.folder = folder, .resume = true};
    T_OK(kit_run(&s.kit));
    s.loads = 0;
    T_OK(kit_run(&s.kit));
    T_EQ(s.loads, 1); /* the checkpoint */
    T_EQ(s.kit.report->stats.steps, 0);
    checked_fini(&s);
}

/* ---- what is found --------------------------------------------------------------------------- */

/* Loads nothing. */
static sluice_status forget(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

static void a_load_that_forgets_something_is_found(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        checked_run s;

        checked_init(&s);
        s.kit.config.mode = modes[m];
        s.kit.model.load = forget;
        T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
        T_CONTAINS(s.kit.error, "check: step 0: two runs in direct mode from the same saved model "
                                "give loss 0.");
        T_CONTAINS(s.kit.error, "model.load does not restore all");
        checked_fini(&s);
    }
}

/* Wrong: a number that nothing restores. */
static void use_calls(kit *k, const sluice_step *step)
{
    step->outputs[1] = *step->step >= 3 ? (float)atomic_load(&k->calls) : 0;
}

static void a_step_that_is_not_the_same_again_is_found(void)
{
    checked_run s;

    checked_init(&s);
    s.kit.in_step = use_calls;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error, "check: step 3: two runs in direct mode from the same saved model give "
                            "label 4 and 20: ");
    checked_fini(&s);
}

/* Bit for bit: numbers that are none, but are the same, are no difference. */
static void give_no_number(kit *k, const sluice_step *step)
{
    static const uint32_t bits[] = {0x7FC00000, 0x7FC00001};
    const bool other = atomic_load(&k->calls) > 16 && k->step_at == 0;

    memcpy(step->outputs, &bits[other], sizeof(bits[0]));
}

static void numbers_that_are_none_are_compared_by_their_bits(void)
{
    checked_run s;

    checked_init(&s);
    s.kit.in_step = give_no_number;
    T_STATUS(kit_run(&s.kit), SLUICE_E_NAN);
    T_CONTAINS(s.kit.error, "check, in direct mode: step 0: ");
    s.kit.config.nan_guard = SLUICE_NAN_COUNT;
    T_OK(kit_run(&s.kit));
    s.kit.step_at = 0;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error, "give loss nan (0x7fc00000) and nan (0x7fc00001)");
    checked_fini(&s);
}

/* ---- what fails, what ends ------------------------------------------------------------------- */

static void save_and_load_are_needed(void)
{
    checked_run s;

    checked_init(&s);
    s.kit.model.load = NULL;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_STR(s.kit.error, "model.load is NULL, which config.check needs");
    s.kit.model.save = NULL;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_STR(s.kit.error, "model.save is NULL, which config.check needs");
    checked_fini(&s);
}

static void a_save_or_load_that_fails_ends_the_run(void)
{
    for (uint64_t call = 0; call < 3; call++) {
        checked_run s;

        checked_init(&s);
        s.fails_at = call;
        s.saves = call > 0 ? 10 : 0; /* then only load fails */
        T_STATUS(kit_run(&s.kit), SLUICE_E_CALLBACK);
        T_CONTAINS(s.kit.error,
                   call == 0 ? "model.save returned E_CALLBACK" : "model.load returned E_CALLBACK");
        T_CONTAINS(s.kit.error, call == 0 ? ": no room" : ": no weights");
        T_CONTAINS(s.kit.error, s.folder);
        T_EQ(s.kit.report->stats.steps, 0);
        checked_fini(&s);
    }
}

static void a_folder_that_cannot_be_made_ends_the_run(void)
{
    checked_run s;

    checked_init(&s);
    setenv("TMPDIR", t_path(s.folder, "nowhere"), 1);
    T_STATUS(kit_run(&s.kit), SLUICE_E_IO);
    T_CONTAINS(s.kit.error, "check: cannot make a folder in ");
    T_CONTAINS(s.kit.error, "nowhere (TMPDIR): ");
    T_EQ(s.saves, 0);
    checked_fini(&s);
}

/* The step in the first run of the check, the step in its last, a hook. */
static void a_step_or_hook_that_fails_ends_the_run(void)
{
    static const struct {
        uint64_t step_at;
        uint64_t act_at;
        const char *error;
    } cases[] = {
        {5, UINT64_MAX, "check, in direct mode: step 5: the step function returned E_CALLBACK"},
        {32 + 5, UINT64_MAX, "check, in loop mode: step 5: the step function returned E_CALLBACK"},
        {UINT64_MAX, 2, "check, in direct mode: hook step_end of callback 0 returned E_CALLBACK"},
    };

    for (size_t c = 0; c < COUNT(cases); c++) {
        checked_run s;

        checked_init(&s);
        s.kit.step_at = cases[c].step_at;
        s.kit.step_answer = SLUICE_E_CALLBACK;
        s.kit.act_in = KIT_STEP_END;
        s.kit.act_at = cases[c].act_at;
        s.kit.act_answer = SLUICE_E_CALLBACK;
        T_STATUS(kit_run(&s.kit), SLUICE_E_CALLBACK);
        T_CONTAINS(s.kit.error, cases[c].error);
        T_EQ(s.kit.report->stats.steps, 0);
        T_TRUE(s.kit.state == 0);
        checked_fini(&s);
    }
}

/* By the step, by a token: nothing is trained, the model is as it was. */
static void who_asks_to_stop_in_the_check_stops_the_run(void)
{
    for (int who = 0; who < 2; who++) {
        checked_run s;

        checked_init(&s);
        s.kit.step_at = who == 0 ? 7 : UINT64_MAX;
        s.kit.step_answer = SLUICE_STOPPED;
        if (who == 1) {
            T_OK(sluice_stop_create(&s.kit.config.stop));
            sluice_stop_request(s.kit.config.stop);
        }
        T_STATUS(kit_run(&s.kit), SLUICE_STOPPED);
        T_EQ(atomic_load(&s.kit.calls), who == 0 ? 8 : 0);
        T_EQ(s.kit.report->stats.steps, 0);
        T_TRUE(s.kit.state == 0);
        sluice_stop_destroy(s.kit.config.stop);
        checked_fini(&s);
    }
}

static void memory_that_runs_out_ends_the_run_with_nothing_left(void)
{
    sluice_status st = SLUICE_E_NO_MEMORY;

    for (int64_t passes = 0; st != SLUICE_OK; passes += 3) {
        checked_run s;

        checked_init(&s);
        s.changes.records = kit_ignore; /* the kit's own take memory */
        s.kit.callbacks = &s.changes;
        s.kit.callback_count = 1;
        s.kit.config.max_steps = 3;
        s.kit.config.workers = 1;
        sli_alloc_fail_after(passes);
        st = kit_run(&s.kit);
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        checked_fini(&s);
    }
}

/* ---- several ranks -------------------------------------------------------------------------- */

/* As one of two, without a way to agree: the check alone would stop. */
static void of_several_ranks_none_may_stop_in_the_check(void)
{
    checked_run s;

    checked_init(&s);
    s.kit.config.world = 2;
    s.kit.config.nan_guard = SLUICE_NAN_COUNT;
    s.kit.step_at = 3;
    s.kit.step_answer = SLUICE_STOPPED;
    T_STATUS(kit_run(&s.kit), SLUICE_E_INVALID);
    T_CONTAINS(s.kit.error,
               "check, in direct mode: a hook or the step asked to stop one of 2 ranks");
    T_CONTAINS(s.kit.error, "in a check or a validation none may stop");
    checked_fini(&s);
}

static int train_with(ranks_member *me, void (*in_step)(kit *k, const sluice_step *step))
{
    checked_run s;
    sluice_status st;

    memset((void *)&s, 0, sizeof(s));
    kit_init(&s.kit);
    s.fails_at = UINT64_MAX;
    s.kit.user = &s;
    s.kit.model.save = checked_save;
    s.kit.model.load = checked_load;
    s.kit.config.check = true;
    s.kit.config.max_steps = 5;
    s.kit.config.agree = ranks_agree;
    s.kit.config.agree_user = me;
    s.kit.in_step = in_step;
    st = kit_run(&s.kit);
    kit_fini(&s.kit);
    return st == SLUICE_OK ? 0 : st == SLUICE_E_INVALID ? 1 : st == SLUICE_E_RANK ? 2 : 3;
}

static int train(ranks_member *me)
{
    return train_with(me, NULL);
}

/* The step of rank 1 depends on how often it was called. */
static int train_wrong(ranks_member *me)
{
    return train_with(me, me->rank == 1 ? use_calls : NULL);
}

static void ranks_check_alone_and_end_together(void)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        ranks_kit ranks;

        ranks_start(&ranks, 2, 0, wrong ? train_wrong : train);
        T_TRUE(ranks_join(&ranks));
        T_EQ(ranks.exits[0], wrong ? 2 : 0);
        T_EQ(ranks.exits[1], wrong ? 1 : 0);
        ranks_end(&ranks);
    }
}

const t_test mode_check_tests[] = {
    T_HOST_TEST(a_good_step_passes_and_trains_as_without),
    T_TEST(as_many_steps_are_compared_as_the_first_sink_has),
    T_TEST(a_resumed_run_is_checked_where_it_goes_on),
    T_TEST(a_run_of_no_steps_is_not_checked),
    T_TEST(a_load_that_forgets_something_is_found),
    T_TEST(a_step_that_is_not_the_same_again_is_found),
    T_TEST(numbers_that_are_none_are_compared_by_their_bits),
    T_TEST(save_and_load_are_needed),
    T_TEST(a_save_or_load_that_fails_ends_the_run),
    T_TEST(a_folder_that_cannot_be_made_ends_the_run),
    T_HOST_TEST(a_step_or_hook_that_fails_ends_the_run),
    T_HOST_TEST(who_asks_to_stop_in_the_check_stops_the_run),
    T_TEST(memory_that_runs_out_ends_the_run_with_nothing_left),
    T_HOST_TEST(of_several_ranks_none_may_stop_in_the_check),
    T_TEST(ranks_check_alone_and_end_together),
    T_END,
};
