/* SPDX-License-Identifier: Apache-2.0 */
/* The checks before a run begins, in the order of the documentation. */
#ifndef SLUICE_ARGUMENT_CHECKS_H
#define SLUICE_ARGUMENT_CHECKS_H

#include "train_run.h"

/* Copies the config. Returns E_INVALID for an invalid struct_size. */
sluice_status train_read_config(const sluice_train_config *config, sluice_train_config *copy_out);

/* Copies model and config into the run. Members that the caller's structs do not have are zero. */
sluice_status train_read_arguments(const sluice_model *model, const sluice_dataset *dataset,
                                   const sluice_train_config *config, train_run *run);

/* Sets rank and world size, from the config or from the launcher's variables. */
sluice_status train_find_ranks(train_run *run);

/* Checks the settings and fills in their defaults. */
sluice_status train_check_settings(train_run *run);
sluice_status train_check_columns(train_run *run);

/* Checks epochs that are passes whose lengths are unknown, and marks a run that has them. */
sluice_status train_check_epochs(train_run *run);

/* Checks the padding of the last batch. Call after sli_plan_begin(), because the check depends on
 * the run's start position. */
sluice_status train_check_padding(const train_run *run);
sluice_status train_check_ranks(const train_run *run);

/* True if other ranks may wait for this one, so it must not stop before them. */
bool train_ranks_wait(const train_run *run);

#endif
