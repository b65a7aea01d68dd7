/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that are ended: by the step, by a hook, by a token from a thread or a signal handler. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "rng_int.h"
#include "testing.h"
#include "train_kit.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};
static const char *const devices[] = {"host:0", "host:0,copy=1", "host:0,spin_us=5"};

/* Every mode on every device; `i` counts to EACH. */
enum { EACH = COUNT(modes) * COUNT(devices) };

static void init_endless(kit *k, size_t i)
{
    kit_init(k);
    k->device = devices[i % COUNT(devices)];
    k->config.mode = modes[i / COUNT(devices)];
    k->config.epochs = 0;
    k->config.max_steps = UINT64_MAX / 2;
    k->config.sink_size = 40;
}

/* ---- the step -------------------------------------------------------------------------------- */

static void a_step_that_says_stopped_is_the_last(void)
{
    for (size_t i = 0; i < EACH; i++) {
        kit k;

        init_endless(&k, i);
        k.step_at = 56;
        k.step_answer = SLUICE_STOPPED;
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        kit_check(&k);
        T_EQ(k.count, 57);
        T_EQ(k.report->stats.epochs, 1);
        T_EQ(k.hook_calls[KIT_EPOCH_END], 2);
        kit_fini(&k);
    }
}

static void a_step_that_fails_ends_the_run_with_its_status(void)
{
    for (size_t i = 0; i < EACH; i++) {
        kit k;

        init_endless(&k, i);
        k.step_at = 56;
        k.step_answer = SLUICE_E_CALLBACK;
        T_STATUS(kit_run(&k), SLUICE_E_CALLBACK);
        T_STR(k.error, "step 56: the step function returned E_CALLBACK");
        kit_check(&k);
        T_EQ(k.count, 57); /* the one that failed is told of, too */
        T_EQ(k.hook_calls[KIT_EPOCH_END], 1);
        kit_fini(&k);
    }
}

static void say_why_in_steps_6_and_55(kit *k, const sluice_step *view)
{
    (void)k;
    if (*view->step == 6 || *view->step == 55) {
        sluice_fail(SLUICE_E_IO, "cannot read %s %d", "weight", (int)*view->step);
    }
}

/* Its own text, not the one of a step that went on. */
static void a_step_that_fails_says_why(void)
{
    for (size_t i = 0; i < EACH; i++) {
        kit k;

        init_endless(&k, i);
        k.in_step = say_why_in_steps_6_and_55;
        k.step_at = 55;
        k.step_answer = SLUICE_E_IO;
        T_STATUS(kit_run(&k), SLUICE_E_IO);
        T_STR(k.error, "step 55: the step function returned E_IO: cannot read weight 55");
        k.step_at = 54;
        T_STATUS(kit_run(&k), SLUICE_E_IO);
        T_STR(k.error, "step 54: the step function returned E_IO");
        kit_fini(&k);
    }
}

/* An answer that is neither: the run goes on. */
static void other_positive_answers_of_a_step_are_fine(void)
{
    for (size_t i = 0; i < EACH; i++) {
        kit k;

        init_endless(&k, i);
        k.config.max_steps = 60;
        k.step_at = 56;
        k.step_answer = SLUICE_TIMEOUT;
        T_OK(kit_run(&k));
        kit_check(&k);
        kit_fini(&k);
    }
}

/* ---- hooks ----------------------------------------------------------------------------------- */

/* How many steps have run when the second call of a hook ends the run. */
static uint64_t steps_before(kit_hook hook, sluice_mode mode)
{
    const bool per_step = mode == SLUICE_MODE_DIRECT || mode == SLUICE_MODE_DATA;

    switch (hook) {
    case KIT_EPOCH_BEGIN:
        return 40;
    case KIT_STEP_BEGIN:
        return per_step ? 1 : 40;
    case KIT_RECORDS:
    case KIT_STEP_END:
        return per_step ? 2 : 80;
    case KIT_EPOCH_END:
        return 80;
    default:
        return 0;
    }
}

static void a_hook_can_ask_to_stop_at_each_place(void)
{
    for (size_t i = 0; i < COUNT(modes) * 5 * 2; i++) {
        const kit_hook hook = (kit_hook)(KIT_EPOCH_BEGIN + i % 5);
        const sluice_mode mode = modes[i / 5 % COUNT(modes)];
        kit k;

        init_endless(&k, i / 5 % COUNT(modes) * COUNT(devices));
        k.act_in = hook;
        k.act_at = 1;
        k.act_stops = i % 2 == 0;
        k.act_answer = i % 2 == 0 ? SLUICE_OK : SLUICE_STOPPED; /* says the same */
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        kit_check(&k);
        T_EQ(k.count, steps_before(hook, mode));
        T_EQ(k.hook_calls[KIT_TRAIN_END], 1);
        kit_fini(&k);
    }
}

