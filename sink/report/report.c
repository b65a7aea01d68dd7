/* SPDX-License-Identifier: Apache-2.0 */
/* Collects a report's contents from a run that has ended, or from a channel at any time. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "cpu_int.h"
#include "report_bounds.h"
#include "report_histogram.h"
#include "report_memory.h"
#include "report_operations.h"
#include "report_places.h"
#include "report_run.h"
#include "report_series.h"
#include "report_slowest.h"
#include "report_stage_times.h"
#include "report_threads.h"
#include "report_verdict.h"
#include "report_waits.h"
#include "report_wall_time.h"
#include "struct_size_int.h"

static void collect_wait(const report_run *run, double ns_per_tick, sluice_report *report)
{
    const double all_s = report->stats.seconds;
    const sli_stage_summary *step = report_find_stage(report, "step");
    const double step_s = step != NULL ? step->busy_ns / 1e9 : 0;

    for (uint32_t i = 0; i < report->stage_count; i++) {
        sli_stage_summary *get_next = &report->stages[i];

        if (strcmp(get_next->name, "get_next") == 0) {
            const double host_ns = (double)(int64_t)run->counts->host_wait_ticks * ns_per_tick;
            const double wait_s = (get_next->wait_input_ns + host_ns) / 1e9;

            report->wait_ns =
                1e9 * report_data_wait(wait_s, all_s, step_s, run->counts->step_times > 0);
            get_next->wait_input_ns = report->wait_ns;
        }
    }
    report->stats.data_wait_share = all_s > 0 ? report->wait_ns / 1e9 / all_s : 0;
}

static void collect_stages(const report_run *run, sluice_report *report)
{
    const data_feed *feed = run->feed;
    const sli_profile *profile = run->profile;
    const double ns_per_tick = sli_profile_ns_per_tick(profile);

    report->worker_count = feed->placement->worker_count;
    for (uint32_t i = 0; i < profile->stage_count && i < REPORT_STAGES; i++) {
        sli_stage_summary *stage = &report->stages[report->stage_count];
        char *name = report->stage_names[report->stage_count];

        sli_profile_summarise(profile, i, stage);
        snprintf(name, sizeof(report->stage_names[0]), "%s", stage->name);
        stage->name = name;
        report->stage_times[report->stage_count] = report_times_of_stage(stage);
        /* Omits a stage that processed no samples, such as copy on a host device. */
        report->stage_count += stage->samples > 0;
    }
    report->stats.seconds = sli_profile_seconds(profile);
    collect_wait(run, ns_per_tick, report);
    report->replayed = sli_engine_replayed(feed->engine);
    report->replay_seconds =
        (double)(int64_t)sli_engine_replay_ticks(feed->engine, profile->stop_ticks) * ns_per_tick /
        1e9;
}

static void collect_maps(const report_run *run, sluice_report *report)
{
    const device_maps *maps = run->feed->config.maps;

    report->stats.device_map_bytes = run->feed->map_bytes;
    device_maps_names(maps, report->maps, sizeof(report->maps));
    report->maps_untimed =
        maps->count > 0 && report->has_kernels && report_find_stage(report, "device_maps") == NULL;
}

static void collect_queues(const report_run *run, sluice_report *report)
{
    sli_queue_stats stats;

    sli_queue_stats_get(run->feed->queue, &stats);
    report->produced = stats.produced;
    report->consumed = stats.consumed;
    report->bytes_h2d = stats.bytes_copied;
    report->transport = stats.transport;
    report->h2d_batches = stats.batches_copied;
    report->h2d_copies = stats.copies;
    report->publishes = stats.publishes;
    if (stats.has_staging) {
        report->queue_names[report->queue_count] = "staging";
        report->queues[report->queue_count++] = stats.staging;
    }
    report->queue_names[report->queue_count] = "slots";
    report->queues[report->queue_count++] = stats.slots;
}

static sluice_status collect_errors(const report_run *run, sluice_report *report)
{
    sli_engine_errors errors;

    sli_engine_errors_get(run->feed->engine, &errors);
    report->failed = errors.failed;
    report->stats.replaced = errors.replaced;
    report->stats.zeroed = errors.zeroed;
    if (errors.count == 0) {
        return SLUICE_OK;
    }
    report->errors = sli_calloc(errors.count, sizeof(*report->errors));
    if (report->errors == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a report");
    }
    memcpy(report->errors, errors.first, errors.count * sizeof(*report->errors));
    report->error_count = errors.count;
    return SLUICE_OK;
}

/* Collects the values of the whole process, which are available even if the run never began. */
static void collect_process(const sluice_ranks *ranks, sluice_report *report)
{
    report->ranks = ranks != NULL ? *ranks : (sluice_ranks){.world = 1, .source = "alone"};
    report->pid = getpid();
    if (gethostname(report->host, sizeof(report->host)) != 0) {
        report->host[0] = '\0';
    }
    report->host[sizeof(report->host) - 1] = '\0'; /* a longer name is truncated */
    sli_cpu_model(report->cpu, sizeof(report->cpu));
    report->kernels = sli_cpu_level_name(sli_cpu_current());
    report->cpu_ns = sli_process_cpu_ns();
    report->memory.peak_rss = (uint64_t)sli_process_peak_rss();
}

