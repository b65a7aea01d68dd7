/* SPDX-License-Identifier: Apache-2.0 */
/* Placement of the threads and the memory of a run, for reports. */
#ifndef SLUICE_REPORT_PLACES_H
#define SLUICE_REPORT_PLACES_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Collects the placement, including that of the calling thread. E_NO_MEMORY. */
sluice_status report_collect_places(const report_run *run, sluice_report *report);

/* Adds a table with a row for each thread or group of threads of a pool, and warnings. */
void report_add_places(const sluice_report *report, sli_text *text);

#endif
