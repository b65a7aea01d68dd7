/* SPDX-License-Identifier: Apache-2.0 */
#include "report_operations.h"

#include <stdio.h>
#include <string.h>

/* The rest of a stage has a row only from this share on. */
static const double LEAST_REST = 0.01;

/* All measured ticks of a stage. */
static double stage_ticks(const sli_operation_counts *counts, const char *stage)
{
    double ticks = 0;

    for (uint32_t i = 0; i < counts->count; i++) {
        ticks += strcmp(counts->of[i].stage, stage) == 0 ? (double)counts->of[i].ticks : 0;
    }
    return ticks;
}

/* Adds the operations of a stage. Their shares of its measured time are shares of its busy time,
 * which is that of all samples. */
static void add_stage(const sli_operation_counts *counts, uint32_t stage, sluice_report *report)
{
    const char *name = report->stages[stage].name;
    const double all = stage_ticks(counts, name);

    for (uint32_t i = 0; i < counts->count && report->operation_count < REPORT_OPERATIONS; i++) {
        const sli_operation_count *count = &counts->of[i];
        report_operation *operation = &report->operations[report->operation_count];

        if (all <= 0 || strcmp(count->stage, name) != 0 ||
            (count->is_rest && (double)count->ticks < LEAST_REST * all)) {
            continue;
        }
        snprintf(operation->name, sizeof(operation->name), "%s", count->name);
        operation->stage = stage;
        operation->measured = count->measured;
        operation->busy_ns = report->stages[stage].busy_ns * (double)count->ticks / all;
        report->operation_count++;
    }
}

void report_set_operations(const sli_operation_counts *counts, sluice_report *report)
{
    report->operation_count = 0;
    for (uint32_t i = 0; i < report->stage_count; i++) {
        if (report_is_worker_stage(&report->stages[i])) {
            add_stage(counts, i, report);
        }
    }
}

void report_collect_operations(const report_run *run, sluice_report *report)
{
    sli_operation_counts counts;

    sli_engine_operations(run->feed->engine, &counts);
    report_set_operations(&counts, report);
}

static double share_of(const sluice_report *report, const report_operation *operation)
{
    const double busy = report->stages[operation->stage].busy_ns;

    return busy > 0 ? operation->busy_ns / busy : 0;
}

static double us_of(const sluice_report *report, const report_operation *operation)
{
    return operation->busy_ns / 1e3 / (double)report->stages[operation->stage].samples;
}

/* True if a stage has only one operation, with the name of the stage. */
static bool is_whole_stage(const sluice_report *report, uint32_t stage)
{
    uint32_t count = 0;
    bool same = false;

    for (uint32_t i = 0; i < report->operation_count; i++) {
        if (report->operations[i].stage == stage) {
            same = strcmp(report->operations[i].name, report->stages[stage].name) == 0;
            count++;
        }
    }
    return count == 1 && same;
}

void report_add_operations(const sluice_report *report, uint32_t stage, sli_text *text)
{
    if (is_whole_stage(report, stage)) {
        return;
    }
    for (uint32_t i = 0; i < report->operation_count; i++) {
        const report_operation *operation = &report->operations[i];

        if (operation->stage == stage) {
            sli_text_add(text, "  %-45.45s %5.1f %% %10.1f us a sample\n", operation->name,
                         100 * share_of(report, operation), us_of(report, operation));
        }
    }
}

void report_add_operations_json(const sluice_report *report, uint32_t stage, sli_text *text)
{
    bool is_first = true;

    sli_text_add(text, ",\"operations\":[");
    for (uint32_t i = 0; i < report->operation_count; i++) {
        const report_operation *operation = &report->operations[i];

        if (operation->stage == stage) {
            sli_text_add(text, "%s{\"name\":", is_first ? "" : ",");
            sli_text_add_json(text, operation->name);
            sli_text_add(text, ",\"us_per_sample\":");
            sli_text_add_number(text, us_of(report, operation));
            sli_text_add(text, ",\"share\":");
            sli_text_add_number(text, share_of(report, operation));
            sli_text_add(text, "}");
            is_first = false;
        }
    }
    sli_text_add(text, "]");
}
