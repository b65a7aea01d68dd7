/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sinks and epochs of a run with their hooks. What is due at boundaries between them is the
 * caller's, so a nested run, which has none, is made of the same parts.
 */
#ifndef SLUICE_EPOCH_H
#define SLUICE_EPOCH_H

#include "train_run.h"

/* A stretch of steps, for the hook at its end. */
typedef struct step_span {
    uint64_t first;
    int64_t start_ns;
    double waited; /* seconds, of the run before it */
} step_span;

/* Calls the hook train_begin. */
sluice_status train_begin(train_run *run);

/*
 * Calls the hook train_end with what a run of status st came to. Returns the first error, or st;
 * the text of an error outlives the hook.
 */
sluice_status train_end(train_run *run, sluice_status st);

/* Calls the hook epoch_begin. */
sluice_status epoch_begin(train_run *run, step_span *span_out);

/* Does the epoch of the span have another sink? */
bool epoch_goes_on(const train_run *run, const step_span *span);

/*
 * Runs one sink with the step hooks: around the whole sink in modes graph and loop, around each
 * step in the others. END_OF_DATA where fewer steps than planned have data.
 */
sluice_status epoch_run_sink(train_run *run);

/*
 * Calls the hook epoch_end, unless no step of the epoch ran; st is what its sinks came to. Returns
 * the first error, or st.
 */
sluice_status epoch_end(train_run *run, const step_span *span, sluice_status st);

/* Calls the hook epoch_end for an epoch whose steps another run has run. */
sluice_status epoch_end_before(train_run *run);

/* With several ranks: what any of them has requested by now, all do. */
sluice_status train_meet_ranks(train_run *run);

/* Where the run ended before its last step on request. */
bool train_is_stopped(const train_run *run);

#endif
