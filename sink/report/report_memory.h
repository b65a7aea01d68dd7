/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a run holds, by pool, for reports. */
#ifndef SLUICE_REPORT_MEMORY_H
#define SLUICE_REPORT_MEMORY_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Counts the pools; call it once stats and cache of the report are set. */
void report_collect_memory(const report_run *run, sluice_report *report);

/* What the process holds beside the pools; 0 if they are larger than its resident memory ever was,
 * since not all of their pages were used. */
uint64_t report_other_memory(const sluice_report *report);

/* Adds a line; pools that only some runs have are left out if they are empty. */
void report_add_memory(const sluice_report *report, sli_text *text);

/* Adds the key "memory". */
void report_add_memory_json(const sluice_report *report, sli_text *text);

#endif
