/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation: a nested run of model.eval on another dataset, between two sinks of the training. The
 * outputs of a batch are sums over its samples. A result is the sum over all batches divided by the
 * number of samples.
 */
#ifndef SLUICE_VALIDATION_H
#define SLUICE_VALIDATION_H

#include "train_run.h"

typedef struct validation_results {
    double means[SLUICE_MAX_OUTPUTS]; /* (model.result_count) */
    uint64_t samples;
    double seconds;
} validation_results;

/* Opens the validation set and checks its nested run. Returns E_INVALID or the error of opening. */
sluice_status validation_check(const train_run *run);

/* True if validation is due at this step and not yet done. With `always` every step counts as due.
 */
bool validation_is_due(const train_run *run, bool always);

/* Runs the validation. The results are means over all ranks. Returns STOPPED after a stop request;
 * the results are then not set. */
sluice_status validation_run(train_run *run, validation_results *results_out);

/* Calls the validation hooks of the run's callbacks. */
sluice_status validation_call_hooks(train_run *run, const validation_results *results);

#endif
