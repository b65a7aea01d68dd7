/* SPDX-License-Identifier: Apache-2.0 */
#include "report_verdict.h"

#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "verdict.h"

void report_collect_pipeline(const report_run *run, sluice_report *report)
{
    report_pipeline *pipeline = &report->pipeline;
    const sli_plan *plan = run->feed->plan;
    uint32_t next = 0;

    sli_plan_traits_get(plan, &pipeline->traits);
    pipeline->batch_size = plan->batch_size;
    pipeline->memory_limit = run->feed->memory_limit;
    pipeline->probed = run->probe != NULL && run->probe->begin_ns != 0 && !run->probe->unreadable;
    for (uint32_t i = 0; i < report->stage_count; i++) {
        for (uint32_t k = next; k < plan->stage_count && k < WAIT_PROBE_STAGES; k++) {
            if (strcmp(report->stages[i].name, plan->stage_names[k]) == 0) {
                pipeline->kinds[i] = pipeline->traits.stages[k];
                pipeline->waits[i] = run->probe != NULL ? run->probe->stages[k] : (wait_counts){0};
                next = k + 1;
                break;
            }
        }
    }
}

void report_find_bottleneck(sluice_report *report)
{
    verdict_facts facts;
    verdict found;

    verdict_collect(report, &facts);
    verdict_decide(&facts, &found);
    report->bottleneck = found.stage;
    report->bottleneck_cause = found.cause;
    report->bottleneck_share = found.share;
    snprintf(report->bottleneck_why, sizeof(report->bottleneck_why), "%s", found.why);
    report->advice_count = verdict_advise(&facts, &found, report->advice);
}

static void add_advice(const sluice_report *report, const report_advice *advice, sli_text *text)
{
    char workers[30] = "";
    char rate[120] = "";

    if (advice->workers > 0) {
        snprintf(workers, sizeof(workers), " %u", advice->workers);
    }
    if (advice->rate_high > 0) {
        sli_print(rate, sizeof(rate), "%.0f to %.0f samples/s in place of %.0f; ", advice->rate_low,
                  advice->rate_high, report_rate(report));
    }
    sli_text_add_line(text, "advice: %s%s: %s%s", advice->change, workers, rate, advice->text);
}

void report_add_verdict(const sluice_report *report, sli_text *text)
{
    const bool has_cause = strcmp(report->bottleneck_cause, "none") != 0;

    sli_text_add_line(text, "bottleneck: %s%s%s%s: %s", report->bottleneck, has_cause ? " (" : "",
                      has_cause ? report->bottleneck_cause : "", has_cause ? ")" : "",
                      report->bottleneck_why);
    for (uint32_t i = 0; i < report->advice_count; i++) {
        add_advice(report, &report->advice[i], text);
    }
}

static void add_rate(const char *key, double rate, sli_text *text)
{
    sli_text_add(text, ",\"%s\":", key);
    if (rate > 0) {
        sli_text_add_number(text, rate);
    } else {
        sli_text_add(text, "null");
    }
}

void report_add_verdict_json(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, ",\"bottleneck\":{\"stage\":");
    sli_text_add_json(text, report->bottleneck);
    sli_text_add(text, ",\"cause\":");
    sli_text_add_json(text, report->bottleneck_cause);
    sli_text_add(text, ",\"share\":");
    sli_text_add_number(text, report->bottleneck_share);
    sli_text_add(text, ",\"why\":");
    sli_text_add_json(text, report->bottleneck_why);
    sli_text_add(text, ",\"advice\":");
    sli_text_add_json(text, report->advice_count > 0 ? report->advice[0].text : "");
    sli_text_add(text, "},\"advice\":[");
    for (uint32_t i = 0; i < report->advice_count; i++) {
        const report_advice *advice = &report->advice[i];

        sli_text_add(text, "%s{\"change\":", i > 0 ? "," : "");
        sli_text_add_json(text, advice->change);
        if (advice->workers > 0) {
            sli_text_add(text, ",\"workers\":%u", advice->workers);
        } else {
            sli_text_add(text, ",\"workers\":null");
        }
        add_rate("rate_low", advice->rate_low, text);
        add_rate("rate_high", advice->rate_high, text);
        sli_text_add(text, ",\"text\":");
        sli_text_add_json(text, advice->text);
        sli_text_add(text, "}");
    }
    sli_text_add(text, "]");
}
