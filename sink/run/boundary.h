/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a run's actions at a boundary, where only the host accesses the model. */
#ifndef SLUICE_BOUNDARY_H
#define SLUICE_BOUNDARY_H

#include "train_run.h"

/*
 * Validates if validation is due or `always` is true, unless this step was validated already. The
 * order is: early checkpoint, validation, best checkpoint, validation hook. A stop request in
 * between skips the remaining actions.
 */
sluice_status boundary_validate(train_run *run, bool always);

/* First call of a run that resumes from an early checkpoint: performs the boundary actions that the
 * earlier run had not reached. */
sluice_status boundary_finish(train_run *run);

/*
 * First call of a run that resumes within a pass of unknown length. If an earlier run was ended
 * after the last step of that pass, it has called the hook epoch_end, but did not know that the
 * pass was complete: ends the epoch, validates and writes a checkpoint if these are due.
 */
sluice_status boundary_resumed_pass(train_run *run);

/* For a run that begins after start_step: waits until the pass in which it begins is known, if its
 * passes have unknown lengths. Call before the hooks. */
sluice_status boundary_counted_passes(train_run *run);

/* Performs the last actions of a run that ends without an error: the validation at_end and a
 * checkpoint. */
sluice_status boundary_at_end(train_run *run);

#endif
