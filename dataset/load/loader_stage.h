/* SPDX-License-Identifier: Apache-2.0 */
/* Records the stage of the profile that a worker is in. */
#ifndef SLUICE_LOADER_STAGE_H
#define SLUICE_LOADER_STAGE_H

#include "nvtx_ranges_int.h"
#include "sample_loader.h"

/* The operation that a stage is charged to until another one is entered. */
static inline uint8_t operation_of_stage(uint32_t stage)
{
    return stage == PLAN_DECODE   ? OPERATION_DECODE
           : stage == PLAN_PIXELS ? OPERATION_OTHER
                                  : OPERATION_NONE;
}

/* The current time in ticks, for the durations of stages: the time of the clock is left out. */
static inline uint64_t stage_ticks(const sample_loader *loader)
{
    return sli_stage_clock_ticks(&loader->report.clock);
}

/* Sets the stage that diagnostics and error texts name; returns the current time. */
static inline uint64_t set_stage(sample_loader *loader, uint32_t stage)
{
    const uint64_t now = stage_ticks(loader);

    operation_enter(&loader->clock, operation_of_stage(stage));
    sli_range_begin(loader->plan->stage_names[stage]);
    loader->last.stage = loader->plan->stage_names[stage];
    atomic_store_explicit(&loader->report.state.stage, loader->last.stage, memory_order_relaxed);
    atomic_store_explicit(&loader->report.state.since_ticks, now + loader->report.clock.spent_ticks,
                          memory_order_relaxed);
    return now;
}

/* Enters the first stage of an item that counts as `items`; returns the current time. */
static inline uint64_t enter_stage(sample_loader *loader, uint32_t stage, uint32_t items)
{
    sli_stage_clock_begin(&loader->report.clock, items, loader->report.counters[stage]);
    return set_stage(loader, stage);
}

static inline void leave_stage(sample_loader *loader)
{
    sli_stage_clock_enter(&loader->report.clock, NULL);
    sli_range_end();
    /* loader->last.stage is kept: error texts use it. */
    atomic_store_explicit(&loader->report.state.stage, "", memory_order_relaxed);
}

/* Leaves the stage and enters the next one. */
static inline uint64_t change_stage(sample_loader *loader, uint32_t stage)
{
    sli_range_end();
    sli_stage_clock_enter(&loader->report.clock, loader->report.counters[stage]);
    return set_stage(loader, stage);
}

/* Adds the current sample to the worker's slowest: it took `ticks` in a stage (sample_reading.c).
 */
void sample_note_slow(sample_loader *loader, uint32_t stage, uint64_t ticks);

/* Counts the current sample in a stage. */
static inline void count_item(sample_loader *loader, uint32_t stage, uint64_t ticks, uint64_t bytes)
{
    sli_counters_item(loader->report.counters[stage], ticks, bytes);
    if (__builtin_expect(ticks > loader->report.slow.least, 0)) {
        sample_note_slow(loader, stage, ticks);
    }
}

#endif
