/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "event_int.h"
#include "testing.h"
#include "thread_int.h"

static void cpu_sets_print_as_ranges(void)
{
    sli_cpus cpus = {{0}};
    char text[64];

    T_STR(sli_cpus_format(&cpus, text, sizeof(text)), "");
    for (uint32_t i = 0; i < 4; i++) {
        sli_cpus_add(&cpus, i);
    }
    sli_cpus_add(&cpus, 8);
    sli_cpus_add(&cpus, 63);
    sli_cpus_add(&cpus, 64);
    T_STR(sli_cpus_format(&cpus, text, sizeof(text)), "0-3,8,63-64");
    T_EQ(sli_cpus_count(&cpus), 7);
    T_EQ(sli_cpus_next(&cpus, 9), 63);
    sli_cpus_remove(&cpus, 64);
    T_EQ(sli_cpus_next(&cpus, 64), -1);
    sli_cpus_add(&cpus, SLI_MAX_CPUS + 5);
    T_EQ(sli_cpus_count(&cpus), 6);
    T_TRUE(strlen(sli_cpus_format(&cpus, text, 6)) < 6);
}

static sigset_t seen_mask;
static char seen_name[16];
static int seen_slack;

static void look_around(void *arg)
{
    (void)arg;
    seen_slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    pthread_sigmask(SIG_SETMASK, NULL, &seen_mask);
    pthread_getname_np(pthread_self(), seen_name, sizeof(seen_name));
}

static void threads_have_names_and_block_signals(void)
{
    sli_thread thread;

    T_OK(sli_thread_start(&thread, "sluice/test", NULL, look_around, NULL));
    sli_thread_join(&thread);
    T_EQ(sigismember(&seen_mask, SIGINT), 1);
    T_EQ(sigismember(&seen_mask, SIGTERM), 1);
    T_STR(seen_name, "sluice/test");
    T_TRUE(sli_cpus_count(&thread.got) > 0);
}

/* Naps of some microseconds take as long as they say; the caller's sleeps stay as they are. */
static void threads_have_the_least_timer_slack(void)
{
    const int mine = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    sli_thread thread;

    T_TRUE(mine > 1);
    T_OK(sli_thread_start(&thread, "sluice/test", NULL, look_around, NULL));
    sli_thread_join(&thread);
    T_EQ(seen_slack, 1);
    T_EQ(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), mine);
}

static void a_thread_runs_where_it_is_told(void)
{
    sli_cpus mine;
    sli_cpus one = {{0}};
    sli_thread thread;

    T_OK(sli_cpus_of_thread(&mine));
    sli_cpus_add(&one, (uint32_t)sli_cpus_next(&mine, 0));
    T_OK(sli_thread_start(&thread, "pinned", &one, look_around, NULL));
    sli_thread_join(&thread);
    T_EQ(memcmp(&thread.got, &one, sizeof(one)), 0);
}

/* Before it is joined, too; another thread may run elsewhere. */
static void a_thread_that_has_ended_keeps_its_place(void)
{
    sli_thread_place place;
    sli_thread thread;
    sli_cpus mine;
    sli_cpus one = {{0}};

    T_OK(sli_cpus_of_thread(&mine));
    T_NEEDS(sli_cpus_count(&mine) >= 2, "one CPU");
    sli_cpus_add(&one, (uint32_t)sli_cpus_next(&mine, 0));
    T_OK(sli_thread_start(&thread, "pinned", &one, look_around, NULL));
    while (!atomic_load(&thread.ended)) {
        sched_yield();
    }
    usleep(1000); /* more likely that the kernel has freed it */
    sli_thread_place_get(&thread, &place);
    T_EQ(memcmp(&place.got, &one, sizeof(one)), 0);
    sli_thread_join(&thread);
}

typedef struct relay {
    sli_event event;
    _Atomic uint64_t turn;
    uint64_t rounds;
} relay;

typedef struct relay_side {
    relay *shared;
    uint64_t parity;
} relay_side;

static bool my_turn(void *arg)
{
    relay_side *side = arg;

    return atomic_load_explicit(&side->shared->turn, memory_order_acquire) % 2 == side->parity;
}

