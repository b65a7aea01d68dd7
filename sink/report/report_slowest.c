/* SPDX-License-Identifier: Apache-2.0 */
#include "report_slowest.h"

#include <inttypes.h>

#include "alloc_int.h"
#include "format_int.h"
#include "report_stage_times.h"

enum { MOST_LINES = 5 };

/* A sample is much slower than the others if it takes 20 times as long as the median, and longer
 * than a thread that lost its CPU waits for one. */
static const double TIMES_P50 = 20;
static const double LEAST_NS = 1e8;

sluice_status report_collect_slowest(const report_run *run, sluice_report *report)
{
    report->slowest = sli_calloc(1, sizeof(*report->slowest));
    if (report->slowest == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a report");
    }
    sli_engine_slow_samples(run->feed->engine, report->slowest);
    for (uint32_t i = 0; i < report->slowest->count; i++) {
        const sli_stage_summary *stage = report_find_stage(report, report->slowest->of[i].stage);

        /* The plan, which has the names, ends before the report. */
        report->slowest->of[i].stage = stage != NULL ? stage->name : "";
    }
    report->ns_per_tick = sli_profile_ns_per_tick(run->profile);
    return SLUICE_OK;
}

/* No sample takes longer than the run: a clock has jumped then. */
static double duration_ns(const sluice_report *report, uint32_t i)
{
    const double ns = (double)report->slowest->of[i].ticks * report->ns_per_tick;
    const double most = report->stats.seconds * 1e9;

    return ns < most ? ns : most;
}

void report_add_slowest_json(const sluice_report *report, sli_text *text)
{
    if (report->slowest == NULL) {
        sli_text_add(text, ",\"slowest\":null");
        return;
    }
    sli_text_add(text, ",\"slowest\":[");
    for (uint32_t i = 0; i < report->slowest->count; i++) {
        const sli_slow_sample *slow = &report->slowest->of[i];

        sli_text_add(text, "%s{\"sample\":%" PRIu64 ",\"name\":", i > 0 ? "," : "", slow->sample);
        sli_text_add_json(text, slow->name);
        sli_text_add(text, ",\"stage\":");
        sli_text_add_json(text, slow->stage);
        sli_text_add(text, ",\"us\":");
        sli_text_add_number(text, duration_ns(report, i) / 1e3);
        sli_text_add(text, "}");
    }
    sli_text_add(text, "]");
}

void report_add_slowest(const sluice_report *report, sli_text *text)
{
    uint32_t lines = 0;

    for (uint32_t i = 0; report->slowest != NULL && i < report->slowest->count; i++) {
        const sli_slow_sample *slow = &report->slowest->of[i];
        const sli_stage_summary *stage = report_find_stage(report, slow->stage);
        const double ns = duration_ns(report, i);
        char longest[16];
        char median[16];

        if (stage == NULL || ns < LEAST_NS || ns < TIMES_P50 * stage->p50_ns ||
            lines == MOST_LINES) {
            continue;
        }
        report_print_time(ns, longest, sizeof(longest));
        report_print_time(stage->p50_ns, median, sizeof(median));
        sli_text_add(text,
                     "%s  %s: %s, half of them less than %s: ", lines == 0 ? "slow samples:\n" : "",
                     slow->stage, longest, median);
        sli_text_add_printable(text, slow->name);
        sli_text_add(text, "\n");
        lines++;
    }
}
