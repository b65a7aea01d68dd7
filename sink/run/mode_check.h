/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mode check: the first steps run twice in direct mode and once in the mode of the run, each
 * time from the same saved model. What they saw and gave is compared bit for bit.
 */
#ifndef SLUICE_MODE_CHECK_H
#define SLUICE_MODE_CHECK_H

#include "train_run.h"

/*
 * Does nothing without config.check. E_INVALID when the steps differ; the model is loaded again in
 * any case. A requested stop is one of the run.
 */
sluice_status mode_check_run(train_run *run);

#endif
