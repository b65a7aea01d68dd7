/* SPDX-License-Identifier: Apache-2.0 */
/* The callback watchdog warns of a user callback that hangs. */
#include <stdlib.h>

#include "event_int.h"
#include "hooks.h"
#include "log_int.h"
#include "testing.h"
#include "train_kit.h"

/* Longest wait for a warning: none comes when it is reached. */
static const int64_t PATIENCE_NS = INT64_C(30000000000);

/* A function of the user's waits here until a message with these words has been logged. */
static struct {
    const char *words;
    _Atomic bool come;
    sli_event event;
} warning;

static bool has_come(void *arg)
{
    (void)arg;
    return atomic_load(&warning.come);
}

static void look_for_words(const char *message, void *user)
{
    (void)user;
    if (strstr(message, warning.words) != NULL) {
        atomic_store(&warning.come, true);
        sli_event_notify(&warning.event);
    }
}

static void expect(const char *words)
{
    warning.words = words;
    atomic_store(&warning.come, false);
    kit_log_start(look_for_words, NULL);
}

static bool await_warning(void)
{
    return sli_event_await(&warning.event, has_come, NULL, PATIENCE_NS);
}

static int count(const char *text, const char *words)
{
    int found = 0;

    for (const char *at = strstr(text, words); at != NULL; at = strstr(at + 1, words)) {
        found++;
    }
    return found;
}

/* ---- a poll ---------------------------------------------------------------------------------- */

static void warn_of_test(uint64_t detail, double seconds)
{
    sli_log(SLUICE_LOG_WARN, "call %llu has lasted for %.1f s", (unsigned long long)detail,
            seconds);
}

static void each_call_is_told_of_once_when_it_takes_too_long(void)
{
    watchdog w = {.warning_ns = 100};
    const char *log;

    expect("");
    watchdog_poll(&w, 1000);
    watchdog_poll(&w, 5000); /* the trainer is in no such function */
    watchdog_enter(&w, warn_of_test, 7);
    watchdog_poll(&w, 6000);
    watchdog_poll(&w, 6099);
    watchdog_leave(&w);
    watchdog_enter(&w, warn_of_test, 8); /* another call, not seen before */
    watchdog_poll(&w, 6200);
    watchdog_poll(&w, 6299);
    T_TRUE(!has_come(NULL));
    watchdog_poll(&w, 6300);
    T_TRUE(has_come(NULL));
    watchdog_poll(&w, 99000);
    watchdog_leave(&w);
    watchdog_poll(&w, 99001);
    watchdog_enter(&w, warn_of_test, 9);
    watchdog_poll(&w, 99002);
    watchdog_poll(&w, 99999);
    log = kit_log_stop();
    T_STR(log, "call 8 has lasted for 0.0 s\ncall 9 has lasted for 0.0 s\n");
}

/* The run whose hook is under way; the hook polls the watchdog itself. */
static train_run *hooked;

static sluice_status poll_from_hook(sluice_hook *hook, void *user)
{
    (void)hook;
    (void)user;
    for (int second = 0; second <= 30; second++) {
        watchdog_poll(&hooked->watch.callbacks, second * INT64_C(1000000000));
    }
    return SLUICE_OK;
}

