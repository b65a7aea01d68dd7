/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of a run agree: on their settings when it opens, on its outcome at each boundary. */
#ifndef SLUICE_RUN_AGREEMENT_H
#define SLUICE_RUN_AGREEMENT_H

#include "train_run.h"

/* Call before a checkpoint is loaded. E_INVALID: ranks are missing, or not all of them have
 * checkpoints. */
sluice_status train_agree_on_ranks(train_run *run);

/* E_INVALID: ranks differ in their data, or in a setting that affects collective calls. */
sluice_status train_agree_on_run(train_run *run);

/* Call at a boundary: the largest outcome that a rank has requested becomes the outcome of all
 * ranks. E_NAN. */
sluice_status train_agree_at_boundary(train_run *run);

#endif
