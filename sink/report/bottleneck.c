/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict of a report: which stage holds the run up.
 *
 * Steps that wait for data less than this share of the time are kept fed: the step is what takes
 * the time. Otherwise something before it does: the copies when they are busy nearly all the time,
 * else the workers, and of what they do the stage that takes most of their time.
 */
#include <stdio.h>
#include <string.h>

#include "report_data.h"

static const double FED_SHARE = 0.05;
static const double BUSY_SHARE = 0.8;

static const sli_stage_summary *find(const sluice_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->stage_count; i++) {
        if (strcmp(report->stages[i].name, name) == 0) {
            return &report->stages[i];
        }
    }
    return NULL;
}

static bool is_device_side(const char *name)
{
    return strcmp(name, "copy") == 0 || strcmp(name, "get_next") == 0 || strcmp(name, "step") == 0;
}

/* Samples a second that the steps would reach if they never waited. */
static double fed_rate(const sluice_report *report)
{
    double left = report->stats.seconds - report->wait_ns / 1e9;

    return left > 0 ? (double)report->stats.samples / left : 0;
}

static void blame_step(sluice_report *report)
{
    report->bottleneck = "step";
    report->bottleneck_share = 1 - report->stats.data_wait_share;
    snprintf(report->bottleneck_why, sizeof(report->bottleneck_why),
             "steps wait for data %.1f %% of the time: the pipeline keeps up",
             100 * report->stats.data_wait_share);
    snprintf(report->bottleneck_advice, sizeof(report->bottleneck_advice),
             "nothing to gain in the pipeline; fewer workers would leave cores to the step");
}

static void blame_copy(sluice_report *report, const sli_stage_summary *copy)
{
    report->bottleneck = "copy";
    report->bottleneck_share = copy->busy_ns / 1e9 / report->stats.seconds;
    snprintf(report->bottleneck_why, sizeof(report->bottleneck_why),
             "copies to the device are busy %.0f %% of the time", 100 * report->bottleneck_share);
    snprintf(report->bottleneck_advice, sizeof(report->bottleneck_advice),
             "send fewer bytes: offload=device for normalize, to_dtype and to_chw");
}

static const char *advice_for(const char *stage)
{
    if (strcmp(stage, "read") == 0) {
        return "reading is slow: a faster disk, files in the page cache, or fewer larger files";
    }
    if (strcmp(stage, "decode") == 0) {
        return "decoding is what it takes: more workers if there are cores, or smaller images on "
               "disk";
    }
    return "pixels are what it takes: more workers if there are cores, or offload=device";
}

static void blame_worker_stage(sluice_report *report)
{
    const sli_stage_summary *most = NULL;
    double all = 0;

    for (uint32_t i = 0; i < report->stage_count; i++) {
        const sli_stage_summary *stage = &report->stages[i];

        if (!is_device_side(stage->name)) {
            all += stage->busy_ns;
            most = most == NULL || stage->busy_ns > most->busy_ns ? stage : most;
        }
    }
    if (most == NULL || all <= 0) {
        snprintf(report->bottleneck_why, sizeof(report->bottleneck_why),
                 "steps wait for data %.1f %% of the time, and no stage of the workers was counted",
                 100 * report->stats.data_wait_share);
        return;
    }
    report->bottleneck = most->name;
    report->bottleneck_share = most->busy_ns / all;
    snprintf(report->bottleneck_why, sizeof(report->bottleneck_why),
             "steps wait for data %.1f %% of the time; %s takes %.0f %% of what %u worker%s do%s",
             100 * report->stats.data_wait_share, most->name, 100 * report->bottleneck_share,
             report->worker_count, report->worker_count == 1 ? "" : "s",
             report->worker_count == 1 ? "es" : "");
    snprintf(report->bottleneck_advice, sizeof(report->bottleneck_advice),
             "%s (%u workers on %u cores); fed without waiting, the steps would run at %.0f "
             "samples/s",
             advice_for(most->name), report->worker_count, report->cores_allowed, fed_rate(report));
}

void report_find_bottleneck(sluice_report *report)
{
    const sli_stage_summary *copy = find(report, "copy");

    report->bottleneck = "none";
    snprintf(report->bottleneck_why, sizeof(report->bottleneck_why), "no step ran");
    if (report->stats.steps == 0 || report->stats.seconds <= 0) {
        return;
    }
    if (report->stats.data_wait_share < FED_SHARE) {
        blame_step(report);
    } else if (copy != NULL && copy->busy_ns / 1e9 > BUSY_SHARE * report->stats.seconds) {
        blame_copy(report, copy);
    } else {
        blame_worker_stage(report);
    }
}
