/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the sinks and epochs of a run and calls their hooks. The caller performs the actions at
 * boundaries between them, so a nested run, which has no boundaries, can use the same functions.
 */
#ifndef SLUICE_EPOCH_H
#define SLUICE_EPOCH_H

#include "train_run.h"

/* The start of a range of steps, for the hook at the end of the range. */
typedef struct step_span {
    uint64_t first;
    int64_t start_ns;
    double waited; /* train_wait_seconds() at the start of the range */
} step_span;

/* Calls the hook train_begin. */
sluice_status train_begin(train_run *run);

/*
 * Calls the hook train_end; st is the status of the run. Returns the first error, or st. The hook
 * does not change the error text of st.
 */
sluice_status train_end(train_run *run, sluice_status st);

/* Calls the hook epoch_begin. */
sluice_status epoch_begin(train_run *run, step_span *span_out);

/* True if the epoch of the span continues with another sink. */
bool epoch_goes_on(const train_run *run, const step_span *span);

/*
 * Runs one sink and calls the step hooks: once around the whole sink in modes graph and loop,
 * around each step in the other modes. Returns END_OF_DATA if the data ended before the sink did.
 */
sluice_status epoch_run_sink(train_run *run);

/*
 * Calls the hook epoch_end if at least one step of the epoch ran; st is the status of its sinks.
 * Returns the first error, or st.
 */
sluice_status epoch_end(train_run *run, const step_span *span, sluice_status st);

/* Calls the hook epoch_end for an epoch whose steps ran in an earlier run. */
sluice_status epoch_end_before(train_run *run);

/* With several ranks, adopts the strongest outcome that any rank has requested so far. Collective.
 */
sluice_status train_meet_ranks(train_run *run);

/* True if a stop request ended the run before its last step. */
bool train_is_stopped(const train_run *run);

#endif
