/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer for time without progress, driven by polls. Each poll adds the time since the previous
 * poll, up to twice the polling interval. So time in which the process was suspended (SIGSTOP, a
 * debugger, the cgroup freezer) and jumps of the clock are not counted.
 */
#ifndef SLUICE_POLLED_TIME_H
#define SLUICE_POLLED_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* Initialized to zero, except for the interval. */
typedef struct polled_time {
    int64_t interval_ns; /* between two polls */
    bool is_polled;      /* polled since the restart, last at polled_ns */
    int64_t polled_ns;
    int64_t ns; /* time counted since the restart */
} polled_time;

/* Call on progress: counts from zero again. */
static inline void polled_time_restart(polled_time *time)
{
    time->is_polled = false;
    time->ns = 0;
}

/* One poll; returns the time counted since the restart. */
static inline int64_t polled_time_poll(polled_time *time, int64_t now_ns)
{
    const int64_t most = 2 * time->interval_ns;
    const int64_t gone = time->is_polled ? now_ns - time->polled_ns : 0;

    time->is_polled = true;
    time->polled_ns = now_ns;
    time->ns += gone < 0 ? 0 : gone < most ? gone : most;
    return time->ns;
}

#endif
