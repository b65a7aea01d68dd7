/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the rates of a report's stages from their counts and busy times. */
#include <math.h>
#include <string.h>

#include "report_stage_times.h"

bool report_is_worker_stage(const sli_stage_summary *stage)
{
    static const char *const others[] = {"batch", "copy", "get_next", "device_maps", "step"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(stage->name, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

const sli_stage_summary *report_find_stage(const sluice_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->stage_count; i++) {
        if (strcmp(report->stages[i].name, name) == 0) {
            return &report->stages[i];
        }
    }
    return NULL;
}

/* Mean number of samples per item of the stage: an item of the step or of a stage that works on
 * whole batches has several samples. */
static double samples_per_item(const sluice_report *report, const sli_stage_summary *stage)
{
    const bool ran = strcmp(stage->name, "step") == 0 || strcmp(stage->name, "device_maps") == 0;
    const uint64_t items = ran ? stage->samples : report->batches;

    if (report_is_worker_stage(stage)) {
        return 1;
    }
    return items > 0 ? (double)report->stats.samples / (double)items : 0;
}

double report_stage_samples(const sluice_report *report, const sli_stage_summary *stage)
{
    return (double)stage->samples * samples_per_item(report, stage);
}

double report_sustained(const sluice_report *report, const sli_stage_summary *stage)
{
    const double samples = report_stage_samples(report, stage);

    return stage->busy_ns > 0 ? samples * stage->threads / (stage->busy_ns / 1e9) : 0;
}

double report_workers_ns(const sluice_report *report)
{
    double all = 0;

    for (uint32_t i = 0; i < report->stage_count; i++) {
        all += report_is_worker_stage(&report->stages[i]) ? report->stages[i].busy_ns : 0;
    }
    return all;
}

double report_rate(const sluice_report *report)
{
    return report->stats.seconds > 0 ? (double)report->stats.samples / report->stats.seconds : 0;
}

double report_data_wait(double wait_s, double all_s, double step_s, bool publishes)
{
    return publishes ? fmin(wait_s, fmax(0, all_s - step_s)) : wait_s;
}

double report_step_share(const sluice_report *report)
{
    const sli_stage_summary *step = report_find_stage(report, "step");
    const sli_stage_summary *maps = report_find_stage(report, "device_maps");
    const double busy_ns = (step != NULL ? step->busy_ns : 0) + (maps != NULL ? maps->busy_ns : 0);
    const double share = report->stats.seconds > 0 ? busy_ns / 1e9 / report->stats.seconds : 0;

    return share < 1 ? share : 1; /* the parts are measured one by one */
}
