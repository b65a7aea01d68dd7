/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps of a sink in the mode of the run. */
#ifndef SLUICE_SINK_MODES_H
#define SLUICE_SINK_MODES_H

#include "train_run.h"

/*
 * Runs the next `steps` steps, or fewer if the run's outcome is raised. OK, END_OF_DATA, or the
 * first error; the records of steps before it are processed.
 */
sluice_status train_run_steps(train_run *run, uint64_t steps);

/* Waits for work that the steps of a sink have left in flight on the device. */
sluice_status train_end_sink(train_run *run);

#endif
