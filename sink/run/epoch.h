/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sinks and epochs of a run, with their hooks. The caller does the actions at boundaries between
 * them, so a nested run, which has no boundaries, uses the same functions.
 */
#ifndef SLUICE_EPOCH_H
#define SLUICE_EPOCH_H

#include "train_run.h"

/* A range of steps and its start, for the hook at its end. */
typedef struct step_span {
    uint64_t first;
    int64_t start_ns;
    double waited; /* seconds that steps of the run had waited for data at the start */
} step_span;

/* Calls the hook train_begin. */
sluice_status train_begin(train_run *run);

/*
 * Calls the hook train_end; st is the status of the run. Returns the first error, or st. The text
 * of an error survives the hook.
 */
sluice_status train_end(train_run *run, sluice_status st);

/* Calls the hook epoch_begin. */
sluice_status epoch_begin(train_run *run, step_span *span_out);

/* Does the epoch of the span continue with another sink? */
bool epoch_goes_on(const train_run *run, const step_span *span);

/*
 * Runs one sink with the step hooks: around the whole sink in modes graph and loop, around each
 * step in the others. END_OF_DATA: the data ended before the sink did.
 */
sluice_status epoch_run_sink(train_run *run);

/*
 * Calls the hook epoch_end if at least one step of the epoch ran; st is the status of its sinks.
 * Returns the first error, or st.
 */
sluice_status epoch_end(train_run *run, const step_span *span, sluice_status st);

/* Calls the hook epoch_end for an epoch whose steps ran in an earlier run. */
sluice_status epoch_end_before(train_run *run);

/* With several ranks: agrees on the strongest outcome that any rank has requested so far. */
sluice_status train_meet_ranks(train_run *run);

/* Was the run stopped on request before its last step? */
bool train_is_stopped(const train_run *run);

#endif