static void a_warning_names_hook_callback_and_step(void)
{
    static const struct {
        hook_kind kind;
        uint32_t callback;
        uint64_t step;
        const char *words;
    } calls[] = {
        {HOOK_STEP_END, 65535, UINT64_C(1) << 39,
         "hook step_end of callback 65535 has not returned for 30.0 s (after 549755813888 "
         "steps)\n"},
        {HOOK_TRAIN_BEGIN, 0, 0,
         "hook train_begin of callback 0 has not returned for 30.0 s (after 0 steps)\n"},
        {HOOK_TRAIN_END, 2, 9,
         "hook train_end of callback 2 has not returned for 30.0 s (after 9 steps)\n"},
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const uint32_t count = calls[i].callback + 1;
        sluice_callback *callbacks = calloc(count, sizeof(*callbacks));
        train_run *run = calloc(1, sizeof(*run));
        sluice_hook hook = {.stop = false};

        CU_ASSERT_PTR_NOT_NULL_FATAL(callbacks);
        CU_ASSERT_PTR_NOT_NULL_FATAL(run);
        callbacks[count - 1].step_end = poll_from_hook;
        callbacks[count - 1].train_begin = poll_from_hook;
        callbacks[count - 1].train_end = poll_from_hook;
        run->callbacks = callbacks;
        run->config.callback_count = count;
        run->progress.step = calls[i].step;
        run->watch.callbacks.warning_ns = INT64_C(30000000000);
        hooked = run;
        expect("");
        T_OK(train_call_hooks(run, calls[i].kind, &hook));
        T_STR(kit_log_stop(), calls[i].words);
        free(run);
        free(callbacks);
    }
}

/* A process that was suspended finds that its clock has gone on without it. */
static void time_without_polls_is_not_counted(void)
{
    const int64_t second = 1000000000;
    watchdog w = {.warning_ns = 30 * second};
    int64_t now = 0;

    expect("");
    watchdog_enter(&w, warn_of_test, 40);
    for (int i = 0; i < 13; i++) { /* two seconds each, whatever is between them */
        watchdog_poll(&w, now);
        now += 1000 * second;
    }
    for (int i = 0; i < 5; i++) {
        T_TRUE(!has_come(NULL));
        now += second;
        watchdog_poll(&w, now);
    }
    T_TRUE(has_come(NULL));
    T_STR(kit_log_stop(), "call 40 has lasted for 30.0 s\n");
}

/* With a poll each second: a thousand that waited for the next would take longer than a test may.
 */
static void it_ends_without_waiting_for_its_next_look(void)
{
    for (int i = 0; i < 1000; i++) {
        watchdog w = {.warning_ns = 0};

        T_OK(watchdog_start(&w, 30000));
        watchdog_stop(&w);
    }
}

static void one_that_was_never_started_can_be_stopped(void)
{
    watchdog w = {.warning_ns = 0};

    watchdog_stop(&w);
}

/* ---- in a run -------------------------------------------------------------------------------- */

static bool warned; /* the function that waited was told of */

static void wait_in_hook(kit *k)
{
    (void)k;
    warned = await_warning();
}

static void wait_in_step_3(kit *k, const sluice_step *view)
{
    (void)k;
    if (*view->step == 3) {
        warned = await_warning();
    }
}

static sluice_status wait_in_state(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    warned = await_warning();
    return SLUICE_OK;
}

static sluice_status save_nothing(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

/* 20 steps in sinks of 5. */
static void init(kit *k)
{
    kit_init(k);
    k->config.sink_size = 5;
    k->config.epochs = 4;
    k->config.stall_warning_ms = 20;
    warned = false;
}

/* The run goes on once the warning, which comes once, has let the function go. */
static void run_and_expect(kit *k, const char *words, const char *place)
{
    const char *log;

    expect(words);
    (void)kit_run(k);
    log = kit_log_stop();
    T_STATUS(k->status, SLUICE_OK);
    T_TRUE(warned);
    T_EQ(count(log, words), 1);
    T_CONTAINS(log, place);
    kit_check(k);
    T_EQ(k->report->stats.first_step + k->report->stats.steps, 20);
}

static void a_hook_that_does_not_return_is_told_of(void)
{
    static const struct {
        kit_hook hook;
        const char *words;
    } hooks[] = {
        {KIT_TRAIN_BEGIN, "hook train_begin of callback 0 has not returned for "},
        {KIT_RECORDS, "hook records of callback 0 has not returned for "},
        {KIT_STEP_END, "hook step_end of callback 0 has not returned for "},
        {KIT_TRAIN_END, "hook train_end of callback 0 has not returned for "},
    };

    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        kit k;

        init(&k);
        k.act_in = hooks[i].hook;
        k.act = wait_in_hook;
        run_and_expect(&k, hooks[i].words, " s (after ");
        kit_fini(&k);
    }
}

