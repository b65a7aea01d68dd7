/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a run's actions at a boundary, where only the host accesses the model. */
#ifndef SLUICE_BOUNDARY_H
#define SLUICE_BOUNDARY_H

#include "train_run.h"

/*
 * Validates if validation is due, or if `always`, unless this step was validated already. In order:
 * an early checkpoint, the validation, the best checkpoint, the hook. A stop request in between
 * skips the rest.
 */
sluice_status boundary_validate(train_run *run, bool always);

/* First action of a run that resumes from an early checkpoint: the actions that followed that
 * checkpoint. */
sluice_status boundary_finish(train_run *run);

/* Last actions of a run that ends without an error: validation at_end and a checkpoint. */
sluice_status boundary_at_end(train_run *run);

#endif
