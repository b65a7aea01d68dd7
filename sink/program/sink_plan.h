/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many steps there are and where sinks end: pure arithmetic over 64-bit counts.
 *
 * An epoch is `steps_per_epoch` steps, counted from the very start of the training, or, in a run
 * that was resumed and whose epochs are passes, from the end of the pass that it begins in; a sink
 * is what is left of an epoch, so a run that begins within one ends its first sink at that epoch's
 * end.
 */
#ifndef SLUICE_SINK_PLAN_H
#define SLUICE_SINK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

/* What is done at boundaries within and between epochs. */
typedef enum sink_boundary {
    BOUNDARY_VALIDATION,
    BOUNDARY_CHECKPOINT,
    SINK_BOUNDARIES
} sink_boundary;

/* After every so many steps, or else epochs; 0 and 0: never. */
typedef struct boundary_request {
    uint64_t steps;
    uint64_t epochs;
} boundary_request;

/* What the user asked for. */
typedef struct sink_request {
    uint64_t batches_per_pass;
    uint32_t micro_batches; /* batches of a step */
    bool sink_mode;
    int64_t sink_size;
    uint64_t epochs; /* 0: no limit by epochs */
    uint64_t initial_epoch;
    uint64_t start_step; /* on top of initial_epoch */
    uint64_t max_steps;  /* of this run; 0: no limit */
    bool resumed;        /* a run that is done already is one of no steps, and no mistake; it */
    uint64_t pass;       /* begins in this pass, */
    uint64_t batches;    /* of which so many batches are left */
    boundary_request boundaries[SINK_BOUNDARIES];
} sink_request;

typedef struct sink_plan {
    uint64_t steps_per_epoch;
    uint64_t first_step;
    uint64_t end_step;   /* one past the last; UINT64_MAX: without end */
    uint64_t epoch_step; /* here begins epoch */
    uint64_t epoch;
    boundary_request boundaries[SINK_BOUNDARIES]; /* sinks end at them, too */
} sink_plan;

/* E_INVALID for counts that do not fit 64 bits, and when nothing is left to do. */
sluice_status sink_plan_make(const sink_request *request, sink_plan *plan_out);

/* The data have ended when `step` steps were done, and with them the epoch and the run. */
void sink_plan_end(sink_plan *plan, uint64_t step);

/* Steps of the sink that begins at `step`: up to the end of its epoch, or of the run, or to a
 * boundary. */
uint64_t sink_plan_length(const sink_plan *plan, uint64_t step);

/* Is there that boundary, when `step` steps are done? */
bool sink_plan_is_boundary(const sink_plan *plan, sink_boundary boundary, uint64_t step);

/* The epoch that `step` is in; so many epochs are complete when `step` steps are done. */
uint64_t sink_plan_epoch(const sink_plan *plan, uint64_t step);

/* Is `step` the first of its epoch? Also of the epoch that a resumed run begins with. */
bool sink_plan_begins_epoch(const sink_plan *plan, uint64_t step);

/* The epoch of the step before; 0 for step 0. */
uint64_t sink_plan_epoch_before(const sink_plan *plan, uint64_t step);

#endif
