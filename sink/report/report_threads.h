/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a run's threads, and what the machine did to the process, for reports. */
#ifndef SLUICE_REPORT_THREADS_H
#define SLUICE_REPORT_THREADS_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Computes the times of the report's places, which must have been collected. Returns E_NO_MEMORY if
 * an allocation fails. */
sluice_status report_collect_threads(const report_run *run, sluice_report *report);

/* Sets *thread_out to the time that `now` has used since the start of the run, or of the thread.
 * is_caller: the thread existed before the run, so its times are unknown if `start` has none. */
void report_thread_times(const start_clocks *start, const sli_thread_times *now, bool is_caller,
                         report_thread *thread_out);

/* Adds a table with a row for each thread or pool, and lines about the machine. */
void report_add_threads(const sluice_report *report, sli_text *text);

/* Adds the keys "threads" and "machine". */
void report_add_threads_json(const sluice_report *report, sli_text *text);

/* What a report says of the machine. */
report_machine report_machine_of(const sli_load_change *change);

#endif