static void a_hook_that_stops_before_the_first_step_ends_the_run_there(void)
{
    for (size_t i = 0; i < COUNT(modes) * 3; i++) {
        kit k;

        init_endless(&k, i / 3 * COUNT(devices));
        k.act_in = (kit_hook)(KIT_TRAIN_BEGIN + i % 3);
        k.act_stops = true;
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        kit_check(&k);
        T_EQ(k.count, 0);
        T_EQ(k.hook_calls[KIT_STEP_END], 0); /* no step ran, so none ended */
        T_EQ(k.hook_calls[KIT_EPOCH_END], 0);
        kit_fini(&k);
    }
}

static void a_hook_that_fails_ends_the_run_with_its_status(void)
{
    static const char *const names[KIT_HOOKS] = {"train_begin", "epoch_begin", "step_begin",
                                                 "records",     "step_end",    "epoch_end",
                                                 "train_end"};

    for (size_t i = 0; i < COUNT(modes) * KIT_HOOKS; i++) {
        const kit_hook hook = (kit_hook)(i % KIT_HOOKS);
        char words[100];
        kit k;

        init_endless(&k, i / KIT_HOOKS * COUNT(devices));
        k.config.max_steps = 100;
        k.act_in = hook;
        k.act_at = hook == KIT_TRAIN_BEGIN || hook == KIT_TRAIN_END ? 0 : 1;
        k.act_answer = SLUICE_E_IO;
        T_STATUS(kit_run(&k), SLUICE_E_IO);
        snprintf(words, sizeof(words), "hook %s of callback 0 returned E_IO", names[hook]);
        T_TRUE(strcmp(k.error, words) == 0);
        kit_check(&k);
        T_EQ(k.count, hook == KIT_TRAIN_END ? 100 : steps_before(hook, modes[i / KIT_HOOKS]));
        T_EQ(k.hook_calls[KIT_TRAIN_END], 1); /* whenever train_begin was */
        kit_fini(&k);
    }
}

/* What a later hook does, or fails at, is not what the run is said to have failed at. */
static void fail_at_something_else(kit *k)
{
    sluice_device *device = NULL;

    (void)k;
    T_STATUS(sluice_device_open("tpu:0", &device), SLUICE_E_INVALID);
}

static void a_hook_that_passes_an_error_on_says_why(void)
{
    for (size_t i = 0; i < EACH; i++) {
        kit k;

        init_endless(&k, i);
        k.act_in = KIT_EPOCH_END;
        k.act = fail_at_something_else;
        k.act_answer = SLUICE_E_INVALID;
        T_STATUS(kit_run(&k), SLUICE_E_INVALID);
        T_CONTAINS(k.error, "hook epoch_end of callback 0 returned E_INVALID: ");
        T_CONTAINS(k.error, "tpu:0");
        kit_fini(&k);
    }
}

