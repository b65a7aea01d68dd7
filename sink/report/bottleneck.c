/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bottleneck that a report names: the stage that limits the run.
 *
 * If a replay takes REPLAY_SHARE of the time or more, the rest is too short to determine it.
 *
 * Otherwise, if the rank waits in config.agree for RANKS_SHARE of the time or more, and at least as
 * long as its steps wait for data, other ranks are the bottleneck: `ranks`.
 *
 * If steps wait for data less than FED_SHARE of the time, the step is the bottleneck, or the device
 * maps if they take longer. It is also the bottleneck if it waits less than UNEVEN_SHARE and is
 * busier than the workers: such short waits come from the start of a run, single slow samples and
 * other processes. Otherwise the bottleneck is an earlier stage. If copies are busy for more than
 * BUSY_SHARE of the time, it is `copy`, else the worker stage with the largest busy time. Workers
 * that are mostly idle are not the bottleneck: then it is the transfer of batches between threads.
 * The exception is the stage `read`: sequential reads run one at a time, so most workers are idle
 * although reading is the bottleneck.
 */
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "report_waits.h"

static const double FED_SHARE = 0.05;
static const double UNEVEN_SHARE = 0.15;
static const double BUSY_SHARE = 0.8;
static const double IDLE_SHARE = 0.5; /* workers busy for a smaller share are mostly idle */

static const double RANKS_SHARE = 0.1;
static const double REPLAY_SHARE = 0.5;

static void blame_ranks(sluice_report *report)
{
    const report_late *late = &report->waits.late[0];

    report->bottleneck = "ranks";
    report->bottleneck_share = report_agree_share(report);
    if (2 * report_late_share(report) < report->bottleneck_share) {
        sli_print(
            report->bottleneck_why, sizeof(report->bottleneck_why),
            "agree takes %.0f %% of the time, %.0f %% of it to wait for a rank that comes last",
            100 * report->bottleneck_share,
            100 * report_late_share(report) / report->bottleneck_share);
    } else {
        sli_print(report->bottleneck_why, sizeof(report->bottleneck_why),
                  "ranks wait for rank %u: %.0f %% of the time; %s", late->rank,
                  100 * late->seconds / report->stats.seconds, report_delay_text(late->delay));
    }
    report_advise_ranks(report);
}

/* True if device maps take longer than the steps. */
static bool maps_are_slower(const sluice_report *report)
{
    const sli_stage_summary *step = report_find_stage(report, "step");
    const sli_stage_summary *maps = report_find_stage(report, "device_maps");

    return maps != NULL && step != NULL && maps->busy_ns > step->busy_ns;
}

static void blame_step(sluice_report *report)
{
    report->bottleneck = maps_are_slower(report) ? "device_maps" : "step";
    report->bottleneck_share = 1 - report->stats.data_wait_share;
    sli_print(report->bottleneck_why, sizeof(report->bottleneck_why),
              "steps wait for data %.1f %% of the time: the pipeline keeps up",
              100 * report->stats.data_wait_share);
    report_advise_step(report);
}

static void blame_copy(sluice_report *report, const sli_stage_summary *copy)
{
    report->bottleneck = "copy";
    report->bottleneck_share = copy->busy_ns / 1e9 / report->stats.seconds;
    sli_print(report->bottleneck_why, sizeof(report->bottleneck_why),
              "copies to the device are busy %.0f %% of the time", 100 * report->bottleneck_share);
    report_advise_copy(report, copy);
}

static void blame_hand_over(sluice_report *report, double busy)
{
    sli_print(
        report->bottleneck_why, sizeof(report->bottleneck_why),
        "steps wait for data %.1f %% of the time, and workers are busy %.0f %% of it: no stage "
        "is the limit, but the hand-over of batches",
        100 * report->stats.data_wait_share, 100 * busy);
    report_advise_batches(report);
}

/* True if the steps are busier than the workers and rarely wait. */
static bool step_is_busiest(const sluice_report *report)
{
    const double workers =
        report_workers_ns(report) / 1e9 / report->stats.seconds / report->worker_count;

    return report->stats.data_wait_share < FED_SHARE ||
           (report->stats.data_wait_share < UNEVEN_SHARE && report->worker_count > 0 &&
            report_step_share(report) > workers);
}

static void blame_workers(sluice_report *report)
{
    const double all = report_workers_ns(report);
    const double busy = all / 1e9 / report->stats.seconds / report->worker_count;
    const sli_stage_summary *most = NULL;

    for (uint32_t i = 0; i < report->stage_count && all > 0; i++) {
        const sli_stage_summary *stage = &report->stages[i];

        if (report_is_worker_stage(stage)) {
            most = most == NULL || stage->busy_ns > most->busy_ns ? stage : most;
        }
    }
    if (most == NULL) {
        sli_print(
            report->bottleneck_why, sizeof(report->bottleneck_why),
            "steps wait for data %.1f %% of the time, and no stage of the workers was counted",
            100 * report->stats.data_wait_share);
        return;
    }
    if (busy < IDLE_SHARE && strcmp(most->name, "read") != 0) {
        blame_hand_over(report, busy);
        return;
    }
    report->bottleneck = most->name;
    report->bottleneck_share = most->busy_ns / all;
    sli_print(report->bottleneck_why, sizeof(report->bottleneck_why),
              "steps wait for data %.1f %% of the time; %s takes %.0f %% of the busy time of %u "
              "worker%s",
              100 * report->stats.data_wait_share, most->name, 100 * report->bottleneck_share,
              report->worker_count, report->worker_count == 1 ? "" : "s");
    report_advise_workers(report, most);
}

void report_find_bottleneck(sluice_report *report)
{
    const sli_stage_summary *copy = report_find_stage(report, "copy");

    report->bottleneck = "none";
    snprintf(report->bottleneck_why, sizeof(report->bottleneck_why), "no step ran");
    if (report->was_complete && report->stats.steps == 0) {
        snprintf(report->bottleneck_why, sizeof(report->bottleneck_why),
                 "no step was left: the training was complete after %llu steps",
                 (unsigned long long)report->stats.first_step);
        return;
    }
    if (report->stats.steps == 0 || report->stats.seconds <= 0) {
        return;
    }
    if (report->replay_seconds >= REPLAY_SHARE * report->stats.seconds) {
        sli_print(report->bottleneck_why, sizeof(report->bottleneck_why),
                  "the replay takes %.0f %% of the time; a longer run shows what limits the steps",
                  100 * report->replay_seconds / report->stats.seconds);
    } else if (report_agree_share(report) >= RANKS_SHARE &&
               report_agree_share(report) >= report->stats.data_wait_share) {
        blame_ranks(report);
    } else if (step_is_busiest(report)) {
        blame_step(report);
    } else if (copy != NULL && copy->busy_ns / 1e9 > BUSY_SHARE * report->stats.seconds) {
        blame_copy(report, copy);
    } else {
        blame_workers(report);
    }
}
