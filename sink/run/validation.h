/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation: a nested run of model.eval on another dataset, between two sinks of the training. Its
 * outputs are sums over samples; results are the sums of all batches divided by all samples.
 */
#ifndef SLUICE_VALIDATION_H
#define SLUICE_VALIDATION_H

#include "train_run.h"

typedef struct validation_results {
    double means[SLUICE_MAX_OUTPUTS]; /* (model.result_count) */
    uint64_t samples;
    double seconds;
} validation_results;

/* Opens the validation set and checks its run: E_INVALID, or the error of opening it. */
sluice_status validation_check(const train_run *run);

/* Is validation due at this step, and not done for it yet? With `always` every step counts as due.
 */
bool validation_is_due(const train_run *run, bool always);

/* Runs it; results are of all ranks. STOPPED: a stop was requested, and there are no results. */
sluice_status validation_run(train_run *run, validation_results *results_out);

/* Calls the hook validation. */
sluice_status validation_call_hooks(train_run *run, const validation_results *results);

#endif
