/* SPDX-License-Identifier: Apache-2.0 */
/* Formats a report as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "report_memory.h"
#include "report_operations.h"
#include "report_passes.h"
#include "report_places.h"
#include "report_slowest.h"
#include "report_stage_times.h"
#include "report_threads.h"
#include "report_verdict.h"
#include "report_waits.h"
#include "report_wall_time.h"

/* Minimum busy share of a stage in percent; below this share the stage's rate is meaningless. */
static const double LEAST_BUSY = 0.05;

static double per_second(double count, double seconds)
{
    return seconds > 0 ? count / seconds : 0;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* Adds one stage: the rate it would sustain, the shares of its threads' time, and the times per
 * item. */
static void add_stage(const sluice_report *report, const sli_stage_summary *stage, sli_text *text)
{
    const double all = report->stats.seconds * 1e9 * (stage->threads > 0 ? stage->threads : 1);
    const double busy = percent(stage->busy_ns, all);
    char rate[24] = "-"; /* a busy time near zero gives no rate */
    char p50[16];
    char p99[16];

    if (busy >= LEAST_BUSY) {
        sli_print(rate, sizeof(rate), "%.0f", report_sustained(report, stage));
    }
    report_print_time(stage->p50_ns, p50, sizeof(p50));
    report_print_time(stage->p99_ns, p99, sizeof(p99));
    sli_text_add(text, "%-27.27s %10s %5.1f %6.1f %5.1f %8s %8s %2u\n", stage->name, rate, busy,
                 percent(stage->wait_input_ns, all), percent(stage->wait_room_ns, all), p50, p99,
                 stage->threads);
}

static void add_stages(const sluice_report *report, sli_text *text)
{
    sli_text_add(text, "%-27s %10s %5s %6s %5s %8s %8s %2s\n", "stage", "sustains/s", "busy%",
                 "input%", "room%", "p50", "p99", "by");
    for (uint32_t i = 0; i < report->stage_count; i++) {
        add_stage(report, &report->stages[i], text);
        report_add_operations(report, i, text);
    }
}

static void add_queue(const char *name, const sli_ring_stats *ring, sli_text *text)
{
    const double depth_samples = ring->depth_samples > 0 ? (double)ring->depth_samples : 1;

    sli_text_add_line(
        text, "queue %s: %llu slots, %.1f filled on average, empty %.1f %%, full %.1f %%", name,
        (unsigned long long)ring->capacity, (double)ring->depth_sum / depth_samples,
        100 * (double)ring->empty / depth_samples, 100 * (double)ring->full / depth_samples);
}

static void add_reading(const sluice_report *report, sli_text *text)
{
    if (report->bytes_read > 0) {
        sli_text_add_line(text, "read: %.1f MB from the source, %.1f MB/s",
                          (double)report->bytes_read / 1e6,
                          per_second((double)report->bytes_read / 1e6, report->stats.seconds));
    }
    if (report->ahead_samples > 0) {
        sli_text_add_line(text, "readahead: %llu samples, %.1f MB were not in the page cache",
                          (unsigned long long)report->ahead_samples,
                          (double)report->ahead_bytes / 1e6);
    }
}

/* Adds a line on how batches reached a device with memory of its own. */
static void add_transport(const sluice_report *report, sli_text *text)
{
    const double mb = (double)report->bytes_h2d / 1e6;

    if (report->h2d_copies > 0) {
        sli_text_add_line(text, "%s: %llu batches in %llu copies, %.1f MB, %.1f MB/s",
                          report->transport, (unsigned long long)report->h2d_batches,
                          (unsigned long long)report->h2d_copies, mb,
                          per_second(mb, report->stats.seconds));
    } else if (strcmp(report->transport, "pull") == 0) {
        sli_text_add_line(text, "pull: %llu batches read from the host's memory",
                          (unsigned long long)report->consumed);
    }
}

/* Adds the model, driver and PCIe link of a GPU. */
static void add_device(const sluice_report *report, sli_text *text)
{
    const sli_device_facts *facts = &report->device_facts;
    char link[64] = "unknown";

    if (facts->model[0] == '\0') {
        return;
    }
    if (report->has_link) {
        sli_pci_link_format(&report->link, link, sizeof(link));
    }
    sli_text_add_line(text, "device %s: %s, driver %s, PCIe %s", report->device_name, facts->model,
                      facts->driver, link);
    if (report->has_link && sli_pci_link_is_slow(&report->link)) {
        sli_text_add_line(text,
                          "warning: the link to %s is %s; look at its slot, risers and power "
                          "saving",
                          report->device_name, link);
    }
}

static void add_errors(const sluice_report *report, sli_text *text)
{
    if (report->error_count == 0) {
        return;
    }
    sli_text_add(text, "bad samples: %llu replaced, %llu zeroed; the first:\n",
                 (unsigned long long)report->stats.replaced,
                 (unsigned long long)report->stats.zeroed);
    for (uint32_t i = 0; i < report->error_count && i < 5; i++) {
        sli_text_add(text, "  %s: ", report->errors[i].stage);
        sli_text_add_printable(text, report->errors[i].name);
        sli_text_add(text, ": %s\n", report->errors[i].text);
    }
    if (report->error_count > 5) {
        sli_text_add(text, "  and %u more\n", report->error_count - 5);
    }
}

static void add_indexes(const sli_index_counts *indexes, sli_text *text)
{
    if (indexes->asked > 0) {
        sli_text_add_line(
            text, "indexes: %llu of %llu samples decoded by theirs, %llu made, %llu refused",
            (unsigned long long)indexes->used, (unsigned long long)indexes->asked,
            (unsigned long long)indexes->made, (unsigned long long)indexes->refused);
    }
}

/* Adds the images of which decoding left something out. */
static void add_images(const sli_image_counts *images, sli_text *text)
{
    for (uint32_t i = 0; i < SLI_IMAGE_NOTES; i++) {
        if (images->of[i] > 0) {
            sli_text_add_line(text, "images: %llu %s", (unsigned long long)images->of[i],
                              sli_image_note_texts[i]);
        }
    }
}

/* Adds how many samples came from the cache, and how full it is. */
static void add_cache(const sluice_report *report, sli_text *text)
{
    const sli_cache_counts *cache = &report->cache;
    const double samples = (double)(cache->hits + cache->misses);
    char shared[50] = "";

    if (cache->ranks > 1) {
        snprintf(shared, sizeof(shared), ", shared by %u ranks", cache->ranks);
    }
    if (report->has_cache) {
        sli_text_add_line(text,
                          "cache: %llu of %.0f samples (%.1f %%) were hits; it holds %llu "
                          "samples, %.1f of %.1f MB%s%s",
                          (unsigned long long)cache->hits, samples,
                          percent((double)cache->hits, samples), (unsigned long long)cache->entries,
                          (double)cache->bytes / 1e6, (double)cache->limit / 1e6, shared,
                          cache->is_full ? ", and had no room for others" : "");
    }
}

/* Adds the names of the device maps. */
static void add_maps(const sluice_report *report, sli_text *text)
{
    if (report->maps[0] != '\0') {
        sli_text_add_line(text, "device maps: %s%s", report->maps,
                          !report->maps_untimed  ? ""
                          : report->mode != NULL ? "; captured with the step, whose time includes "
                                                   "theirs"
                                                 : "; enqueued, their time is not measured");
    }
}

static void add_mode(const sluice_report *report, sli_text *text)
{
    const sluice_report_stats *stats = &report->stats;

    sli_text_add_line(text, "mode %s%s%s%s: %llu launches, %llu syncs, %llu yields", report->mode,
                      report->mode_reason[0] != '\0' ? " (" : "", report->mode_reason,
                      report->mode_reason[0] != '\0' ? ")" : "",
                      (unsigned long long)stats->launches, (unsigned long long)stats->syncs,
                      (unsigned long long)stats->yields);
}

/* Adds the number of steps and samples, the first step, and steps with non-finite outputs. */
static void add_steps(const sluice_report *report, sli_text *text)
{
    const sluice_report_stats *stats = &report->stats;

    sli_text_add_line(text,
                      "%s%llu steps, %llu samples in %.3f s: %.0f samples/s, %.1f steps/s, data "
                      "wait %.1f %%",
                      report->is_running ? "so far " : "", (unsigned long long)stats->steps,
                      (unsigned long long)stats->samples, stats->seconds, report_rate(report),
                      per_second((double)stats->steps, stats->seconds),
                      100 * stats->data_wait_share);
    if (report->mode != NULL) {
        add_mode(report, text);
    }
    if (stats->first_step > 0 || stats->checkpoints > 0) {
        sli_text_add(text, "began at step %llu, wrote %llu checkpoints\n",
                     (unsigned long long)stats->first_step, (unsigned long long)stats->checkpoints);
    }
    if (report->replayed > 0) {
        sli_text_add_line(
            text, "replay: %llu samples processed again in %.3f s; not counted as data wait",
            (unsigned long long)report->replayed, report->replay_seconds);
    }
    if (stats->validations > 0) {
        sli_text_add_line(text, "validations: %llu in %.3f s, %llu bad samples replaced or zeroed",
                          (unsigned long long)stats->validations, stats->validation_seconds,
                          (unsigned long long)stats->validation_bad_samples);
    }
    if (stats->regrouped_world > 0) {
        sli_text_add_line(text, "regrouped: the checkpoint was of batches of %u on %u ranks",
                          stats->regrouped_batch_size, stats->regrouped_world);
    }
    if (stats->nan_steps > 0) {
        sli_text_add_line(text, "outputs were not finite in %llu steps, first in step %llu",
                          (unsigned long long)stats->nan_steps,
                          (unsigned long long)stats->first_nan_step);
    }
}

static void add_digest(const sluice_report *report, sli_text *text)
{
    if (report->has_digest) {
        sli_text_add(text, "digest %016" PRIx64 "\n", report->stats.digest);
    }
}

/* Adds rank, local rank, process id and host, if there are several ranks. */
static void add_ranks(const sluice_report *report, sli_text *text)
{
    const sluice_ranks *ranks = &report->ranks;
    char local[60] = "";

    if (ranks->local_world > 0) {
        snprintf(local, sizeof(local), ", local %u of %u", ranks->local_rank, ranks->local_world);
    }
    if (ranks->world > 1) {
        sli_text_add_line(text, "rank %u of %u%s, process %lld on %s", ranks->rank, ranks->world,
                          local, (long long)report->pid, report->host);
    }
}

static void add_run(const sluice_report *report, sli_text *text)
{
    report_add_verdict(report, text);
    add_steps(report, text);
    add_digest(report, text);
    if (report->clock_jumped) {
        sli_text_add_line(text,
                          "warning: a clock went back or far ahead during the run, or published "
                          "step times are longer than it; times are bounded to those of the "
                          "run, and may be wrong");
    }
    report_add_passes(report, text);
    report_add_wall_time(report, text);
    add_stages(report, text);
    report_add_stage_times(report, text);
    for (uint32_t i = 0; i < report->queue_count; i++) {
        add_queue(report->queue_names[i], &report->queues[i], text);
    }
    add_reading(report, text);
    add_indexes(&report->indexes, text);
    add_images(&report->images, text);
    add_cache(report, text);
    add_transport(report, text);
    add_errors(report, text);
    report_add_slowest(report, text);
    add_maps(report, text);
    report_add_memory(report, text);
    add_device(report, text);
    if (report->ranks.world > 1 || strcmp(report->policy, "default") != 0) {
        report_add_cores(report, text);
    }
    report_add_places(report, text);
    report_add_threads(report, text);
    report_add_waits(report, text);
}

sluice_status sluice_report_text(const sluice_report *report, char **text_out)
{
    sli_text text = {0};

    if (report == NULL || text_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_report_text: report or text_out is NULL");
    }
    add_ranks(report, &text);
    if (report->ran) {
        add_run(report, &text);
    }
    if (report->stats.status != SLUICE_OK) {
        sli_text_add(&text, "ended with %s%s%s\n", sluice_status_text(report->stats.status),
                     report->error[0] != '\0' ? ": " : "", report->error);
    }
    return sli_text_take(&text, text_out);
}
