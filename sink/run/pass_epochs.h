/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs that are passes whose lengths are unknown (run->passes.unknown): of streams, filters, pack
 * and bucket. Workers go on into the next pass, so its batches are prefetched, but no step runs on
 * them before the epoch has ended: the host launches only batches that it knows to be of the
 * epoch's pass (run->passes.limits). All ranks find the same batches in a pass, and so end the
 * epoch after the same step. The last epoch ends with the data.
 */
#ifndef SLUICE_PASS_EPOCHS_H
#define SLUICE_PASS_EPOCHS_H

#include "train_run.h"

/* Call once the run's position is known: sets the current pass, and the passes that workers make.
 */
void pass_epochs_begin(train_run *run);

/*
 * Returns the number of batches from batch `seq` of the queue on, up to the end of the epoch's
 * pass; UINT64_MAX: not known yet, and all batches that have arrived are in the pass.
 */
uint64_t pass_epochs_left(const train_run *run, uint64_t seq);

/* Ends the epoch after the steps that have run; the next one begins. After the last one the run
 * ends. */
void pass_epochs_end(train_run *run);

/* The run begins in a later pass: the current one has no batch after start_step. */
void pass_epochs_skip(train_run *run);

/* The run's position after the steps that have run. */
sli_position pass_epochs_position(const train_run *run);

#endif
