/* SPDX-License-Identifier: Apache-2.0 */
#include "report_series.h"

#include <inttypes.h>

#include "alloc_int.h"

static sluice_status copy(const run_series *series, run_series **copy_out)
{
    if (series == NULL || series->count == 0) {
        return SLUICE_OK;
    }
    *copy_out = sli_calloc(1, sizeof(**copy_out));
    if (*copy_out == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a report");
    }
    **copy_out = *series;
    return SLUICE_OK;
}

sluice_status report_collect_series(const report_run *run, sluice_report *report)
{
    const sluice_status st = copy(run->series, &report->series);

    return st == SLUICE_OK ? copy(run->passes, &report->passes) : st;
}

void report_add_series_json(const sluice_report *report, sli_text *text)
{
    const run_series *series = report->series;

    if (series == NULL) {
        sli_text_add(text, ",\"series\":null,\"series_interval_s\":null");
        return;
    }
    sli_text_add(text, ",\"series\":[");
    for (uint32_t i = 1; i < series->count; i++) {
        const run_series_row *row = &series->rows[i];
        const run_series_change change = run_series_between(row - 1, row);

        sli_text_add(text, "%s{\"t_s\":", i > 1 ? "," : "");
        sli_text_add_number(text, change.t_s);
        sli_text_add(text, ",\"batches\":%" PRIu64 ",\"batches_per_s\":", row->batches);
        sli_text_add_number(text, change.batches_per_s);
        sli_text_add(text, ",\"data_wait_share\":");
        sli_text_add_number(text, change.data_wait_share);
        sli_text_add(text, ",\"cores\":");
        sli_text_add_number(text, change.cores);
        sli_text_add(text, "}");
    }
    sli_text_add(text, "],\"series_interval_s\":");
    sli_text_add_number(text, (double)series->interval / 1e9);
}
