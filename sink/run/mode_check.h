/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mode check: the first steps run twice in direct mode and once in the mode of the run, each
 * time from the same saved model. Their inputs and outputs are compared bit for bit.
 */
#ifndef SLUICE_MODE_CHECK_H
#define SLUICE_MODE_CHECK_H

#include "train_run.h"

/*
 * Runs the mode check; a no-op without config.check. Returns E_INVALID if the steps differ. The
 * saved model is loaded again in any case. sluice_stop_request() during the check ends the whole
 * run; what a hook requests is ignored there.
 */
sluice_status mode_check_run(train_run *run);

#endif
