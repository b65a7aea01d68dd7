/* SPDX-License-Identifier: Apache-2.0 */
/* The report as one JSON object. Its keys are described in docs/guide/report.md. */
#include <inttypes.h>
#include <stdio.h>

#include <sluice/version.h>

#include "report_histogram.h"
#include "report_memory.h"
#include "report_operations.h"
#include "report_passes.h"
#include "report_series.h"
#include "report_slowest.h"
#include "report_stage_times.h"
#include "report_threads.h"
#include "report_verdict.h"
#include "report_waits.h"
#include "report_wall_time.h"

static void add_count(sli_text *text, const char *key, uint64_t value)
{
    sli_text_add(text, ",\"%s\":%" PRIu64, key, value);
}

static void add_number(sli_text *text, const char *key, double value)
{
    sli_text_add(text, ",\"%s\":", key);
    sli_text_add_number(text, value);
}

static void add_string(sli_text *text, const char *key, const char *value)
{
    sli_text_add(text, ",\"%s\":", key);
    if (value != NULL) {
        sli_text_add_json(text, value);
    } else {
        sli_text_add(text, "null");
    }
}

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void add_totals(const sluice_report *report, sli_text *text)
{
    const sluice_report_stats *stats = &report->stats;

    add_count(text, "samples", stats->samples);
    add_count(text, "batches", report->batches);
    add_count(text, "steps", stats->steps);
    add_count(text, "epochs", stats->epochs);
    add_number(text, "seconds", stats->seconds);
    add_number(text, "samples_per_s", share((double)stats->samples, stats->seconds));
    add_number(
        text, "cpu_s_per_1000_samples",
        share((double)(report->cpu_ns - report->cpu_before_ns) / 1e6, (double)stats->samples));
    add_count(text, "bytes_read", report->bytes_read);
    add_count(text, "samples_read_ahead", report->ahead_samples);
    add_count(text, "bytes_read_ahead", report->ahead_bytes);
    add_count(text, "samples_by_index", report->indexes.used);
    add_count(text, "indexes_made", report->indexes.made);
    add_count(text, "indexes_refused", report->indexes.refused);
    add_count(text, "bytes_h2d", report->bytes_h2d);
    add_number(text, "h2d_gb_per_s", share((double)report->bytes_h2d / 1e9, stats->seconds));
    add_string(text, "mode", report->mode);
    add_string(text, "mode_reason", report->mode_reason);
    add_count(text, "launches", stats->launches);
    add_count(text, "syncs", stats->syncs);
    add_count(text, "yields", stats->yields);
    add_count(text, "nan_steps", stats->nan_steps);
    if (stats->nan_steps > 0) {
        add_count(text, "first_nan_step", stats->first_nan_step);
    } else {
        sli_text_add(text, ",\"first_nan_step\":null");
    }
    add_count(text, "regrouped_batch_size", stats->regrouped_batch_size);
    add_count(text, "regrouped_world", stats->regrouped_world);
    add_count(text, "first_step", stats->first_step);
    add_count(text, "checkpoints", stats->checkpoints);
    add_count(text, "validations", stats->validations);
    add_number(text, "validation_seconds", stats->validation_seconds);
    add_count(text, "validation_bad_samples", stats->validation_bad_samples);
    add_number(text, "data_wait_share", stats->data_wait_share);
    add_count(text, "replayed_samples", report->replayed);
    add_number(text, "replay_seconds", report->replay_seconds);
    if (report->has_digest) {
        sli_text_add(text, ",\"digest\":\"%016" PRIx64 "\"", stats->digest);
    } else {
        sli_text_add(text, ",\"digest\":null");
    }
}

static void add_errors(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, ",\"errors\":{\"failed\":%" PRIu64, report->failed);
    add_count(text, "replaced", report->stats.replaced);
    add_count(text, "zeroed", report->stats.zeroed);
    sli_text_add(text, ",\"first\":[");
    for (uint32_t i = 0; i < report->error_count; i++) {
        const sli_error_sample *error = &report->errors[i];

        sli_text_add(text, "%s{\"sample\":%" PRIu64, i > 0 ? "," : "", error->sample);
        add_string(text, "name", error->name);
        add_string(text, "stage", error->stage);
        add_string(text, "error", error->text);
        sli_text_add(text, "}");
    }
    sli_text_add(text, "]}");
}

static void add_maps(const sluice_report *report, sli_text *text)
{
    if (report->maps[0] == '\0') {
        sli_text_add(text, ",\"device_maps\":null");
        return;
    }
    sli_text_add(text, ",\"device_maps\":{\"names\":");
    sli_text_add_json(text, report->maps);
    sli_text_add(text, ",\"timed\":%s}", report->maps_untimed ? "false" : "true");
}

