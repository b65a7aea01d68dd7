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

/* The smallest member at or after cpu; -1 when there is none. */
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
    sli_cpus wanted;        /* empty: wherever the creator may run */
    sli_cpus got;           /* valid once the thread has run its first instruction */
    void (*run)(void *arg); /* the thread's function */
    void *arg;
} sli_thread;

/*
 * Starts run(arg) on a new thread that blocks all signals. cpus is its affinity, or NULL; a refusal
 * by the kernel is no error, `got` holds the actual affinity. The struct must not move until
 * sli_thread_join().
 */
sluice_status sli_thread_start(sli_thread *thread, const char *name, const sli_cpus *cpus,
                               void (*run)(void *arg), void *arg);

/* Joins the thread; does nothing when it was never started. */
void sli_thread_join(sli_thread *thread);

/* Where a thread was to run, and where it may. */
typedef struct sli_thread_place {
    char name[16];   /* "": it was never started */
    sli_cpus wanted; /* empty: wherever the creator may run */
    sli_cpus got;    /* of a thread that runs as of now: code that it calls may bind it (OpenMP) */
} sli_thread_place;

/* Any thread, but not while the thread is started or joined. */
void sli_thread_place_get(const sli_thread *thread, sli_thread_place *place_out);

/*
 * Threads of this process that have this name, and the CPUs that any of them may run on. A new
 * thread has the name of the thread that starts it until it is given one. 0 without /proc.
 */
uint32_t sli_threads_named(const char *name, sli_cpus *cpus_out);

/*
 * The number of forks between the process that loaded the library and this one. Objects with
 * threads store it at creation; an object with another number belongs to a parent process, whose
 * threads do not exist here, and must not be used.
 */
uint32_t sli_fork_generation(void);

#endif
