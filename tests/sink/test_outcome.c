/* SPDX-License-Identifier: Apache-2.0 */
/* The outcome of a run: the largest value that was raised, whoever raises it. */
#include <pthread.h>
#include <sched.h>

#include "outcome.h"
#include "testing.h"

static void the_largest_outcome_holds(void)
{
    run_outcome o = {.token = NULL};

    T_TRUE(outcome_goes_on(&o) && !outcome_is_stop(&o));
    outcome_request(&o, OUTCOME_TIME_IS_OVER);
    T_TRUE(!outcome_goes_on(&o) && !outcome_is_stop(&o));
    outcome_request(&o, OUTCOME_STOP);
    outcome_request(&o, OUTCOME_TIME_IS_OVER);
    T_EQ(outcome_reached(&o), OUTCOME_STOP);
    outcome_raise(&o, OUTCOME_FAILED);
    outcome_raise(&o, OUTCOME_NAN);
    T_EQ(outcome_reached(&o), OUTCOME_FAILED);
    T_EQ(outcome_requested(&o), OUTCOME_STOP);
    T_TRUE(outcome_is_stop(&o));
}

static void a_request_of_one_of_several_ranks_ends_no_step(void)
{
    run_outcome o = {.is_agreed = true};

    outcome_request(&o, OUTCOME_STOP);
    T_TRUE(outcome_poll(&o));
    T_EQ(outcome_requested(&o), OUTCOME_STOP);
    outcome_raise(&o, OUTCOME_STOP); /* the ranks have agreed */
    T_TRUE(!outcome_poll(&o));
}

static void a_poll_takes_the_request_of_the_token(void)
{
    sluice_stop *token = NULL;

    T_OK(sluice_stop_create(&token));
    for (int several = 0; several <= 1; several++) {
        run_outcome o = {.token = token, .is_agreed = several == 1};

        sluice_stop_clear(token);
        T_TRUE(outcome_poll(&o));
        T_EQ(outcome_requested(&o), OUTCOME_GOES_ON);
        sluice_stop_request(token);
        T_EQ(outcome_poll(&o), several == 1);
        T_EQ(outcome_requested(&o), OUTCOME_STOP);
        sluice_stop_clear(token); /* a request stays one */
        T_EQ(outcome_poll(&o), several == 1);
    }
    sluice_stop_destroy(token);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, RUNS = 200000 };

static run_outcome outcomes[RUNS];
static _Atomic int started;

static void *raise_all(void *arg)
{
    const int *first = arg;

    atomic_fetch_add(&started, 1);
    while (atomic_load(&started) < THREADS) {
        sched_yield();
    }
    for (int i = 0; i < RUNS; i++) {
        outcome_request(&outcomes[i], (outcome)((*first + i) % THREADS));
    }
    return NULL;
}

/* Each thread raises another value of each run, so all of them end with the largest. */
static void threads_that_meet_lose_no_outcome(void)
{
    pthread_t threads[THREADS];
    int firsts[THREADS];
    int good = 0;

    atomic_store(&started, 0);
    for (int i = 0; i < RUNS; i++) {
        outcomes[i] = (run_outcome){.token = NULL};
    }
    for (int i = 0; i < THREADS; i++) {
        firsts[i] = i;
        T_EQ(pthread_create(&threads[i], NULL, raise_all, &firsts[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < RUNS; i++) {
        good += outcome_reached(&outcomes[i]) == THREADS - 1 &&
                outcome_requested(&outcomes[i]) == THREADS - 1;
    }
    T_EQ(good, RUNS);
}

const t_test outcome_tests[] = {
    T_TEST(the_largest_outcome_holds),
    T_TEST(a_request_of_one_of_several_ranks_ends_no_step),
    T_TEST(a_poll_takes_the_request_of_the_token),
    T_TEST(threads_that_meet_lose_no_outcome),
    T_END,
};
