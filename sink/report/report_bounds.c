/* SPDX-License-Identifier: Apache-2.0 */
#include "report_bounds.h"

#include <math.h>

#include "report_stage_times.h"

/* Clocks are read one after the other, so that a part may be a little longer than the whole. */
static const double SLACK_SHARE = 0.1;
static const double SLACK_SECONDS = 0.5;

/* More seconds than clocks of 64 bits can count. */
static const double LONGEST = 1e10;

/* Bounds a value to 0..most; `unit` is one second. NaN becomes 0. */
static void bound(sluice_report *report, double *value, double most, double unit)
{
    const double slack = SLACK_SECONDS * unit;

    if (!(*value >= -slack && *value <= (1 + SLACK_SHARE) * most + slack)) {
        report->clock_jumped = true;
    }
    *value = !(*value > 0) ? 0 : *value < most ? *value : most;
}

static void bound_seconds(sluice_report *report, double *seconds)
{
    bound(report, seconds, report->stats.seconds, 1);
}

static void bound_stage(sluice_report *report, uint32_t i)
{
    sli_stage_summary *stage = &report->stages[i];
    const double wall_ns = report->stats.seconds * 1e9;
    const double all_ns = wall_ns * (stage->threads > 0 ? stage->threads : 1);
    double *const sums[] = {&stage->busy_ns,     &stage->wait_input_ns, &stage->wait_room_ns,
                            &stage->measured_ns, &stage->cpu_ns,        &stage->runqueue_ns};
    double *const items[] = {&stage->p50_ns, &stage->p99_ns, &stage->max_ns};

    for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++) {
        /* The last three are estimates, by few samples: only what is far too long is wrong. */
        bound(report, sums[k], k < 3 ? all_ns : LONGEST * 1e9, 1e9);
    }
    for (size_t k = 0; k < sizeof(items) / sizeof(items[0]); k++) {
        bound(report, items[k], wall_ns, 1e9);
    }
    bound(report, &stage->lock_wait_ns, stage->busy_ns, 1e9);
    report->clock_jumped = report->clock_jumped || stage->jumped;
    report->stage_times[i] = report_times_of_stage(stage);
}

static void bound_host(sluice_report *report)
{
    report_host_times *times = &report->host_times;
    double *const parts[] = {&times->launch_s, &times->hooks_s, &times->checkpoint_s,
                             &times->validation_s, &times->agree_s};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        bound_seconds(report, parts[i]);
    }
    bound(report, &times->open_s, LONGEST, 1);
}

static void bound_waits(sluice_report *report)
{
    report_waits *waits = &report->waits;

    bound_seconds(report, &waits->agree_seconds);
    bound(report, &waits->late_seconds, waits->agree_seconds, 1);
    for (uint32_t i = 0; i < waits->count; i++) {
        bound(report, &waits->late[i].seconds, waits->late_seconds, 1);
    }
}

static void bound_cpu(sluice_report *report)
{
    if (report->cpu_ns < report->cpu_before_ns) {
        report->cpu_ns = report->cpu_before_ns;
        report->clock_jumped = true;
    }
}

void report_bound(sluice_report *report)
{
    sluice_report_stats *stats = &report->stats;

    report->clock_jumped = report->clock_jumped || stats->seconds < 0;
    bound(report, &stats->seconds, LONGEST, 1);
    bound_seconds(report, &report->replay_seconds);
    bound_seconds(report, &stats->validation_seconds);
    bound(report, &report->wait_ns, stats->seconds * 1e9, 1e9);
    stats->data_wait_share =
        stats->seconds > 0 ? fmin(1, report->wait_ns / 1e9 / stats->seconds) : 0;
    for (uint32_t i = 0; i < report->stage_count; i++) {
        bound_stage(report, i);
    }
    for (uint32_t i = 0; i < report->operation_count; i++) {
        bound(report, &report->operations[i].busy_ns,
              report->stages[report->operations[i].stage].busy_ns, 1e9);
    }
    bound_host(report);
    bound_waits(report);
    bound_cpu(report);
}
