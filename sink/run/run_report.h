/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a run: for the caller, and for the file that SLUICE_REPORT names. */
#ifndef SLUICE_RUN_REPORT_H
#define SLUICE_RUN_REPORT_H

#include "error_int.h"
#include "train_run.h"

/* For a rank that fails: writes the file, if one is requested, before the run is stopped.
 * run_report_make() does not write it again. */
void run_report_write_early(train_run *run, const sli_error *error);

/*
 * Writes the report so far: to stderr, if sluice_report_request() was called since the last time;
 * once a minute to the file of SLUICE_REPORT. now: sli_now_ns(). A no-op for a nested run.
 */
void run_report_answer(train_run *run, int64_t now);

/* The time between two writes of that file; tests shorten it. */
extern int64_t run_report_period_ns;

/* Creates the report of a stopped run if the caller or the environment requests it. Writes the file
 * unless that was done early. Returns a failure only if the caller requested the report. */
sluice_status run_report_make(const train_run *run, const sli_error *error,
                              sluice_report **report_out);

#endif