static void a_step_of_mode_data_that_does_not_return_is_told_of(void)
{
    kit k;

    init(&k);
    k.config.mode = SLUICE_MODE_DATA;
    k.in_step = wait_in_step_3;
    run_and_expect(&k, "the step function has not returned for ", " s (step 3)");
    kit_fini(&k);
}

/* Agrees for a second rank that wants what the first does, until after 10 steps. */
static sluice_status agree_late(int64_t value, int64_t *most_out, void *user)
{
    kit *k = user;
    uint32_t *asked = k->user;

    if (!warned && atomic_load(&k->calls) == 10) {
        warned = await_warning();
    }
    *most_out = (*asked)++ < 2 ? 1 : value; /* at first: who is there */
    return SLUICE_OK;
}

static void an_agree_that_does_not_return_is_told_of(void)
{
    uint32_t asked = 0;
    kit k;

    init(&k);
    k.user = &asked;
    k.config.world = 2;
    k.pipeline = "synthetic samples=200 shape=4,4,3 | shuffle | batch 2";
    k.config.agree = agree_late;
    k.config.agree_user = &k;
    run_and_expect(&k, "agree has not returned for ",
                   " s (after 10 steps): another rank is late, or gone");
    kit_fini(&k);
}

static void a_save_or_load_that_does_not_return_is_told_of(void)
{
    const char *folder = t_file("c");
    kit k;

    init(&k);
    k.checkpoint.folder = folder;
    k.model.save = wait_in_state;
    k.model.load = wait_in_state;
    k.checkpoint.resume = true;
    k.config.max_steps = 10;
    expect("model.save has not returned for ");
    T_OK(kit_run(&k));
    T_CONTAINS(kit_log_stop(), " s (after 10 steps)");
    T_TRUE(warned);
    warned = false;
    k.model.save = save_nothing;
    run_and_expect(&k, "model.load has not returned for ", " s\n");
    T_EQ(k.report->stats.first_step, 10);
    kit_fini(&k);
}

static sluice_status wait_in_eval(const sluice_step *view, void *user)
{
    (void)user;
    if (*view->step == 3) {
        warned = await_warning();
    }
    return SLUICE_OK;
}

/* Judging is a run of its own, with a watchdog of its own. */
static void an_eval_of_mode_data_that_does_not_return_is_told_of(void)
{
    sluice_dataset *dataset = NULL;
    kit k;

    T_OK(sluice_dataset_parse("synthetic samples=20 shape=4,4,3 | batch 2", &dataset));
    init(&k);
    k.config.mode = SLUICE_MODE_DATA;
    k.validation.dataset = dataset;
    k.validation.every_epochs = 4;
    k.model.eval = wait_in_eval;
    run_and_expect(&k, "the step function has not returned for ", " s (step 3)");
    kit_fini(&k);
    sluice_dataset_destroy(dataset);
}

const t_test callback_watchdog_tests[] = {
    T_TEST(each_call_is_told_of_once_when_it_takes_too_long),
    T_TEST(a_warning_names_hook_callback_and_step),
    T_TEST(time_without_polls_is_not_counted),
    T_TEST(it_ends_without_waiting_for_its_next_look),
    T_TEST(one_that_was_never_started_can_be_stopped),
    T_TEST(a_hook_that_does_not_return_is_told_of),
    T_TEST(a_step_of_mode_data_that_does_not_return_is_told_of),
    T_TEST(an_agree_that_does_not_return_is_told_of),
    T_TEST(a_save_or_load_that_does_not_return_is_told_of),
    T_TEST(an_eval_of_mode_data_that_does_not_return_is_told_of),
    T_END,
};