static void run_relay(void *arg)
{
    relay_side *side = arg;

    for (uint64_t i = 0; i < side->shared->rounds; i++) {
        sli_event_await(&side->shared->event, my_turn, side, -1);
        atomic_fetch_add_explicit(&side->shared->turn, 1, memory_order_release);
        sli_event_notify(&side->shared->event);
    }
}

/* Two threads hand a turn to and fro; a lost wake-up would hang (the runner's limit says so). */
static void no_wake_up_is_lost(void)
{
    relay shared = {.rounds = 20000};
    relay_side sides[2] = {{&shared, 0}, {&shared, 1}};
    sli_thread threads[2];

    for (int i = 0; i < 2; i++) {
        T_OK(sli_thread_start(&threads[i], "relay", NULL, run_relay, &sides[i]));
    }
    for (int i = 0; i < 2; i++) {
        sli_thread_join(&threads[i]);
    }
    T_EQ(atomic_load(&shared.turn), 40000);
    T_EQ(atomic_load(&shared.event.waiters), 0);
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

static void a_wait_with_a_limit_ends(void)
{
    sli_event event = {0};

    T_TRUE(!sli_event_await(&event, never, NULL, 1000000));
    T_EQ(atomic_load(&event.waiters), 0);
}

static void a_fork_is_noticed_in_the_child(void)
{
    uint32_t before = sli_fork_generation();
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        _exit(sli_fork_generation() == before + 1 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    T_EQ(WEXITSTATUS(status), 0);
    T_EQ(sli_fork_generation(), before);
}

/* ---- threads by their name ------------------------------------------------------------------- */

typedef struct family {
    pthread_t child;
    pthread_barrier_t here; /* the thread, its child and the test */
    pthread_barrier_t end;
} family;

static void *be_a_child(void *arg)
{
    family *f = arg;

    pthread_barrier_wait(&f->here);
    pthread_barrier_wait(&f->end);
    return NULL;
}

static void have_a_child(void *arg)
{
    family *f = arg;

    T_EQ(pthread_create(&f->child, NULL, be_a_child, f), 0);
    be_a_child(f);
    pthread_join(f->child, NULL);
}

/* Threads have the name and the CPUs of the one that starts them. */
static void threads_are_counted_with_those_they_start(void)
{
    sli_thread_place place;
    sli_thread thread;
    sli_cpus one = {{0}};
    sli_cpus cpus;
    family f;

    T_OK(sli_cpus_of_thread(&cpus));
    sli_cpus_add(&one, (uint32_t)sli_cpus_next(&cpus, 0));
    pthread_barrier_init(&f.here, NULL, 3);
    pthread_barrier_init(&f.end, NULL, 3);
    T_OK(sli_thread_start(&thread, "sluice/family", &one, have_a_child, &f));
    pthread_barrier_wait(&f.here);
    T_EQ(sli_threads_named("sluice/family", &cpus), 2);
    T_EQ(memcmp(&cpus, &one, sizeof(one)), 0);
    T_EQ(sli_threads_named("sluice/nobody", &cpus), 0);
    T_EQ(sli_cpus_count(&cpus), 0);
    for (int joined = 0; joined < 2; joined++) { /* it can be asked before and after its end */
        sli_thread_place_get(&thread, &place);
        T_STR(place.name, "sluice/family");
        T_EQ(memcmp(&place.wanted, &one, sizeof(one)), 0);
        T_EQ(memcmp(&place.got, &one, sizeof(one)), 0);
        if (joined == 0) {
            pthread_barrier_wait(&f.end);
            sli_thread_join(&thread);
        }
    }
    pthread_barrier_destroy(&f.here);
    pthread_barrier_destroy(&f.end);
}

const t_test thread_tests[] = {
    T_TEST(cpu_sets_print_as_ranges),
    T_TEST(threads_have_names_and_block_signals),
    T_TEST(threads_have_the_least_timer_slack),
    T_TEST(a_thread_runs_where_it_is_told),
    T_TEST(a_thread_that_has_ended_keeps_its_place),
    T_TEST(no_wake_up_is_lost),
    T_TEST(a_wait_with_a_limit_ends),
    T_TEST(a_fork_is_noticed_in_the_child),
    T_TEST(threads_are_counted_with_those_they_start),
    T_END,
};
