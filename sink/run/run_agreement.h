/* SPDX-License-Identifier: Apache-2.0 */
/* Agreement among a run's ranks: on their settings when the run opens, and on its outcome at each
 * boundary. */
#ifndef SLUICE_RUN_AGREEMENT_H
#define SLUICE_RUN_AGREEMENT_H

#include "train_run.h"

/* Call before a checkpoint is loaded. Returns E_INVALID if ranks are missing, or if
 * config.checkpoint is set on some ranks only. */
sluice_status train_agree_on_ranks(train_run *run);

/* Returns E_INVALID if ranks differ in their data, or in a setting that affects collective calls.
 */
sluice_status train_agree_on_run(train_run *run);

/* Call at a boundary. The strongest outcome that any rank has requested becomes the outcome of all
 * ranks. Returns E_NAN if the NaN guard of any rank ends the run. */
sluice_status train_agree_at_boundary(train_run *run);

#endif
