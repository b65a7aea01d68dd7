/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the facts of a verdict from a report. */
#include <math.h>
#include <string.h>

#include "verdict.h"

/* If steps are busy for a smaller share of the time, they count as empty and use no core. */
static const double EMPTY_STEP = 0.05;

static void collect_shares(const report_stage_times *times, verdict_stage *stage)
{
    const report_times *t = &times->times;
    const double all = t->cpu_s + t->runqueue_s + t->blocked_s;

    if (times->measured > 0 && t->has_cpu && all > 0) {
        stage->has_shares = true;
        stage->has_clock = true;
        stage->has_runqueue = t->has_runqueue;
        stage->cpu = t->cpu_s / all;
        stage->runqueue = t->runqueue_s / all;
        stage->blocked = t->blocked_s / all;
    }
}

/* Copies the operations of stage i of the report. */
static void collect_operations(const sluice_report *report, uint32_t i, verdict_facts *facts)
{
    double all = 0;

    for (uint32_t k = 0; k < report->operation_count; k++) {
        all += report->operations[k].stage == i ? report->operations[k].busy_ns : 0;
    }
    for (uint32_t k = 0; k < report->operation_count && all > 0; k++) {
        const report_operation *from = &report->operations[k];

        if (from->stage == i) {
            facts->operations[facts->operation_count++] =
                (verdict_operation){from->name, facts->stage_count, from->busy_ns / all};
        }
    }
}

static void collect_stages(const sluice_report *report, verdict_facts *facts)
{
    for (uint32_t i = 0; i < report->stage_count; i++) {
        const sli_stage_summary *from = &report->stages[i];
        verdict_stage *stage = &facts->stages[facts->stage_count];

        if (!report_is_worker_stage(from)) {
            continue;
        }
        stage->name = from->name;
        stage->samples = from->samples;
        stage->busy_s = from->busy_ns / 1e9;
        stage->locked_s = from->lock_wait_ns / 1e9;
        stage->p50_s = from->p50_ns / 1e9;
        stage->kind = report->pipeline.kinds[i];
        stage->waits = report->pipeline.waits[i];
        collect_shares(&report->stage_times[i], stage);
        collect_operations(report, i, facts);
        facts->stage_count++;
    }
}

/* The caller launches the steps, and a thread of host:0 runs them. Their clocks are exact, and know
 * the waits between steps, too. */
static void collect_step_threads(const sluice_report *report, verdict_run *run)
{
    for (uint32_t i = 0; i < report->thread_count && report->stats.seconds > 0; i++) {
        const report_thread *thread = &report->threads[i];

        if (strcmp(thread->name, "caller") == 0 ||
            strncmp(thread->name, "sluice/device", 13) == 0) {
            run->queued += thread->times.runqueue_s / report->stats.seconds;
        }
    }
}

/* The clocks of the workers' threads also know the time between samples. */
static void collect_worker_threads(const sluice_report *report, verdict_cores *cores)
{
    double seconds = 0;
    double cpu_s = 0;
    double runqueue_s = 0;

    for (uint32_t i = 0; i < report->thread_count; i++) {
        const report_thread *thread = &report->threads[i];

        if (strncmp(thread->name, "sluice/w/", 9) == 0) {
            seconds += thread->seconds;
            cpu_s += thread->times.cpu_s;
            runqueue_s += thread->times.runqueue_s;
        }
    }
    cores->running = seconds > 0 ? cpu_s / seconds : 0;
    cores->queued = seconds > 0 ? runqueue_s / seconds : 0;
}

static uint32_t slots_of(const sluice_report *report)
{
    for (uint32_t i = 0; i < report->queue_count; i++) {
        if (strcmp(report->queue_names[i], "slots") == 0) {
            return (uint32_t)report->queues[i].capacity;
        }
    }
    return 0;
}

static void collect_run(const sluice_report *report, verdict_run *run)
{
    const sluice_report_stats *stats = &report->stats;
    const sli_stage_summary *maps = report_find_stage(report, "device_maps");

    run->was_complete = report->was_complete;
    run->first_step = stats->first_step;
    run->steps = stats->steps;
    run->samples = stats->samples;
    run->batch_size = report->pipeline.batch_size;
    run->slots = slots_of(report);
    run->seconds = stats->seconds;
    run->data_wait = stats->data_wait_share;
    run->has_kernels = report->has_kernels;
    run->has_step_times = report->step_times > 0;
    run->step = report_step_share(report);
    collect_step_threads(report, run);
    if (stats->seconds > 0) {
        run->replay = report->replay_seconds / stats->seconds;
        run->maps = maps != NULL ? maps->busy_ns / 1e9 / stats->seconds : 0;
    }
}

/* Mean number of cores that the process used, with threads that the report has no row for, such as
 * those of OpenMP in a step. */
static double cores_used(const sluice_report *report)
{
    const double used = (double)(report->cpu_ns - report->cpu_before_ns) / 1e9 /
                        (report->stats.seconds > 0 ? report->stats.seconds : 1);
    const double most = report->machine_cores; /* 0: unknown */

    return most > 0 && used > most ? most : used;
}

static void collect_cores(const sluice_report *report, verdict_cores *cores)
{
    const double own = report->core_count > 0 ? report->core_count : report->cores_allowed;
    const double step = report->has_kernels ? 0 : report_step_share(report);
    const bool is_alone = report->ranks.world <= 1 || report->ranks.local_world == 1;

    cores->workers = report->worker_count;
    cores->machine = report->machine_cores;
    cores->quota = report->quota;
    cores->allowed = report->quota > 0 && report->quota < own ? report->quota : own;
    cores->used = cores_used(report);
    collect_worker_threads(report, cores);
    cores->has_others = report->machine.has_busy;
    cores->others = fmax(0, report->machine.busy_cores - cores->used);
    cores->bound = report->bound && report->machine_cores > report->cores_allowed && is_alone;
    cores->spare = cores->allowed - report->worker_count - (step >= EMPTY_STEP ? step : 0);
    if (report->undivided || report->shared_cores > 0 || cores->spare < 0) {
        cores->spare = 0;
    }
}

static void collect_data(const sluice_report *report, verdict_data *data)
{
    const sli_plan_traits *traits = &report->pipeline.traits;

    data->source = report->source != NULL ? report->source : "";
    data->bytes_read = report->bytes_read;
    data->ahead_bytes = report->ahead_bytes;
    data->indexes = report->indexes;
    data->has_cache = report->has_cache;
    data->cache = report->cache;
    data->samples_per_pass = traits->samples_per_pass;
    data->cached_bytes = traits->cached_bytes;
    data->cached_after = traits->cached_after;
    data->memory_limit = report->pipeline.memory_limit;
    data->converts_on_host = traits->converts_on_host;
    data->packs = traits->packs;
}

void verdict_collect(const sluice_report *report, verdict_facts *facts)
{
    const sli_stage_summary *copy = report_find_stage(report, "copy");

    memset(facts, 0, sizeof(*facts));
    collect_run(report, &facts->run);
    collect_cores(report, &facts->cores);
    collect_data(report, &facts->data);
    collect_stages(report, facts);
    if (copy != NULL) {
        facts->copy_s = copy->busy_ns / 1e9;
        facts->copy_bytes = copy->bytes;
    }
    facts->host = report->host_times;
    if (!facts->host.known) {
        facts->host.validation_s = report->stats.validation_seconds;
    }
    facts->machine = report->machine;
    facts->waits = report->waits;
    facts->probed = report->pipeline.probed;
    verdict_estimate(facts);
}
