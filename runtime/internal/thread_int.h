/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the library: each has a name, an owner, all signals blocked, the smallest timer slack,
 * and optionally a CPU affinity.
 */
#ifndef SLUICE_THREAD_INT_H
#define SLUICE_THREAD_INT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "thread_times_int.h"

/* Initializes a condition variable with timed waits on CLOCK_MONOTONIC. */
void sli_cond_init(pthread_cond_t *cond);

/* A set of logical CPUs, numbered as the operating system does. */
enum { SLI_MAX_CPUS = 4096 };
typedef struct sli_cpus {
    uint64_t bits[SLI_MAX_CPUS / 64];
} sli_cpus;

void sli_cpus_add(sli_cpus *cpus, uint32_t cpu);
void sli_cpus_remove(sli_cpus *cpus, uint32_t cpu);
bool sli_cpus_has(const sli_cpus *cpus, uint32_t cpu);
uint32_t sli_cpus_count(const sli_cpus *cpus);

/* The smallest CPU of the set that is at least `cpu`; -1: no such CPU. */
int sli_cpus_next(const sli_cpus *cpus, uint32_t cpu);

/* Writes "0-3,8" into text and returns text. */
char *sli_cpus_format(const sli_cpus *cpus, char *text, size_t size);

/* The CPUs on which the calling thread may run (sched_getaffinity). */
sluice_status sli_cpus_of_thread(sli_cpus *cpus_out);

typedef struct sli_thread {
    pthread_t handle;
    bool started;
    _Atomic bool ended;     /* run() has returned */
    char name[16];          /* as in /proc */
    sli_cpus wanted;        /* requested CPUs; empty: inherited from the creator */
    sli_cpus got;           /* actual CPUs; set by the thread before it calls run() */
    int64_t start_ns;       /* when it was started */
    _Atomic int32_t id;     /* as gettid() returns it; 0 until the thread runs */
    sli_thread_times times; /* at the end of run(); valid if `ended` */
    void (*run)(void *arg); /* the thread's function */
    void *arg;
} sli_thread;

/*
 * Starts run(arg) on a new thread that blocks all signals. cpus is its affinity, or NULL. If the
 * kernel refuses the affinity, that is not an error: `got` holds the actual one. The struct must
 * not move until sli_thread_join().
 */
sluice_status sli_thread_start(sli_thread *thread, const char *name, const sli_cpus *cpus,
                               void (*run)(void *arg), void *arg);

/* Joins the thread; a no-op if it was never started. */
void sli_thread_join(sli_thread *thread);

/* The requested and actual CPUs of a thread, and the time that it has used. */
typedef struct sli_thread_place {
    char name[16];   /* "": the thread was never started */
    sli_cpus wanted; /* empty: inherited from the creator */
    sli_cpus got;    /* actual CPUs at the time of the call: a thread may bind itself (OpenMP) */
    sli_thread_times times; /* at the time of the call, or at the end of the thread */
} sli_thread_place;

/* Any thread may call it, but not while the thread is started or joined. */
void sli_thread_place_get(const sli_thread *thread, sli_thread_place *place_out);

/*
 * The number of threads of this process that have this name, and the union of their CPUs. A new
 * thread inherits the name of its creator until it sets its own. 0 without /proc.
 */
uint32_t sli_threads_named(const char *name, sli_cpus *cpus_out);

/*
 * The number of forks between the process that loaded the library and this one. Objects with
 * threads store it at creation. An object with another number belongs to a parent process; its
 * threads do not exist here, and it must not be used.
 */
uint32_t sli_fork_generation(void);

#endif
