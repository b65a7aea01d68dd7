/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library: each has a name, an owner, blocked signals, and maybe a set of CPUs. */
#ifndef SLUICE_THREAD_INT_H
#define SLUICE_THREAD_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* A condition whose timed waits are by the monotonic clock. */
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
    char name[16];          /* as the kernel shows it */
    sli_cpus wanted;        /* empty: wherever the creator may run */
    sli_cpus got;           /* valid once the thread has run its first instruction */
    void (*run)(void *arg); /* the body */
    void *arg;
} sli_thread;

/*
 * Starts run(arg) on a new thread that blocks all signals. cpus, when not NULL, is where it shall
 * run; a refusal by the kernel is no error, `got` says what came of it. The struct must stay where
 * it is until sli_thread_join().
 */
sluice_status sli_thread_start(sli_thread *thread, const char *name, const sli_cpus *cpus,
                               void (*run)(void *arg), void *arg);

/* Waits for the end of the thread; nothing to do when it was never started. */
void sli_thread_join(sli_thread *thread);

/*
 * The number of forks between the process that loaded the library and this one. Objects with
 * threads remember it when made; one with another number belongs to a parent process, whose
 * threads are not here, and must not be used.
 */
uint32_t sli_fork_generation(void);

#endif
