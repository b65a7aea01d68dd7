/* SPDX-License-Identifier: Apache-2.0 */
#include "report_histogram.h"

#include <inttypes.h>
#include <string.h>

#include "alloc_int.h"

/* Adds up the cells of all threads. */
static void add_cells(const sli_profile *profile, uint32_t stage, uint64_t counts[SLI_BUCKETS])
{
    for (uint32_t thread = 0; thread < profile->thread_count; thread++) {
        const sli_counters *cell = sli_profile_cell(profile, stage, thread);

        for (uint32_t i = 0; i < SLI_BUCKETS; i++) {
            counts[i] += atomic_load_explicit(&cell->histogram[i], memory_order_relaxed);
        }
    }
}

sluice_status report_collect_histograms(const report_run *run, sluice_report *report)
{
    const sli_profile *profile = run->profile;
    struct report_histograms *histograms = sli_calloc(1, sizeof(*histograms));

    if (histograms == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a report");
    }
    histograms->ns_per_tick = sli_profile_ns_per_tick(profile);
    for (uint32_t i = 0; i < profile->stage_count; i++) {
        const sli_stage_summary *stage = report_find_stage(report, profile->names[i]);

        if (stage != NULL) {
            add_cells(profile, i, histograms->counts[stage - report->stages]);
        }
    }
    report->histograms = histograms;
    return SLUICE_OK;
}

void report_add_histogram_json(const sluice_report *report, uint32_t stage, sli_text *text)
{
    const struct report_histograms *histograms = report->histograms;
    const char *comma = "";

    if (histograms == NULL) {
        sli_text_add(text, ",\"histogram\":null");
        return;
    }
    sli_text_add(text, ",\"histogram\":{\"ns_per_tick\":");
    sli_text_add_number(text, histograms->ns_per_tick);
    sli_text_add(text, ",\"counts\":[");
    for (uint32_t i = 0; i < SLI_BUCKETS; i++) {
        const uint64_t count = histograms->counts[stage][i];

        if (count > 0) {
            sli_text_add(text, "%s[%" PRIu32 ",%" PRIu64 "]", comma, i, count);
            comma = ",";
        }
    }
    sli_text_add(text, "]}");
}
