/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a rank fails: it logs the error, writes its report, calls config.abort, and only then reports
 * the failure by config.agree. So the error is logged even if the other ranks never call agree.
 */
#ifndef SLUICE_RUN_FAILURE_H
#define SLUICE_RUN_FAILURE_H

#include "error_int.h"
#include "train_run.h"

/* Call when the run has ended with `error`, whose status may be OK. A failure of this rank is
 * reported once. No call after this one is collective. */
void train_part(train_run *run, const sli_error *error);

#endif
