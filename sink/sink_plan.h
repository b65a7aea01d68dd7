/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many steps there are and where sinks end: pure arithmetic over 64-bit counts.
 *
 * An epoch is `steps_per_epoch` steps, counted from the very start of the training; a sink is what
 * is left of an epoch, so a run that begins within one ends its first sink at that epoch's end.
 */
#ifndef SLUICE_SINK_PLAN_H
#define SLUICE_SINK_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

/* What the user asked for. */
typedef struct sink_request {
    uint64_t batches_per_pass;
    bool sink_mode;
    int64_t sink_size;
    uint64_t epochs; /* 0: no limit by epochs */
    uint64_t initial_epoch;
    uint64_t start_step; /* on top of initial_epoch */
    uint64_t max_steps;  /* of this run; 0: no limit */
    uint64_t border_steps;  /* a border after every so many steps; 0: none */
    uint64_t border_epochs; /* the same in epochs */
} sink_request;

typedef struct sink_plan {
    uint64_t steps_per_epoch;
    uint64_t first_step;
    uint64_t end_step; /* one past the last; UINT64_MAX: without end */
    uint64_t passes;   /* touched; UINT64_MAX: without end */
    uint64_t border;   /* sinks end at its multiples, too; 0: none */
} sink_plan;

/* E_INVALID for counts that do not fit 64 bits, and when nothing is left to do. */
sluice_status sink_plan_make(const sink_request *request, sink_plan *plan_out);

/* Steps of the sink that begins at `step`: up to the end of its epoch, or of the run, or to a
 * border. */
uint64_t sink_plan_length(const sink_plan *plan, uint64_t step);

/* Is there a border, when `step` steps are done? */
bool sink_plan_is_border(const sink_plan *plan, uint64_t step);

/* The epoch that `step` is in; so many epochs are complete when `step` steps are done. */
uint64_t sink_plan_epoch(const sink_plan *plan, uint64_t step);

#endif
