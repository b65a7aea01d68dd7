/* SPDX-License-Identifier: Apache-2.0 */
/* What the threads of a stage did in its busy time: on a CPU, in the run queue, or blocked. */
#ifndef SLUICE_REPORT_STAGE_TIMES_H
#define SLUICE_REPORT_STAGE_TIMES_H

#include "report_data.h"
#include "text_int.h"

/* Scales the times of the measured items to the busy time of the stage. */
report_stage_times report_times_of_stage(const sli_stage_summary *stage);

/* Adds the keys of stage i to its JSON object. */
void report_add_stage_times_json(const sluice_report *report, uint32_t i, sli_text *text);

/* Adds a table with a row for each stage. */
void report_add_stage_times(const sluice_report *report, sli_text *text);

/* Samples that a stage has processed, also if its items are batches (stage_rates.c). */
double report_stage_samples(const sluice_report *report, const sli_stage_summary *stage);

/* Formats a time with one decimal: in us, from 1 ms on in ms, from 1 s on in s. */
void report_print_time(double ns, char *text, size_t size);

#endif
