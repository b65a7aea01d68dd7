/* SPDX-License-Identifier: Apache-2.0 */
/* What the ranks of a run agree on: their settings as it opens, its outcome at each boundary. */
#ifndef SLUICE_RUN_AGREEMENT_H
#define SLUICE_RUN_AGREEMENT_H

#include "train_run.h"

/* Before anything is loaded. E_INVALID: ranks are missing, or not all of them have checkpoints. */
sluice_status train_agree_on_ranks(train_run *run);

/* E_INVALID: ranks differ in their data, or in a setting that decides on collective calls. */
sluice_status train_agree_on_run(train_run *run);

/* At a boundary: the largest outcome that a rank has requested becomes that of all. E_NAN. */
sluice_status train_agree_at_boundary(train_run *run);

#endif
