/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the wall time of a run by what the device did: it waited for data, ran steps or device
 * maps, or was idle because of the host. A launch that overlaps a step is a part of the step.
 */
#include "report_wall_time.h"

enum { ROWS = 10 };

typedef struct time_row {
    const char *name;
    const char *key;
    double seconds;
    bool known;
} time_row;

/* Rows of less than this would be printed as 0.000. */
static const double LEAST_SECONDS = 0.0005;

static double busy_seconds(const sluice_report *report, const char *name)
{
    const sli_stage_summary *stage = report_find_stage(report, name);

    return stage != NULL ? stage->busy_ns / 1e9 : 0;
}

static double not_negative(double seconds)
{
    return seconds > 0 ? seconds : 0;
}

/* What the device itself measured. */
static double device_seconds(const sluice_report *report)
{
    return report->wait_ns / 1e9 + busy_seconds(report, "step") +
           busy_seconds(report, "device_maps");
}

/* A clock that went back gives a time below zero. */
static double seconds_in(const host_clock *clock, host_work work, uint64_t end, double second)
{
    return (double)(int64_t)host_clock_ticks(clock, work, end) * second;
}

void report_collect_wall_time(const report_run *run, sluice_report *report)
{
    const uint64_t end = run->profile->stop_ticks;
    const double second = sli_profile_ns_per_tick(run->profile) / 1e9;
    const host_clock *clock = run->host;
    report_host_times *times = &report->host_times;

    if (clock == NULL) {
        return;
    }
    times->known = true;
    times->open_s = (double)(int64_t)clock->open_ticks * second;
    times->hooks_s = seconds_in(clock, HOST_HOOK, end, second);
    times->checkpoint_s = seconds_in(clock, HOST_CHECKPOINT, end, second);
    times->validation_s = seconds_in(clock, HOST_VALIDATION, end, second);
    times->agree_s = seconds_in(clock, HOST_AGREE, end, second);
    /* A replay is before the first step, within a sink. */
    times->launch_s = not_negative(seconds_in(clock, HOST_SINK, end, second) -
                                   device_seconds(report) - report->replay_seconds);
}

double report_other_seconds(const sluice_report *report)
{
    const report_host_times *times = &report->host_times;
    const double parts = device_seconds(report) + report_host_seconds(times);

    return times->known ? not_negative(report->stats.seconds - parts) : 0;
}

/* The parts of the wall time, after the time before the run. */
static void find_rows(const sluice_report *report, time_row rows[ROWS])
{
    const report_host_times *times = &report->host_times;
    const bool known = times->known;
    const time_row all[ROWS] = {
        {"open (before the run)", "open_s", times->open_s, known},
        {"data wait", "data_wait_s", report->wait_ns / 1e9, true},
        {"step", "step_s", busy_seconds(report, "step"), true},
        {"device maps", "device_maps_s", busy_seconds(report, "device_maps"), true},
        {"launch", "launch_s", times->launch_s, known},
        {"hooks", "hooks_s", times->hooks_s, known},
        {"checkpoint", "checkpoint_s", times->checkpoint_s, known},
        {"validation", "validation_s", times->validation_s, known},
        {"agree", "agree_s", times->agree_s, known},
        {"other", "other_s", report_other_seconds(report), known},
    };

    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = all[i];
    }
}

void report_add_wall_time(const sluice_report *report, sli_text *text)
{
    const double wall = report->stats.seconds;
    time_row rows[ROWS];

    if (!report->host_times.known || wall <= 0) {
        return;
    }
    find_rows(report, rows);
    sli_text_add(text, "%-27s %10s %5s\n", "time", "seconds", "%");
    for (uint32_t i = 1; i < ROWS; i++) {
        if (rows[i].seconds >= LEAST_SECONDS) {
            sli_text_add(text, "%-27s %10.3f %5.1f\n", rows[i].name, rows[i].seconds,
                         100 * rows[i].seconds / wall);
        }
    }
    sli_text_add(text, "%-27s %10.3f\n", "wall", wall);
    if (rows[0].seconds >= LEAST_SECONDS) {
        sli_text_add(text, "%-27s %10.3f\n", rows[0].name, rows[0].seconds);
    }
}

void report_add_wall_time_json(const sluice_report *report, sli_text *text)
{
    time_row rows[ROWS];

    find_rows(report, rows);
    sli_text_add(text, ",\"time\":{\"wall_s\":");
    sli_text_add_number(text, report->stats.seconds);
    for (uint32_t i = 0; i < ROWS; i++) {
        sli_text_add(text, ",\"%s\":", rows[i].key);
        if (rows[i].known) {
            sli_text_add_number(text, rows[i].seconds);
        } else {
            sli_text_add(text, "null");
        }
    }
    sli_text_add(text, "}");
}
