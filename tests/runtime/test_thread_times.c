/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU, run queue and blocked time of threads that do a known thing. */
#include "clock_int.h"
#include "load_kit.h"
#include "testing.h"
#include "thread_int.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { RUN_MS = 200 };

static void pause_ms(int64_t ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

static void spin(void *arg)
{
    const int64_t end_ns = sli_now_ns() + RUN_MS * INT64_C(1000000);

    (void)arg;
    while (sli_now_ns() < end_ns) {
    }
}

static void sleep_long(void *arg)
{
    (void)arg;
    pause_ms(RUN_MS);
}

static void lock_once(void *arg)
{
    pthread_mutex_t *lock = arg;

    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

static sli_thread_times times_of(const sli_thread *thread)
{
    sli_thread_place place;

    sli_thread_place_get(thread, &place);
    return place.times;
}

static double all_ns(const sli_thread_times *times)
{
    return (double)(times->at_ns - times->start_ns);
}

/* Spinning and waiting for a CPU make up all of the time, however many other processes run. */
static void a_thread_that_spins_is_on_a_cpu_or_in_the_run_queue(void)
{
    sli_thread thread;
    sli_thread_times times;

    T_OK(sli_thread_start(&thread, "spin", NULL, spin, NULL));
    sli_thread_join(&thread);
    times = times_of(&thread);
    T_TRUE(times.id > 0);
    T_TRUE(times.has_cpu);
    T_TRUE(times.cpu_ns > 0);
    T_TRUE(all_ns(&times) >= RUN_MS * 1e6);
    T_NEEDS(load_kit_has_schedstat(), "this kernel has no schedstat");
    T_TRUE(times.has_runqueue);
    T_TRUE((double)(times.cpu_ns + times.runqueue_ns) > 0.8 * all_ns(&times));
}

static void a_thread_that_sleeps_or_waits_for_a_lock_uses_no_cpu(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    sli_thread sleeping;
    sli_thread waiting;
    sli_thread *const threads[] = {&sleeping, &waiting};

    pthread_mutex_lock(&lock);
    T_OK(sli_thread_start(&sleeping, "sleep", NULL, sleep_long, NULL));
    T_OK(sli_thread_start(&waiting, "lock", NULL, lock_once, &lock));
    pause_ms(RUN_MS);
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < COUNT(threads); i++) {
        sli_thread_times times;

        sli_thread_join(threads[i]);
        times = times_of(threads[i]);
        T_TRUE(times.has_cpu);
        T_TRUE(all_ns(&times) > 0.8 * RUN_MS * 1e6);
        T_TRUE((double)times.cpu_ns < 0.3 * all_ns(&times));
    }
}

/* Both are ready all the time, and one of them runs. */
static void threads_that_share_one_cpu_wait_in_the_run_queue(void)
{
    sli_thread threads[2];
    sli_cpus allowed;
    sli_cpus one = {{0}};
    double cpu_ns = 0;
    double runqueue_ns = 0;
    double ns = 0;
    bool known = true;

    T_OK(sli_cpus_of_thread(&allowed));
    sli_cpus_add(&one, (uint32_t)sli_cpus_next(&allowed, 0));
    for (size_t i = 0; i < COUNT(threads); i++) {
        T_OK(sli_thread_start(&threads[i], "share", &one, spin, NULL));
    }
    for (size_t i = 0; i < COUNT(threads); i++) {
        sli_thread_times times;

        sli_thread_join(&threads[i]);
        times = times_of(&threads[i]);
        known = known && times.has_runqueue;
        cpu_ns += (double)times.cpu_ns;
        runqueue_ns += (double)times.runqueue_ns;
        ns += all_ns(&times);
    }
    T_TRUE(cpu_ns < 0.6 * ns);
    T_NEEDS(load_kit_has_schedstat(), "this kernel has no schedstat");
    T_TRUE(known);
    T_TRUE(runqueue_ns > 0.35 * ns);
    T_TRUE(cpu_ns + runqueue_ns > 0.8 * ns);
}

/* The times of a running thread rise, and those of its end stay. */
static void times_can_be_read_while_a_thread_runs(void)
{
    sli_thread thread;
    sli_thread_times first;
    sli_thread_times last;

    T_OK(sli_thread_start(&thread, "spin", NULL, spin, NULL));
    pause_ms(RUN_MS / 4);
    first = times_of(&thread);
    T_TRUE(first.has_cpu);
    sli_thread_join(&thread);
    last = times_of(&thread);
    T_TRUE(last.cpu_ns > first.cpu_ns);
    T_TRUE(last.at_ns > first.at_ns);
    T_EQ(last.start_ns, first.start_ns);
    pause_ms(5);
    T_EQ(times_of(&thread).at_ns, last.at_ns);
}

static void the_times_of_the_calling_thread_rise(void)
{
    sli_thread_times before;
    sli_thread_times after;

    sli_thread_times_own(&before);
    spin(NULL);
    sli_thread_times_own(&after);
    T_TRUE(before.has_cpu);
    T_EQ(before.id, after.id);
    T_TRUE(after.cpu_ns > before.cpu_ns);
}

static void a_schedstat_that_is_cut_or_not_counted_is_unknown(void)
{
    static const char *const bad[] = {
        "",       "0 0 0\n",  "1",        "1 2",      "1 2 ",    "1 2 x",
        "1 2 3x", "-1 2 3\n", "1  2 3\n", " 1 2 3\n", "a b c\n", "1 99999999999999999999 3\n"};
    const char *root = t_folder();
    int64_t ns = 0;

    for (size_t i = 0; i < COUNT(bad); i++) {
        T_TRUE(!sli_schedstat_parse(bad[i], &ns));
    }
    T_TRUE(sli_schedstat_parse("5 9223372036854775807 7\n", &ns));
    T_EQ(ns, INT64_MAX);
    T_TRUE(!sli_schedstat_read(root, 12, &ns));
    t_write_file(t_path(root, "proc/self/task/12/schedstat"), "100 250 3\n", 10);
    T_TRUE(sli_schedstat_read(root, 12, &ns));
    T_EQ(ns, 250);
}

const t_test thread_times_tests[] = {
    T_TEST(a_thread_that_spins_is_on_a_cpu_or_in_the_run_queue),
    T_TEST(a_thread_that_sleeps_or_waits_for_a_lock_uses_no_cpu),
    T_TEST(threads_that_share_one_cpu_wait_in_the_run_queue),
    T_TEST(times_can_be_read_while_a_thread_runs),
    T_TEST(the_times_of_the_calling_thread_rise),
    T_TEST(a_schedstat_that_is_cut_or_not_counted_is_unknown),
    T_END,
};
