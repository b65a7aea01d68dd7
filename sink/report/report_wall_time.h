/* SPDX-License-Identifier: Apache-2.0 */
/* Where the wall time of a run went, for reports. */
#ifndef SLUICE_REPORT_WALL_TIME_H
#define SLUICE_REPORT_WALL_TIME_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Fills in host_times. Call it when the stages have been collected; a no-op for a channel. */
void report_collect_wall_time(const report_run *run, sluice_report *report);

/* The rest of the wall time: starting and ending threads, a replay, and what the host does between
 * sinks. */
double report_other_seconds(const sluice_report *report);

/* Adds a table of the parts that are above zero, if they are known. */
void report_add_wall_time(const sluice_report *report, sli_text *text);

/* Adds the key "time". */
void report_add_wall_time_json(const sluice_report *report, sli_text *text);

#endif
