/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many steps a run has and where its sinks end: pure arithmetic over 64-bit counts.
 *
 * An epoch is `steps_per_epoch` steps, counted from the start of the training. In a resumed run
 * whose epochs are passes, epochs are counted from the end of the pass in which the run begins. A
 * sink is the rest of an epoch: a run that begins within an epoch ends its first sink at the end of
 * that epoch.
 *
 * If epochs are passes whose lengths are unknown, the run reports the end of each epoch
 * (sink_plan_end_epoch()), and the number of an epoch is that of its pass.
 */
#ifndef SLUICE_SINK_PLAN_H
#define SLUICE_SINK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

/* Actions at boundaries within and between epochs. */
typedef enum sink_boundary {
    BOUNDARY_VALIDATION,
    BOUNDARY_CHECKPOINT,
    SINK_BOUNDARIES
} sink_boundary;

/* Interval between two runs of an action: `steps` steps, or `epochs` epochs if steps is 0. If both
 * are 0, the action never runs. */
typedef struct boundary_request {
    uint64_t steps;
    uint64_t epochs;
} boundary_request;

/* True if each epoch is a pass; else it is sink_size steps, over any number of passes. */
static inline bool sink_epochs_are_passes(bool sink_mode, int64_t sink_size)
{
    return !sink_mode || sink_size <= 0;
}

/* The user's request. */
typedef struct sink_request {
    uint64_t batches_per_pass;
    uint32_t micro_batches; /* batches per step */
    bool sink_mode;
    int64_t sink_size;
    uint64_t epochs; /* 0: no limit by epochs */
    uint64_t initial_epoch;
    uint64_t start_step;  /* steps to skip, in addition to the epochs before initial_epoch */
    uint64_t max_steps;   /* maximum number of steps of this run; 0: no limit */
    uint64_t total_steps; /* maximum number of steps of the whole training, over all its runs; 0: no
                             limit */
    bool resumed;     /* a resumed run that is already complete is not an error, but has no steps */
    uint64_t pass;    /* pass in which a resumed run begins */
    uint64_t batches; /* batches left in that pass */
    bool unknown;     /* epochs are passes whose lengths are unknown */
    bool within;      /* if `unknown`: the run begins within a pass, not at its first sample */
    boundary_request boundaries[SINK_BOUNDARIES];
} sink_request;

typedef struct sink_plan {
    uint64_t steps_per_epoch;
    uint64_t first_step;
    uint64_t end_step;   /* one past the last step; UINT64_MAX: no limit */
    uint64_t epoch_step; /* first step of `epoch`; if `unknown`, 0 if it is before first_step */
    uint64_t epoch;
    uint64_t first_epoch; /* epoch of first_step */
    bool unknown; /* epochs are passes whose lengths are unknown; `epoch` is the current one,
                     or the next one after sink_plan_end_epoch() */
    boundary_request boundaries[SINK_BOUNDARIES]; /* sinks also end at these boundaries */
} sink_plan;

/* Computes the plan. Returns E_INVALID if the counts do not fit 64 bits, or if no steps are left
 * and the run is not resumed. */
sluice_status sink_plan_make(const sink_request *request, sink_plan *plan_out);

/* Ends the epoch and the run after `step` steps, because the data ended there. */
void sink_plan_end(sink_plan *plan, uint64_t step);

/* If `unknown`: the run begins in this pass, `within`: not at its first sample. */
void sink_plan_begin_in(sink_plan *plan, uint64_t pass, bool within);

/* If `unknown`: ends the epoch after `step` steps. No program may be running. */
void sink_plan_end_epoch(sink_plan *plan, uint64_t step);

/* Number of steps of the sink that begins at `step`. The sink ends at the next boundary with an
 * action, at the end of the epoch, or at the end of the run. */
uint64_t sink_plan_length(const sink_plan *plan, uint64_t step);

/* True if the action is due after `step` steps. */
bool sink_plan_is_boundary(const sink_plan *plan, sink_boundary boundary, uint64_t step);

/* The epoch of `step`, from 0; also the number of epochs that are complete after `step` steps. */
uint64_t sink_plan_epoch(const sink_plan *plan, uint64_t step);

/* True if `step` is the first step of its epoch, also for the first whole epoch of a resumed run.
 */
bool sink_plan_begins_epoch(const sink_plan *plan, uint64_t step);

/* The epoch of the step before `step`; 0 for step 0. */
uint64_t sink_plan_epoch_before(const sink_plan *plan, uint64_t step);

#endif
