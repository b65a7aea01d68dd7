/* SPDX-License-Identifier: Apache-2.0 */
/* What is checked before a run begins, in the order of the documentation. */
#ifndef SLUICE_ARGUMENT_CHECKS_H
#define SLUICE_ARGUMENT_CHECKS_H

#include "train_run.h"

/* Copies model and config into the run, members that the caller's structs lack as zero. */
sluice_status train_read_arguments(const sluice_model *model, const sluice_dataset *dataset,
                                   const sluice_train_config *config, train_run *run);

/* Finds the ranks: those of the config, or of the launcher. */
sluice_status train_find_ranks(train_run *run);

/* Fills in defaults, too. */
sluice_status train_check_settings(train_run *run);
sluice_status train_check_columns(const train_run *run);

/* Of a stream; sets the number of its passes, too. */
sluice_status train_check_stream(train_run *run);

/* The plan of the data knows where the run begins. */
sluice_status train_check_padding(const train_run *run);
sluice_status train_check_ranks(const train_run *run);

#endif
