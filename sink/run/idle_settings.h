/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of a run that have no effect, and intervals that cut its sinks, for the plan line. */
#ifndef SLUICE_IDLE_SETTINGS_H
#define SLUICE_IDLE_SETTINGS_H

#include "text_int.h"
#include "train_run.h"

/* Appends arguments of stages and settings of the run without effect: "WHAT (WHY), ...". */
void idle_settings_list(const train_run *run, sli_text *list);

/* Appends what cuts sinks, such as 2 of 40 steps: ", cut by checkpoints every 15 steps: 7 sinks
 * instead of 2". An interval that alone cuts none is left out. */
void idle_settings_cuts(const train_run *run, sli_text *text);

#endif
