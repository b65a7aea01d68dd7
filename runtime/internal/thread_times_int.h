/* SPDX-License-Identifier: Apache-2.0 */
/* The time that a thread spent on a CPU and in the run queue, as the kernel counts it. */
#ifndef SLUICE_THREAD_TIMES_INT_H
#define SLUICE_THREAD_TIMES_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sli_thread_times {
    int32_t id;          /* as gettid() returns it; 0: the thread has not run yet */
    bool has_cpu;        /* the kernel has a CPU clock of the thread */
    bool has_runqueue;   /* /proc/self/task/ID/schedstat has its time in the run queue */
    int64_t start_ns;    /* sli_now_ns() at the start of the thread; 0: unknown */
    int64_t at_ns;       /* sli_now_ns() at the read */
    int64_t cpu_ns;      /* since the start of the thread */
    int64_t runqueue_ns; /* ready to run, but no CPU was free; since the start of the thread */
} sli_thread_times;

/* The times of the calling thread; start_ns is 0. */
void sli_thread_times_own(sli_thread_times *times_out);

/* The same of another thread, which is not joined yet. A thread that has ended has no times. */
void sli_thread_times_of(pthread_t handle, int32_t id, sli_thread_times *times_out);

/*
 * Parses a schedstat file: "CPU_NS RUNQUEUE_NS SLICES". False if it is anything else, or if SLICES
 * is 0: a kernel that does not count prints "0 0 0".
 */
bool sli_schedstat_parse(const char *text, int64_t *runqueue_ns_out);

/* Reads /proc/self/task/ID/schedstat. root is a prefix of the path: "" for this machine, a folder
 * in tests. */
bool sli_schedstat_read(const char *root, int32_t id, int64_t *runqueue_ns_out);

#endif
