/* SPDX-License-Identifier: Apache-2.0 */
/* What a run does at boundaries, where the host has the model to itself: in which order. */
#ifndef SLUICE_BOUNDARY_H
#define SLUICE_BOUNDARY_H

#include "train_run.h"

/*
 * Validation when it is due, or when `always` unless this step has one: an early checkpoint, the
 * validation, the best checkpoint, the hook. A stop that is requested meanwhile leaves out the
 * rest.
 */
sluice_status boundary_validate(train_run *run, bool always);

/* What a run resumed from an early checkpoint does first: what follows that checkpoint. */
sluice_status boundary_finish(train_run *run);

/* What a run that ends without an error leaves: results, and a checkpoint. */
sluice_status boundary_at_end(train_run *run);

#endif