static void add_images(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, ",\"images\":{");
    for (uint32_t i = 0; i < SLI_IMAGE_NOTES; i++) {
        sli_text_add(text, "%s\"%s\":%" PRIu64, i > 0 ? "," : "", sli_image_note_keys[i],
                     report->images.of[i]);
    }
    sli_text_add(text, "}");
}

static void add_cache(const sluice_report *report, sli_text *text)
{
    const sli_cache_counts *cache = &report->cache;

    if (!report->has_cache) {
        sli_text_add(text, ",\"cache\":null");
        return;
    }
    sli_text_add(text, ",\"cache\":{\"hits\":%" PRIu64, cache->hits);
    add_count(text, "misses", cache->misses);
    add_number(text, "hit_share",
               share((double)cache->hits, (double)cache->hits + (double)cache->misses));
    add_count(text, "samples", cache->entries);
    add_count(text, "bytes", cache->bytes);
    add_count(text, "limit_bytes", cache->limit);
    add_count(text, "ranks", cache->ranks);
    sli_text_add(text, ",\"full\":%s}", cache->is_full ? "true" : "false");
}

static void add_stages(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, ",\"stages\":[");
    for (uint32_t i = 0; i < report->stage_count; i++) {
        const sli_stage_summary *stage = &report->stages[i];
        const double all = report->stats.seconds * 1e9 * stage->threads;

        sli_text_add(text, "%s{\"name\":", i > 0 ? "," : "");
        sli_text_add_json(text, stage->name);
        add_count(text, "samples", stage->samples);
        add_count(text, "bytes", stage->bytes);
        add_number(text, "samples_per_s", share((double)stage->samples, report->stats.seconds));
        add_number(text, "sustained_samples_per_s", report_sustained(report, stage));
        add_number(text, "busy_share", share(stage->busy_ns, all));
        add_number(text, "wait_input_share", share(stage->wait_input_ns, all));
        add_number(text, "wait_room_share", share(stage->wait_room_ns, all));
        add_number(text, "p50_us", stage->p50_ns / 1e3);
        add_number(text, "p99_us", stage->p99_ns / 1e3);
        add_count(text, "workers", stage->threads);
        report_add_operations_json(report, i, text);
        report_add_histogram_json(report, i, text);
        report_add_stage_times_json(report, i, text);
        sli_text_add(text, "}");
    }
    sli_text_add(text, "]");
}

static void add_queues(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, ",\"queues\":[");
    for (uint32_t i = 0; i < report->queue_count; i++) {
        const sli_ring_stats *ring = &report->queues[i];

        sli_text_add(text, "%s{\"name\":", i > 0 ? "," : "");
        sli_text_add_json(text, report->queue_names[i]);
        add_count(text, "capacity", ring->capacity);
        add_number(text, "mean_depth", share((double)ring->depth_sum, (double)ring->depth_samples));
        add_number(text, "empty_share", share((double)ring->empty, (double)ring->depth_samples));
        add_number(text, "full_share", share((double)ring->full, (double)ring->depth_samples));
        sli_text_add(text, "}");
    }
    sli_text_add(text, "]");
    add_count(text, "batches_produced", report->produced);
    add_count(text, "batches_consumed", report->consumed);
    add_string(text, "transport", report->transport);
    add_count(text, "h2d_copies", report->h2d_copies);
    add_count(text, "publishes", report->publishes);
}

static void add_cpus(sli_text *text, const char *key, const sli_cpus *cpus)
{
    char ranges[2000];

    add_string(text, key, sli_cpus_format(cpus, ranges, sizeof(ranges)));
}

static void add_buffer(const sluice_report *report, const sli_buffer_place *buffer, sli_text *text)
{
    char wanted[20] = "any node";
    char got[200];

    if (buffer->wanted >= 0) {
        snprintf(wanted, sizeof(wanted), "node %d", buffer->wanted);
    }
    sli_text_add(text, ",{\"buffer\":");
    sli_text_add_json(text, buffer->name);
    add_string(text, "wanted", buffer->on_device ? report->device_name : wanted);
    add_string(text, "got",
               buffer->on_device ? report->device_name
                                 : sli_node_shares_format(&buffer->got, got, sizeof(got)));
    sli_text_add(text, "}");
}

