/* SPDX-License-Identifier: Apache-2.0 */
/* Decides when a run loads and writes checkpoints. All functions except checkpointing_keep_early()
 * are collective. */
#ifndef SLUICE_CHECKPOINTING_H
#define SLUICE_CHECKPOINTING_H

#include "train_run.h"

/* Loads the newest checkpoint if config.checkpoint requests it, and sets config.start_step to the
 * checkpoint's step. */
sluice_status checkpointing_resume(train_run *run);

/* Writes a checkpoint if one is due or `always` is true, unless this step already has one. */
sluice_status checkpointing_write(train_run *run, bool always);

/*
 * Call before validation. Writes an early checkpoint if a checkpoint is due at this step or
 * `always` is true, so that no steps are lost if validation fails. checkpointing_write() later
 * replaces the early checkpoint.
 */
sluice_status checkpointing_write_early(train_run *run, bool always);

/* Call if validation was stopped: an early checkpoint of this step remains the one to resume from.
 */
void checkpointing_keep_early(train_run *run);

/* Writes the best checkpoint if these validation results are the best so far. */
sluice_status checkpointing_write_best(train_run *run, const double *results);

#endif
