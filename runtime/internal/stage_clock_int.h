/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long a thread is on a CPU, in the run queue, and blocked in each stage of the
 * profile. Reading the clocks of the kernel takes 1 us, and 4 us if its data are not in the caches.
 * So a thread measures about one item in 14 ms, at least one in 4096 and at most one in 8 on
 * average, and its first ones more often. Gaps between measured items have random lengths, so that
 * no period of the data matches them. A measured item is counted as often
 * as there are items since the last one; the sums are estimates of all items. A batch is an item
 * that counts as its rows, so that its time is first divided by them.
 */
#ifndef SLUICE_STAGE_CLOCK_INT_H
#define SLUICE_STAGE_CLOCK_INT_H

#include <stdbool.h>

#include "profiler_int.h"

/* The times of the thread at an edge between two stages, since it began. */
typedef struct sli_stage_edge {
    bool has_runqueue;
    int64_t cpu_ns;
    int64_t runqueue_ns;
} sli_stage_edge;

typedef struct sli_stage_clock {
    bool is_running;      /* the current item is measured */
    int schedstat;        /* descriptor of the thread's file + 1; 0: not opened; negative: closed */
    int64_t retry_ns;     /* if it is not opened: before this sli_now_ns() it is not tried */
    uint32_t random;      /* state of the generator of gaps */
    uint32_t weight;      /* items since the last measured one, which the current one stands for */
    uint32_t items;       /* as how many of these it counts itself: 1, or the rows of a batch */
    uint64_t item;        /* number of the current measured item, from 1 */
    uint64_t spent_ticks; /* time spent in the clocks so far */
    uint64_t edge_ticks;  /* of the last edge between two stages, like the next two */
    sli_stage_edge edge;
    sli_counters *counters; /* of the stage that the item is in */
} sli_stage_clock;

/* Callable from any thread; sli_stage_clock_fini() also takes a clock that is all zero. All other
 * functions must be called by the measured thread, always the same one: the clock opens the file of
 * that thread, and keeps it open until sli_stage_clock_fini(). If that fails, it tries again after
 * a second. */
void sli_stage_clock_init(sli_stage_clock *clock);
void sli_stage_clock_fini(sli_stage_clock *clock);

/* Tests: measures one item in `gap` from now on, on all threads; 0: as usual; UINT32_MAX: none. */
void sli_stage_clock_replace_gap(uint32_t gap);

/* Begins to measure an item that counts as `items`, and chooses the next gap. With the first item
 * of a stage it only chooses the gap, unless that gap has passed. */
void sli_stage_clock_start(sli_stage_clock *clock, uint32_t items, sli_counters *counters);

/* Ends the current stage and adds its time to its counters; then `counters` are those of the stage
 * that begins. NULL: the item ends. */
void sli_stage_clock_edge(sli_stage_clock *clock, sli_counters *counters);

/* An item that counts as `items`, such as a batch as its rows, begins in a stage. */
static inline void sli_stage_clock_begin(sli_stage_clock *clock, uint32_t items,
                                         sli_counters *counters)
{
    sli_stage_gap *gap = &counters->gap;

    gap->passed += items;
    if (__builtin_expect(gap->passed >= gap->length, 0)) {
        sli_stage_clock_start(clock, items, counters);
    }
}

/* The item enters another stage. NULL: it ends. */
static inline void sli_stage_clock_enter(sli_stage_clock *clock, sli_counters *counters)
{
    if (__builtin_expect(clock->is_running, 0)) {
        sli_stage_clock_edge(clock, counters);
    }
}

/* Time in ticks that stands still while the clocks are read: for the duration of a stage, which a
 * measurement must not make longer. */
static inline uint64_t sli_stage_clock_ticks(const sli_stage_clock *clock)
{
    return sli_ticks() - clock->spent_ticks;
}

#endif
