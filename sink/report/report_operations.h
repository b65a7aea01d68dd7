/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a stage, such as those of the drawn list, as rows of the report. */
#ifndef SLUICE_REPORT_OPERATIONS_H
#define SLUICE_REPORT_OPERATIONS_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Collects the operations of the stages of the report, which are collected before. */
void report_collect_operations(const report_run *run, sluice_report *report);

/* The same of these counts. */
void report_set_operations(const sli_operation_counts *counts, sluice_report *report);

/* Adds rows under that of a stage; none if its only operation has its name. */
void report_add_operations(const sluice_report *report, uint32_t stage, sli_text *text);

/* Adds the key "operations" of a stage. */
void report_add_operations_json(const sluice_report *report, uint32_t stage, sli_text *text);

#endif
