/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict and the advice in reports. */
#ifndef SLUICE_REPORT_VERDICT_H
#define SLUICE_REPORT_VERDICT_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Collects what the verdict needs of the pipeline; call it after the stages are collected. */
void report_collect_pipeline(const report_run *run, sluice_report *report);

/* Adds the lines "bottleneck: " and "advice: ". */
void report_add_verdict(const sluice_report *report, sli_text *text);

/* Adds the keys "bottleneck" and "advice". */
void report_add_verdict_json(const sluice_report *report, sli_text *text);

#endif
