/* SPDX-License-Identifier: Apache-2.0 */
/* When a run resumes from a checkpoint and when it writes one; each is collective. */
#ifndef SLUICE_CHECKPOINTING_H
#define SLUICE_CHECKPOINTING_H

#include "train_run.h"

/* Finds where the run begins, which is config.start_step from then on. */
sluice_status checkpointing_resume(train_run *run);

/* Writes a checkpoint when one is due, or when `always`, unless this step has one. */
sluice_status checkpointing_write(train_run *run, bool always);

/*
 * Before validation: writes an early checkpoint when one is due at this step, or when `always`, so
 * that nothing is lost if validation fails; checkpointing_write() replaces it.
 */
sluice_status checkpointing_write_early(train_run *run, bool always);

/* Validation was stopped: an early checkpoint of this step stays what a run resumes from. */
void checkpointing_keep_early(train_run *run);

/* Writes the best checkpoint when these results of validation are the best so far. */
sluice_status checkpointing_write_best(train_run *run, const double *results);

#endif
