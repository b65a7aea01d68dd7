/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a rank fails: it logs the cause and writes its report, then calls config.abort, and only then
 * the collective that tells the other ranks. So the cause is known even if the others never come.
 */
#ifndef SLUICE_RUN_FAILURE_H
#define SLUICE_RUN_FAILURE_H

#include "error_int.h"
#include "train_run.h"

/* Call when the run has ended with `error`, whose status may be OK. A failure of this rank is told
 * once. No call after this one is collective. */
void train_part(train_run *run, const sli_error *error);

#endif
