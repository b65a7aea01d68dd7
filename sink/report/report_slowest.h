/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest samples of a run, by name and stage. */
#ifndef SLUICE_REPORT_SLOWEST_H
#define SLUICE_REPORT_SLOWEST_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Returns E_NO_MEMORY if the allocation fails. */
sluice_status report_collect_slowest(const report_run *run, sluice_report *report);

/* Adds the key "slowest". */
void report_add_slowest_json(const sluice_report *report, sli_text *text);

/* Adds a line for each of the samples that are much slower than the others, at most five. */
void report_add_slowest(const sluice_report *report, sli_text *text);

#endif
