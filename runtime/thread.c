/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "thread_int.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "clock_int.h"
#include "status_int.h"

void sli_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void sli_cpus_add(sli_cpus *cpus, uint32_t cpu)
{
    if (cpu < SLI_MAX_CPUS) {
        cpus->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
    }
}

void sli_cpus_remove(sli_cpus *cpus, uint32_t cpu)
{
    if (cpu < SLI_MAX_CPUS) {
        cpus->bits[cpu / 64] &= ~(UINT64_C(1) << cpu % 64);
    }
}

bool sli_cpus_has(const sli_cpus *cpus, uint32_t cpu)
{
    return cpu < SLI_MAX_CPUS && (cpus->bits[cpu / 64] >> cpu % 64 & 1) != 0;
}

uint32_t sli_cpus_count(const sli_cpus *cpus)
{
    uint32_t count = 0;

    for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
        count += (uint32_t)__builtin_popcountll(cpus->bits[i]);
    }
    return count;
}

int sli_cpus_next(const sli_cpus *cpus, uint32_t cpu)
{
    for (uint32_t i = cpu; i < SLI_MAX_CPUS; i++) {
        if (sli_cpus_has(cpus, i)) {
            return (int)i;
        }
    }
    return -1;
}

char *sli_cpus_format(const sli_cpus *cpus, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int first = sli_cpus_next(cpus, 0); first >= 0 && used + 1 < size;) {
        int last = first;
        int written;

        while (sli_cpus_has(cpus, (uint32_t)last + 1)) {
            last++;
        }
        written =
            first == last
                ? snprintf(text + used, size - used, "%s%d", used > 0 ? "," : "", first)
                : snprintf(text + used, size - used, "%s%d-%d", used > 0 ? "," : "", first, last);
        used += written > 0 ? (size_t)written : 0;
        first = sli_cpus_next(cpus, (uint32_t)last + 1);
    }
    return text;
}

/* The set in the kernel's format: an array of unsigned longs. */
static cpu_set_t *as_kernel_set(sli_cpus *cpus)
{
    return (cpu_set_t *)(void *)cpus->bits;
}

sluice_status sli_cpus_of_thread(sli_cpus *cpus_out)
{
    sli_cpus cpus;

    memset(&cpus, 0, sizeof(cpus));
    if (sched_getaffinity(0, sizeof(cpus.bits), as_kernel_set(&cpus)) != 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read the CPU affinity of this thread");
    }
    *cpus_out = cpus;
    return SLUICE_OK;
}

/* Timer slack of threads; the default of 50 us is longer than many back-offs. */
enum { TIMER_SLACK_NS = 1 };

static void *thread_main(void *arg)
{
    sli_thread *thread = arg;

    atomic_store_explicit(&thread->id, (int32_t)gettid(), memory_order_relaxed);
    pthread_setname_np(pthread_self(), thread->name);
    (void)prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
    if (sli_cpus_count(&thread->wanted) > 0) {
        (void)sched_setaffinity(0, sizeof(thread->wanted.bits), as_kernel_set(&thread->wanted));
    }
    (void)sli_cpus_of_thread(&thread->got);
    thread->run(thread->arg);
    sli_thread_times_own(&thread->times);
    thread->times.start_ns = thread->start_ns;
    /* Pairs with the acquire load in has_ended(): a thread that sees `ended` set also sees `got`
     * and `times`. */
    atomic_store_explicit(&thread->ended, true, memory_order_release);
    return NULL;
}

sluice_status sli_thread_start(sli_thread *thread, const char *name, const sli_cpus *cpus,
                               void (*run)(void *arg), void *arg)
{
    sigset_t all;
    sigset_t before;
    int error;

    memset(thread, 0, sizeof(*thread));
    snprintf(thread->name, sizeof(thread->name), "%s", name);
    if (cpus != NULL) {
        thread->wanted = *cpus;
    }
    thread->run = run;
    thread->arg = arg;
    thread->start_ns = sli_now_ns();

    /* A new thread inherits the signal mask of its creator. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread->handle, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == EAGAIN) { /* also returned if mmap() failed with ENOMEM */
        return sli_fail(SLUICE_E_NO_MEMORY,
                        "cannot start thread %s: no memory for its stack, or the limit of threads "
                        "is reached (ulimit -v, ulimit -u, pids.max of the cgroup)",
                        name);
    }
    if (error != 0) {
        return sli_fail_errno(SLUICE_E_NO_MEMORY, error, "cannot start thread %s", name);
    }
    thread->started = true;
    return SLUICE_OK;
}

void sli_thread_join(sli_thread *thread)
{
    if (thread->started) {
        pthread_join(thread->handle, NULL);
        thread->started = false;
    }
}

static bool has_ended(const sli_thread *thread)
{
    /* Pairs with the release store in thread_main(). */
    return !thread->started || atomic_load_explicit(&thread->ended, memory_order_acquire);
}

static void get_times(const sli_thread *thread, sli_thread_times *times_out)
{
    memset(times_out, 0, sizeof(*times_out));
    if (!has_ended(thread)) {
        sli_thread_times_of(thread->handle, atomic_load_explicit(&thread->id, memory_order_relaxed),
                            times_out);
        times_out->start_ns = thread->start_ns;
    }
    /* Checked after reading: the kernel gives the id of a thread that has ended to another one. */
    if (has_ended(thread)) {
        *times_out = thread->times;
    }
}

void sli_thread_place_get(const sli_thread *thread, sli_thread_place *place_out)
{
    memset(place_out, 0, sizeof(*place_out));
    get_times(thread, &place_out->times);
    memcpy(place_out->name, thread->name, sizeof(place_out->name));
    place_out->wanted = thread->wanted;
    if (has_ended(thread)) {
        /* For an ended thread pthread_getaffinity_np() would return the caller's CPUs. */
        place_out->got = thread->got;
    } else if (pthread_getaffinity_np(thread->handle, sizeof(place_out->got.bits),
                                      as_kernel_set(&place_out->got)) != 0) {
        memset(&place_out->got, 0, sizeof(place_out->got));
    }
}

/* True if thread /proc/self/task/NUMBER has this name. The thread may have ended meanwhile. */
static bool has_name(const char *number, const char *name)
{
    char path[64];
    char text[32] = "";
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", number);
    file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(text, sizeof(text), file) == NULL) {
            text[0] = '\0';
        }
        fclose(file);
    }
    text[strcspn(text, "\n")] = '\0';
    return strcmp(text, name) == 0;
}

uint32_t sli_threads_named(const char *name, sli_cpus *cpus_out)
{
    DIR *tasks = opendir("/proc/self/task");
    uint32_t count = 0;

    memset(cpus_out, 0, sizeof(*cpus_out));
    for (const struct dirent *task; tasks != NULL && (task = readdir(tasks)) != NULL;) {
        const pid_t id = (pid_t)strtol(task->d_name, NULL, 10);
        sli_cpus own = {{0}};

        if (id <= 0 || !has_name(task->d_name, name) ||
            sched_getaffinity(id, sizeof(own.bits), as_kernel_set(&own)) != 0) {
            continue;
        }
        for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
            cpus_out->bits[i] |= own.bits[i];
        }
        count++;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return count;
}

static _Atomic uint32_t forks;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

uint32_t sli_fork_generation(void)
{
    pthread_once(&fork_once, watch_forks);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}