static void the_first_error_stays_the_error_of_the_run(void)
{
    for (size_t i = 0; i < EACH; i++) {
        kit k;

        init_endless(&k, i);
        k.step_at = 5;
        k.step_answer = SLUICE_E_CALLBACK;
        k.act_in = KIT_TRAIN_END;
        k.act = fail_at_something_else;
        k.act_answer = SLUICE_E_IO;
        T_STATUS(kit_run(&k), SLUICE_E_CALLBACK);
        T_STR(k.error, "step 5: the step function returned E_CALLBACK");
        kit_check(&k);
        kit_fini(&k);
    }
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void stop_in_step(kit *k, const sluice_step *step)
{
    if (*step->step == 56) {
        sluice_stop_request(k->user);
    }
}

static void a_token_ends_a_run_within_one_step(void)
{
    sluice_stop *stop = NULL;

    T_OK(sluice_stop_create(&stop));
    for (size_t i = 0; i < EACH; i++) {
        kit k;

        init_endless(&k, i);
        k.config.stop = stop;
        k.in_step = stop_in_step;
        k.user = stop;
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        kit_check(&k);
        T_EQ(k.count, 57); /* the step that asked was the last */
        sluice_stop_clear(stop);
        kit_fini(&k);
    }
    sluice_stop_destroy(stop);
    sluice_stop_destroy(NULL);
}

static void a_token_that_is_set_already_runs_nothing_until_it_is_cleared(void)
{
    sluice_stop *stop = NULL;
    kit k;

    T_OK(sluice_stop_create(&stop));
    for (size_t i = 0; i < EACH; i++) {
        init_endless(&k, i);
        k.config.stop = stop;
        k.config.max_steps = 50;
        sluice_stop_request(stop);
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        kit_check(&k);
        T_EQ(k.count, 0);
        T_TRUE(k.report->ran);
        sluice_stop_clear(stop);
        T_OK(kit_run(&k));
        T_EQ(k.count, 50);
        kit_fini(&k);
    }
    sluice_stop_destroy(stop);
    T_STATUS(sluice_stop_create(NULL), SLUICE_E_INVALID);
}

typedef struct asker {
    kit *k;
    sluice_stop *stop;
    uint64_t after; /* so many steps have begun */
    uint64_t asked; /* so many had when the request was made */
    bool by_signal; /* of this thread, which trains */
    pthread_t trainer;
} asker;

static sluice_stop *token_of_handler;

static void ask_in_handler(int signal_number)
{
    (void)signal_number;
    sluice_stop_request(token_of_handler);
}

static void *ask(void *arg)
{
    asker *a = arg;

    while (atomic_load(&a->k->calls) < a->after) {
        sched_yield();
    }
    if (a->by_signal) {
        pthread_kill(a->trainer, SIGUSR1);
        return NULL;
    }
    sluice_stop_request(a->stop);
    /* A read-modify-write: the step that follows this one in the order of calls sees the request.
     */
    a->asked = atomic_fetch_add(&a->k->calls, 0);
    return NULL;
}

/* At moments drawn at random, before the run begins among them. */
static void ask_at_random(bool by_signal)
{
    sluice_stop *stop = NULL;
    sigset_t usr1;

    T_OK(sluice_stop_create(&stop));
    token_of_handler = stop;
    signal(SIGUSR1, ask_in_handler);
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    for (size_t i = 0; i < 5 * EACH; i++) {
        asker a = {.stop = stop, .by_signal = by_signal, .trainer = pthread_self()};
        pthread_t thread;
        kit k;

        init_endless(&k, i % EACH);
        k.config.stop = stop;
        a.k = &k;
        a.after = sli_mix64(i) % 300;
        pthread_sigmask(SIG_BLOCK, &usr1, NULL); /* for the asker, which inherits it */
        T_EQ(pthread_create(&thread, NULL, ask, &a), 0);
        pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
        T_STATUS(kit_run(&k), SLUICE_STOPPED);
        pthread_join(thread, NULL);
        kit_check(&k);
        T_TRUE(by_signal || k.count <= a.asked + 1);
        T_TRUE(k.count >= a.after);
        sluice_stop_clear(stop);
        kit_fini(&k);
    }
    signal(SIGUSR1, SIG_DFL);
    sluice_stop_destroy(stop);
}

static void another_thread_can_stop_a_run_at_any_moment(void)
{
    ask_at_random(false);
}

static void a_signal_handler_can_stop_a_run_at_any_moment(void)
{
    ask_at_random(true);
}

const t_test train_stop_tests[] = {
    T_HOST_TEST(a_step_that_says_stopped_is_the_last),
    T_HOST_TEST(a_step_that_fails_ends_the_run_with_its_status),
    T_HOST_TEST(a_step_that_fails_says_why),
    T_HOST_TEST(other_positive_answers_of_a_step_are_fine),
    T_HOST_TEST(a_hook_can_ask_to_stop_at_each_place),
    T_TEST(a_hook_that_stops_before_the_first_step_ends_the_run_there),
    T_HOST_TEST(a_hook_that_fails_ends_the_run_with_its_status),
    T_TEST(a_hook_that_passes_an_error_on_says_why),
    T_HOST_TEST(the_first_error_stays_the_error_of_the_run),
    T_HOST_TEST(a_token_ends_a_run_within_one_step),
    T_TEST(a_token_that_is_set_already_runs_nothing_until_it_is_cleared),
    T_HOST_TEST(another_thread_can_stop_a_run_at_any_moment),
    T_TEST(a_signal_handler_can_stop_a_run_at_any_moment),
    T_END,
};
