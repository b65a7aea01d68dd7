/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run within another run, on the same ranks: for validation and for the mode check. It has no
 * boundaries and makes no collective calls.
 */
#ifndef SLUICE_NESTED_RUN_H
#define SLUICE_NESTED_RUN_H

#include <sluice/train.h>

#include "engine_int.h"

/* The bad samples that a nested run replaced or zeroed. */
typedef struct nested_errors {
    uint64_t count;         /* number of these samples */
    sli_error_sample first; /* valid if count > 0 */
} nested_errors;

/*
 * Runs the model on a dataset within another run. Returns the first error, or STOPPED if the run
 * was stopped before its last step. errors_out may be NULL; it receives the bad samples, also on an
 * error.
 */
sluice_status nested_run(sluice_device *device, const sluice_model *model, sluice_dataset *dataset,
                         const sluice_train_config *config, nested_errors *errors_out);

/* Checks a nested run's arguments and opens its feed, without running a step. Returns E_INVALID or
 * the error of opening the feed. */
sluice_status nested_run_check(sluice_device *device, const sluice_model *model,
                               sluice_dataset *dataset, const sluice_train_config *config);

#endif
