/* SPDX-License-Identifier: Apache-2.0 */
/* The waits of ranks for each other, for reports. */
#ifndef SLUICE_REPORT_WAITS_H
#define SLUICE_REPORT_WAITS_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Copies the longest waits; a no-op if none were counted. */
void report_collect_waits(const report_run *run, sluice_report *report);

/* Share of the run's time in agree, and the part of it in which this rank waited for ranks that
 * came last. */
double report_agree_share(const sluice_report *report);
double report_late_share(const sluice_report *report);

/* Describes what delays a rank: "its steps wait for data". */
const char *report_delay_text(rank_delay delay);

/* Adds a line, if waits were counted. */
void report_add_waits(const sluice_report *report, sli_text *text);

/* Adds the key "ranks". */
void report_add_waits_json(const sluice_report *report, sli_text *text);

#endif
