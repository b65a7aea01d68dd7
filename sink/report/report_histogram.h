/* SPDX-License-Identifier: Apache-2.0 */
/* The histograms of a report's stages, from which the reports of ranks are merged. */
#ifndef SLUICE_REPORT_HISTOGRAM_H
#define SLUICE_REPORT_HISTOGRAM_H

#include "report_data.h"
#include "report_run.h"
#include "text_int.h"

/* Times of items, by the buckets of sli_bucket(). */
struct report_histograms {
    double ns_per_tick;
    uint64_t counts[REPORT_STAGES][SLI_BUCKETS]; /* (stage_count) of the report */
};

/* Copies the histograms of the report's stages. Returns E_NO_MEMORY if the allocation fails. */
sluice_status report_collect_histograms(const report_run *run, sluice_report *report);

/* Adds the key "histogram" of a stage: only buckets that are not empty. */
void report_add_histogram_json(const sluice_report *report, uint32_t stage, sli_text *text);

#endif
