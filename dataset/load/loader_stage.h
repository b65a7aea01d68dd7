/* SPDX-License-Identifier: Apache-2.0 */
/* Records the stage of the profile that a worker is in. */
#ifndef SLUICE_LOADER_STAGE_H
#define SLUICE_LOADER_STAGE_H

#include "nvtx_ranges_int.h"
#include "sample_loader.h"

/* The operation of the report that the time of a stage counts for, unless another one is entered.
 */
static inline uint8_t operation_of_stage(uint32_t stage)
{
    return stage == PLAN_DECODE   ? OPERATION_DECODE
           : stage == PLAN_PIXELS ? OPERATION_OTHER
                                  : OPERATION_NONE;
}

/* Enters a stage of the profile; returns the current time in ticks. */
static inline uint64_t enter_stage(sample_loader *loader, uint32_t stage)
{
    uint64_t now = sli_ticks();

    operation_enter(&loader->clock, operation_of_stage(stage));
    sli_range_begin(loader->plan->stage_names[stage]);
    loader->last.stage = loader->plan->stage_names[stage];
    atomic_store_explicit(&loader->report.state.stage, loader->last.stage, memory_order_relaxed);
    atomic_store_explicit(&loader->report.state.since_ticks, now, memory_order_relaxed);
    return now;
}

static inline void leave_stage(sample_loader *loader)
{
    sli_range_end();
    /* loader->last.stage is kept: error texts use it. */
    atomic_store_explicit(&loader->report.state.stage, "", memory_order_relaxed);
}

/* Leaves the stage and enters the next one. */
static inline uint64_t change_stage(sample_loader *loader, uint32_t stage)
{
    sli_range_end();
    return enter_stage(loader, stage);
}

#endif