/* Adds the placement of threads and memory, and the number of cores left for the step. */
static void add_placement(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, ",\"placement\":[");
    for (uint32_t i = 0; i < report->place_count; i++) {
        sli_text_add(text, "%s{\"thread\":", i > 0 ? "," : "");
        sli_text_add_json(text, report->places[i].name);
        add_cpus(text, "wanted", &report->places[i].wanted);
        add_cpus(text, "got", &report->places[i].got);
        sli_text_add(text, "}");
    }
    for (uint32_t i = 0; i < report->buffer_count; i++) {
        add_buffer(report, &report->buffers[i], text);
    }
    sli_text_add(text, "]");
    if (report->step.name[0] == '\0') {
        sli_text_add(text, ",\"step\":null");
        return;
    }
    sli_text_add(text, ",\"step\":{\"thread\":");
    sli_text_add_json(text, report->step.name);
    add_count(text, "threads", report->step.count);
    add_cpus(text, "cpus", &report->step.cpus);
    add_count(text, "cores", report->core_count);
    add_count(text, "cores_without_worker", report->spare_cores);
    sli_text_add(text, "}");
}

static void add_device(const sluice_report *report, sli_text *text)
{
    const sli_device_facts *facts = &report->device_facts;
    char link[64];

    add_string(text, "gpu", facts->model[0] != '\0' ? facts->model : NULL);
    add_string(text, "driver", facts->driver[0] != '\0' ? facts->driver : NULL);
    if (report->has_link) {
        sli_pci_link_format(&report->link, link, sizeof(link));
    }
    add_string(text, "pcie", report->has_link ? link : NULL);
}

/* Adds what the process may use, and the cores that it shares with other ranks. */
static void add_cores(const sluice_report *report, sli_text *text)
{
    if (!report->ran) {
        sli_text_add(text, ",\"cpus\":null,\"policy\":null,\"cores\":null,\"shared_cores\":null,"
                           "\"sharing_ranks\":null");
        return;
    }
    add_cpus(text, "cpus", &report->cpus);
    add_string(text, "policy", report->policy);
    add_count(text, "cores", report->core_count);
    if (report->undivided) {
        sli_text_add(text, ",\"shared_cores\":null,\"sharing_ranks\":null");
    } else {
        add_count(text, "shared_cores", report->shared_cores);
        add_count(text, "sharing_ranks", report->sharing_ranks);
    }
}

/* Adds rank, local rank, host and process id. */
static void add_process(const sluice_report *report, sli_text *text)
{
    const sluice_ranks *ranks = &report->ranks;

    sli_text_add(text, ",\"process\":{\"rank\":%u,\"world\":%u", ranks->rank, ranks->world);
    if (ranks->local_world > 0) {
        add_count(text, "local_rank", ranks->local_rank);
        add_count(text, "local_world", ranks->local_world);
    } else {
        sli_text_add(text, ",\"local_rank\":null,\"local_world\":null");
    }
    add_string(text, "host", report->host);
    add_count(text, "pid", (uint64_t)report->pid);
    add_cores(report, text);
    sli_text_add(text, "}");
}

static void add_environment(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, ",\"environment\":{\"cpu\":");
    sli_text_add_json(text, report->cpu);
    add_string(text, "kernels", report->kernels);
    add_string(text, "device", report->device_name[0] != '\0' ? report->device_name : NULL);
    add_count(text, "cores_allowed", report->cores_allowed);
    if (report->quota > 0) {
        add_number(text, "quota", report->quota);
    } else {
        sli_text_add(text, ",\"quota\":null");
    }
    add_count(text, "nodes", report->nodes);
    add_device(report, text);
    sli_text_add(text, ",\"versions\":{\"sluice\":");
    sli_text_add_json(text, sluice_version());
    add_string(text, "build", sluice_build_options());
    sli_text_add(text, "}}");
}

sluice_status sluice_report_json(const sluice_report *report, char **json_out)
{
    sli_text text = {0};

    if (report == NULL || json_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_report_json: report or json_out is NULL");
    }
    sli_text_add(&text, "{\"schema\":1,\"status\":");
    sli_text_add_json(&text, sluice_status_name(report->stats.status));
    add_string(&text, "error", report->error[0] != '\0' ? report->error : NULL);
    sli_text_add(&text, ",\"running\":%s", report->is_running ? "true" : "false");
    add_totals(report, &text);
    report_add_wall_time_json(report, &text);
    sli_text_add(&text, ",\"clock_jumped\":%s", report->clock_jumped ? "true" : "false");
    add_errors(report, &text);
    report_add_memory_json(report, &text);
    add_images(report, &text);
    add_cache(report, &text);
    add_maps(report, &text);
    add_stages(report, &text);
    add_queues(report, &text);
    report_add_verdict_json(report, &text);
    add_placement(report, &text);
    report_add_threads_json(report, &text);
    report_add_series_json(report, &text);
    report_add_passes_json(report, &text);
    report_add_slowest_json(report, &text);
    add_process(report, &text);
    report_add_waits_json(report, &text);
    add_environment(report, &text);
    sli_text_add(&text, "}");
    return sli_text_take(&text, json_out);
}
