/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a run once a second, for reports. */
#ifndef SLUICE_REPORT_SERIES_H
#define SLUICE_REPORT_SERIES_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Copies the series of seconds and of passes; none that has no row. Returns E_NO_MEMORY if the
 * allocation fails. */
sluice_status report_collect_series(const report_run *run, sluice_report *report);

/* Adds the keys "series" and "series_interval_s". */
void report_add_series_json(const sluice_report *report, sli_text *text);

#endif
