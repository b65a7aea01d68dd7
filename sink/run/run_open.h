/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of opening a run, in this order. Resuming from a checkpoint comes between
 * train_open_feed() and train_plan(). train_close() frees everything, also after a failure.
 */
#ifndef SLUICE_RUN_OPEN_H
#define SLUICE_RUN_OPEN_H

#include "train_run.h"

sluice_status train_create(sluice_device *device, const sluice_model *model,
                           sluice_dataset *dataset, const sluice_train_config *config,
                           train_run **run_out);

/*
 * For a run that train_create() has refused: initializes `run`, without allocations, as far as the
 * failure of this rank can be reported by train_part() and run_report_make(). config: may be NULL
 * or invalid; then there is no config.abort and no config.agree.
 */
void train_init_refused(const sluice_train_config *config, train_run *run);
void train_close_refused(train_run *run);

sluice_status train_open_feed(train_run *run);

/* Determines where the run begins and how long it is. */
sluice_status train_plan(train_run *run);
sluice_status train_make_program(train_run *run);

/* Starts the workers; they begin to read immediately. */
sluice_status train_start(train_run *run);
void train_close(train_run *run);

#endif
