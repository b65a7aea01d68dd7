/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates what the stages did where the kernel shows no clocks, or no time in the run queue. */
#include <math.h>

#include "verdict.h"

/* Samples of a stage's system calls from which its shares are estimated. */
static const uint32_t LEAST_PROBES = 4;

/* Stages that never sleep tell how long others wait for a CPU if they take this share of the time.
 */
static const double LEAST_PART = 0.02;

/* A smaller part of the time off the CPUs does not matter. */
static const double LITTLE_REST = 0.05;

static uint32_t probes_of(const verdict_stage *stage)
{
    return stage->waits.running + stage->waits.locked + stage->waits.asleep;
}

/* Share of the time in which a monitor found the stage asleep. */
static double asleep_share(const verdict_stage *stage)
{
    return (double)(stage->waits.locked + stage->waits.asleep) / probes_of(stage);
}

/* Without clocks: what the stage did when a monitor looked at it. */
static void estimate_shares(verdict_stage *stage)
{
    if (probes_of(stage) >= LEAST_PROBES) {
        stage->has_shares = true;
        stage->blocked = asleep_share(stage);
        stage->cpu = 1 - stage->blocked;
    }
}

/*
 * Without stage clocks, a thread that the monitor saw running may have been in the run queue. The
 * CPU time of the process is known: running time beyond it is run queue, in equal parts of each
 * stage.
 */
static void split_running(verdict_facts *facts)
{
    const double used_s = facts->cores.used * facts->run.seconds;
    double running_s = 0;

    for (uint32_t i = 0; i < facts->stage_count; i++) {
        const verdict_stage *stage = &facts->stages[i];

        if (stage->has_clock) {
            return;
        }
        running_s += stage->has_shares ? stage->busy_s * stage->cpu : 0;
    }
    for (uint32_t i = 0; i < facts->stage_count && running_s > used_s; i++) {
        verdict_stage *stage = &facts->stages[i];

        if (stage->has_shares) {
            stage->has_runqueue = true;
            stage->is_estimated = true;
            stage->runqueue = stage->cpu * (1 - used_s / running_s);
            stage->cpu -= stage->runqueue;
        }
    }
}

/* ---- with a CPU clock, but no schedstat ------------------------------------------------------ */

/* True for stages that only compute, on bytes that are in memory. */
static bool never_sleeps(const verdict_stage *stage)
{
    return (stage->kind & (SLI_STAGE_DECODE | SLI_STAGE_PIXELS)) != 0 &&
           (stage->kind & (SLI_STAGE_USER | SLI_STAGE_READ)) == 0;
}

/* Time in the run queue for each second on a CPU, by the stages that never sleep; negative:
 * unknown. */
static double queued_per_cpu(const verdict_facts *facts)
{
    double cpu_s = 0;
    double rest_s = 0;
    double all_s = 0;

    for (uint32_t i = 0; i < facts->stage_count; i++) {
        const verdict_stage *stage = &facts->stages[i];

        all_s += stage->busy_s;
        if (verdict_is_undivided(stage) && never_sleeps(stage)) {
            cpu_s += stage->busy_s * stage->cpu;
            rest_s += stage->busy_s * stage->blocked;
        }
    }
    return cpu_s > 0 && cpu_s + rest_s >= LEAST_PART * all_s ? rest_s / cpu_s : -1;
}

/*
 * The largest share of a stage in the run queue. PSI counts the time in which tasks wait for a CPU
 * as a mean over the CPUs of the machine; at worst, all workers wait for the one CPU where tasks
 * do.
 */
static double most_queued(const verdict_facts *facts, const verdict_stage *stage)
{
    const double queued = facts->machine.cpu_pressure * facts->cores.machine;

    if (!facts->machine.has_pressure || facts->cores.machine == 0 || stage->busy_s <= 0) {
        return 1;
    }
    return fmin(1, queued * facts->cores.workers * facts->run.seconds / stage->busy_s);
}

/* Divides the time of a stage off the CPUs, which `blocked` has, if something tells how. */
static void divide_rest(const verdict_facts *facts, double per_cpu, verdict_stage *stage)
{
    const double most = most_queued(facts, stage);
    double queued;

    if (never_sleeps(stage)) {
        queued = stage->blocked;
    } else if (probes_of(stage) >= LEAST_PROBES) {
        queued = stage->blocked - fmin(stage->blocked, asleep_share(stage));
    } else if (per_cpu >= 0) {
        queued = fmin(stage->blocked, per_cpu * stage->cpu);
    } else if (most <= LITTLE_REST * stage->blocked) {
        queued = 0;
    } else {
        return;
    }
    stage->has_runqueue = true;
    stage->is_estimated = true;
    stage->runqueue = fmin(queued, most);
    stage->blocked -= stage->runqueue;
}

void verdict_estimate(verdict_facts *facts)
{
    double per_cpu;

    for (uint32_t i = 0; i < facts->stage_count; i++) {
        if (!facts->stages[i].has_clock) {
            estimate_shares(&facts->stages[i]);
        }
    }
    split_running(facts);
    per_cpu = queued_per_cpu(facts);
    for (uint32_t i = 0; i < facts->stage_count; i++) {
        if (verdict_is_undivided(&facts->stages[i])) {
            divide_rest(facts, per_cpu, &facts->stages[i]);
        }
    }
}
