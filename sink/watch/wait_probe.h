/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What workers wait for in a stage: a lock, or something else. Clocks show that a function of the
 * user sleeps, but not why, and if it waits for a lock, more workers gain nothing. The stall
 * monitor reads the system call of each worker from /proc: every 100 ms in the first second, then
 * every second.
 */
#ifndef SLUICE_WAIT_PROBE_H
#define SLUICE_WAIT_PROBE_H

#include <sys/syscall.h>

#include "engine_int.h"

enum { WAIT_PROBE_STAGES = 12 };

/* The system call in which a thread waits for a lock. */
enum { WAIT_FUTEX = SYS_futex };

/* How often workers were found in a stage. */
typedef struct wait_counts {
    uint32_t running; /* on a CPU, or ready to run */
    uint32_t locked;  /* in a futex: they wait for a lock or for another thread */
    uint32_t asleep;  /* in another system call: reading, sleeping, polling */
} wait_counts;

/* Zero before the first poll. */
typedef struct wait_probe {
    int64_t begin_ns; /* 0: not polled yet */
    int64_t next_ns;
    uint32_t worker; /* where the next poll begins, if there are many workers */
    bool unreadable; /* /proc does not give the system call, at least not to this process */
    wait_counts stages[WAIT_PROBE_STAGES]; /* by the stages of the plan */
} wait_probe;

/* Looks at the workers if it is time to. */
void wait_probe_poll(wait_probe *probe, const sli_engine *engine, int64_t now_ns);

/* Counts the contents of /proc/PID/task/TID/syscall. False: the text is not one of them. */
bool wait_probe_count(const char *text, wait_counts *counts);

#endif