static void collect_environment(const report_run *run, sluice_report *report)
{
    const sli_topology *topology = run->feed->topology;
    const sluice_device *device = run->feed->config.device;

    report->cores_allowed = topology->core_count;
    report->quota = topology->quota;
    report->nodes = topology->node_count;
    snprintf(report->device_name, sizeof(report->device_name), "%s", sluice_device_name(device));
    report->device_facts = device->caps.facts;
    report->has_kernels = device->caps.kernels;
    /* Read now, not at the start, since an idle PCIe link runs at a lower speed. */
    report->has_link = sli_pci_link_read(device->caps.pci_bus_id, &report->link);
}

/* Number of epochs and the first step of the run. */
static void collect_plan(const sink_plan *plan, uint64_t step, sluice_report_stats *stats)
{
    stats->epochs = sink_plan_epoch(plan, step) - plan->first_epoch;
    stats->first_step = plan->first_step;
}

static void collect_stats(const report_run *run, sluice_report *report)
{
    const run_counts *counts = run->counts;
    sluice_report_stats *stats = &report->stats;

    stats->steps = counts->steps;
    if (run->plan != NULL) {
        collect_plan(run->plan, run->step, stats);
        report->was_complete = run->plan->first_step >= run->plan->end_step;
    }
    stats->samples = counts->samples;
    stats->launches = counts->launches;
    stats->syncs = counts->syncs;
    stats->yields = counts->yields;
    stats->staging_bytes = run->feed->memory.staging_bytes;
    stats->slot_bytes = run->feed->memory.slot_bytes;
    stats->digest = counts->digest;
    stats->nan_steps = counts->nan_steps;
    stats->first_nan_step = counts->nan_steps > 0 ? counts->first_nan_step : UINT64_MAX;
    stats->checkpoints = counts->checkpoints;
    stats->validations = counts->validations;
    stats->validation_seconds = counts->validation_seconds;
    stats->validation_bad_samples = counts->validation_bad_samples;
    stats->regrouped_batch_size = run->regrouped_batch_size;
    stats->regrouped_world = run->regrouped_world;
    report->is_running = run->is_running;
    report->step_times = counts->step_times;
    report->cpu_before_ns = run->start != NULL ? run->start->cpu_ns : 0;
    report->has_digest = run->has_digest;
    report->batches = counts->steps * run->micro_batches;
    report->source = sli_plan_source(run->feed->plan);
    report->bytes_read = sli_engine_bytes_read(run->feed->engine);
    sli_engine_read_ahead(run->feed->engine, &report->ahead_samples, &report->ahead_bytes);
    sli_engine_indexes(run->feed->engine, &report->indexes);
    sli_engine_image_counts(run->feed->engine, &report->images);
    report->has_cache = sli_engine_cache(run->feed->engine, &report->cache);
    report->mode = run->program != NULL ? sluice_mode_name(run->mode) : NULL;
    snprintf(report->mode_reason, sizeof(report->mode_reason), "%s", run->mode_reason);
}

sluice_status report_make_empty(sluice_status status, const char *error, const sluice_ranks *ranks,
                                sluice_report **report_out)
{
    sluice_report *report = sli_calloc(1, sizeof(*report));

    if (report == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a report");
    }
    report->stats.struct_size = sizeof(report->stats);
    report->stats.first_nan_step = UINT64_MAX;
    report->stats.status = status;
    snprintf(report->error, sizeof(report->error), "%s", error);
    collect_process(ranks, report);
    report_find_bottleneck(report);
    *report_out = report;
    return SLUICE_OK;
}

sluice_status report_make(const report_run *run, sluice_status status, const char *error,
                          sluice_report **report_out)
{
    const sli_run_settings *settings = &run->feed->config.settings;
    const sluice_ranks own = {.rank = settings->rank, .world = settings->world, .source = "config"};
    sluice_report *report = NULL;
    sluice_status st =
        report_make_empty(status, error, run->ranks != NULL ? run->ranks : &own, &report);

    if (st != SLUICE_OK) {
        return st;
    }
    report->ran = true;
    collect_stats(run, report);
    collect_stages(run, report);
    report_collect_operations(run, report);
    report_collect_pipeline(run, report);
    collect_queues(run, report);
    collect_environment(run, report);
    collect_maps(run, report);
    report_collect_memory(run, report);
    report_collect_waits(run, report);
    report_collect_wall_time(run, report);
    st = collect_errors(run, report);
    if (st == SLUICE_OK) {
        st = report_collect_places(run, report);
    }
    if (st == SLUICE_OK) {
        st = report_collect_histograms(run, report);
    }
    if (st == SLUICE_OK) {
        st = report_collect_threads(run, report);
    }
    if (st == SLUICE_OK) {
        st = report_collect_series(run, report);
    }
    if (st == SLUICE_OK) {
        st = report_collect_slowest(run, report);
    }
    if (st != SLUICE_OK) {
        sluice_report_destroy(report);
        return st;
    }
    report_bound(report);
    report_find_bottleneck(report);
    *report_out = report;
    return SLUICE_OK;
}

static const sli_struct stats_struct = SLI_STRUCT(sluice_report_stats, validation_bad_samples);

sluice_status sluice_report_stats_get(const sluice_report *report, sluice_report_stats *stats)
{
    if (report == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_report_stats_get: report is NULL");
    }
    return sli_struct_write(&stats_struct, "sluice_report_stats_get", &report->stats, stats);
}

void sluice_report_destroy(sluice_report *report)
{
    if (report != NULL) {
        sli_free(report->errors);
        sli_free(report->slowest);
        sli_free(report->histograms);
        sli_free(report->places);
        sli_free(report->threads);
        sli_free(report->series);
        sli_free(report->passes);
        sli_free(report);
    }
}
