/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps of a sink in the mode of the run. */
#ifndef SLUICE_SINK_MODES_H
#define SLUICE_SINK_MODES_H

#include "train_run.h"

/*
 * Runs the next `steps` steps, or fewer if the run's outcome is raised. Returns OK, END_OF_DATA,
 * END_OF_PASS if the epoch's pass has ended (run->passes.limits), or the first error; E_STALLED if
 * the program neither consumes a batch nor ends. The records of all steps before the error are
 * processed.
 */
sluice_status train_run_steps(train_run *run, uint64_t steps);

/*
 * If run->passes.limits is set: waits until the next batch has arrived, or the epoch's pass has
 * ended. Returns OK, also if the run ends, END_OF_PASS, or an error of the run. An error of the
 * data is left to the next step, as in runs without limits.
 */
sluice_status train_await_pass(train_run *run);

/* Waits until work that the sink's steps have left in flight on the device is done. */
sluice_status train_end_sink(train_run *run);

#endif
