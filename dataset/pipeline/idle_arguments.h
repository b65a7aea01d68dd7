/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that are given, and have no effect where they are. */
#ifndef SLUICE_IDLE_ARGUMENTS_H
#define SLUICE_IDLE_ARGUMENTS_H

#include "dataset_state.h"
#include "text_int.h"

/* E_INVALID: an argument contradicts another one of the stage, so that it never has an effect. */
sluice_status idle_arguments_check(const stage_def *def, const void *args);

/* Appends the arguments of all stages without effect: "shuffle buffer=17 (WHY), ...". `world`: the
 * number of ranks. */
void idle_arguments_list(const sluice_dataset *dataset, uint32_t world, sli_text *text);

#endif
