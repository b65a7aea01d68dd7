/* SPDX-License-Identifier: Apache-2.0 */
/* When a run resumes from a checkpoint and when it writes one. All functions but
 * checkpointing_keep_early() are collective. */
#ifndef SLUICE_CHECKPOINTING_H
#define SLUICE_CHECKPOINTING_H

#include "train_run.h"

/* Loads the newest checkpoint if the config says so, and sets config.start_step to its step. */
sluice_status checkpointing_resume(train_run *run);

/* Writes a checkpoint if one is due, or if `always`, unless this step has one. */
sluice_status checkpointing_write(train_run *run, bool always);

/*
 * Call before validation. Writes an early checkpoint if a checkpoint is due at this step, or if
 * `always`, so that nothing is lost if validation fails. checkpointing_write() replaces it.
 */
sluice_status checkpointing_write_early(train_run *run, bool always);

/* Call if validation was stopped: an early checkpoint of this step remains the one to resume from.
 */
void checkpointing_keep_early(train_run *run);

/* Writes the best checkpoint if these results of validation are the best so far. */
sluice_status checkpointing_write_best(train_run *run, const double *results);

#endif
