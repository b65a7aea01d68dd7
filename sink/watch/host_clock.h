/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the thread that called sluice_train() does, and for how long. Each moment belongs to one
 * kind of work: the one that was entered last. So a call of agree within a checkpoint counts as
 * agree, and the sums add up to the time since the start.
 *
 * Hooks, checkpoints, validations and agree run only while no launch is in flight, so the device is
 * idle in them. While the thread is in HOST_SINK, the device waits for data, runs steps, or waits
 * for the host.
 */
#ifndef SLUICE_HOST_CLOCK_H
#define SLUICE_HOST_CLOCK_H

#include <string.h>

#include "clock_int.h"

typedef enum host_work {
    HOST_OTHER,
    HOST_SINK, /* runs the steps of a sink: launches, waits for data and for the device */
    HOST_HOOK,
    HOST_CHECKPOINT,
    HOST_VALIDATION,
    HOST_AGREE,
    HOST_WORKS
} host_work;

/* Used by one thread. Call host_clock_open() first. */
typedef struct host_clock {
    host_work now;
    uint64_t since_ticks;       /* when `now` was entered */
    uint64_t open_ticks;        /* before host_clock_start() */
    uint64_t ticks[HOST_WORKS]; /* since then, without the time since since_ticks */
} host_clock;

static inline void host_clock_open(host_clock *clock)
{
    memset(clock, 0, sizeof(*clock));
    clock->since_ticks = sli_ticks();
}

/* Enters `work`; returns the work before it, which host_clock_leave() takes. */
static inline host_work host_clock_enter(host_clock *clock, host_work work)
{
    const host_work before = clock->now;
    const uint64_t now = sli_ticks();

    clock->ticks[before] += now - clock->since_ticks;
    clock->since_ticks = now;
    clock->now = work;
    return before;
}

static inline void host_clock_leave(host_clock *clock, host_work before)
{
    (void)host_clock_enter(clock, before);
}

/* The run starts: all time so far was needed to open it. Call it in HOST_OTHER. */
static inline void host_clock_start(host_clock *clock)
{
    (void)host_clock_enter(clock, HOST_OTHER);
    for (int work = 0; work < HOST_WORKS; work++) {
        clock->open_ticks += clock->ticks[work];
        clock->ticks[work] = 0;
    }
}

/* Ticks in `work` since the start, up to `now`. */
static inline uint64_t host_clock_ticks(const host_clock *clock, host_work work, uint64_t now)
{
    const uint64_t current =
        clock->now == work && now > clock->since_ticks ? now - clock->since_ticks : 0;

    return clock->ticks[work] + current;
}

#endif
