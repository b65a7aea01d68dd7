/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The advice in a report: of the remedies that fit the run's figures, the one with the largest
 * gain, and the rate to expect from it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "report_waits.h"

/*
 * Cost model for decoding only a box of a JPEG file, relative to a full decode. A decoder that
 * starts at the beginning of the file Huffman-decodes all lines down to the box's lower edge
 * (HUFFMAN_PART); the rest of the work is done only for the box's pixels. With an index or restart
 * markers it decodes only the box, enlarged to whole cells (CELLS_AROUND). Measured with ImageNet's
 * photographs (docs/guide/fast-data.md).
 */
static const double HUFFMAN_PART = 0.7;
static const double CELLS_AROUND = 1.15;

/* Remedies with a smaller gain are not worth their price. */
static const double LEAST_GAIN = 1.1;

/* If steps are busy for a smaller share of the time, they count as empty and limit nothing. */
static const double EMPTY_STEP = 0.05;

static void say(sluice_report *report, const char *format, ...) SLUICE_PRINTF(2, 3);

static void say(sluice_report *report, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    sli_print_args(report->bottleneck_advice, sizeof(report->bottleneck_advice), format, args);
    va_end(args);
}

/* Samples per second if the pipeline were faster by the factor `gain`, clamped to the rate that the
 * steps sustain. */
static double rate_with(const sluice_report *report, double gain)
{
    const double rate = gain * report_rate(report);
    const double most = report_rate(report) / (1 - report->stats.data_wait_share);

    return report_step_share(report) >= EMPTY_STEP && rate > most ? most : rate;
}

/* Cores that this rank may use. */
static uint32_t own_cores(const sluice_report *report)
{
    return report->core_count > 0 ? report->core_count : report->cores_allowed;
}

/* Cores that neither the workers nor the steps of a host device use, nor other ranks. */
static double spare_cores(const sluice_report *report)
{
    const bool quota_is_less = report->quota > 0 && report->quota < own_cores(report);
    const double cores = quota_is_less ? report->quota : own_cores(report);
    const double step = report->has_kernels ? 0 : report_step_share(report);

    if (report->undivided || report->shared_cores > 0) {
        return 0;
    }
    return cores - report->worker_count - (step >= EMPTY_STEP ? step : 0);
}

/* Speed-up factor of the workers per sample if the samples that lack an index had one. */
static double gain_of_index(const sluice_report *report, const sli_stage_summary *decode)
{
    const sli_index_counts *counts = &report->indexes;
    const double now =
        HUFFMAN_PART * (double)counts->above + (1 - HUFFMAN_PART) * (double)counts->needed;
    const double then = CELLS_AROUND * (double)counts->needed;
    const double lacking = (double)counts->lacking / (double)decode->samples;
    const double spared =
        then < now ? lacking * (1 - then / now) * decode->busy_ns / report_workers_ns(report) : 0;

    return 1 / (1 - spared);
}

static double gain_of_workers(const sluice_report *report)
{
    const double spare = spare_cores(report);

    return spare >= 1 ? (report->worker_count + spare) / report->worker_count : 1;
}

static void advise_workers(sluice_report *report, double gain)
{
    say(report,
        "more workers: %u of them leave %.0f core%s idle; up to %.0f samples/s in place of "
        "%.0f",
        report->worker_count, spare_cores(report), spare_cores(report) < 2 ? "" : "s",
        rate_with(report, gain), report_rate(report));
}

static void advise_index(sluice_report *report, double gain)
{
    const sli_index_counts *counts = &report->indexes;
    const bool is_folder = strcmp(report->source, "image_folder") == 0;
    const char *remedy = counts->asked > 0 ? "later passes will use the indexes that this one made"
                         : is_folder
                             ? "image_folder index=DIR (from the second pass on) or `sluice pack`"
                             : "`sluice pack`";

    say(report,
        "%s: the crops need %.0f %% of the pixels down to their lower edge; about %.0f samples/s "
        "in "
        "place of %.0f",
        remedy, 100 * (double)counts->needed / (double)counts->above, rate_with(report, gain),
        report_rate(report));
}

static void advise_decode(sluice_report *report, const sli_stage_summary *decode)
{
    const double by_index = gain_of_index(report, decode);
    const double by_workers = gain_of_workers(report);

    if (by_index >= LEAST_GAIN && by_index >= by_workers) {
        advise_index(report, by_index);
    } else if (by_workers >= LEAST_GAIN) {
        advise_workers(report, by_workers);
    } else {
        say(report,
            "no core is idle, and decode does %.0f samples/s at most: more cores, or smaller "
            "images "
            "(`sluice pack --max-side N`, lossy)",
            report_sustained(report, decode));
    }
}

static void advise_read(sluice_report *report, const sli_stage_summary *read)
{
    const double mb_per_s = (double)report->bytes_read / 1e6 / report->stats.seconds;

    if (2 * report->ahead_bytes > report->bytes_read) {
        say(report,
            "the disk gives %.1f MB/s: a faster one, more memory for the page cache, or fewer "
            "bytes "
            "(`sluice pack --max-side N`, lossy)",
            mb_per_s);
    } else if (strcmp(report->source, "image_folder") == 0) {
        say(report,
            "a file takes %.0f us to read, %.1f MB/s in all: `sluice pack` spares opening and "
            "closing each",
            read->p50_ns / 1e3, mb_per_s);
    } else {
        say(report, "reading gives %.1f MB/s: a faster disk, or files in the page cache", mb_per_s);
    }
}

static void advise_pixels(sluice_report *report, const sli_stage_summary *pixels)
{
    const double by_workers = gain_of_workers(report);

    if (report->has_kernels) {
        say(report,
            "offload=device for normalize, to_dtype and to_chw: the workers do %.0f "
            "samples/s of %s at most",
            report_sustained(report, pixels), pixels->name);
    } else if (by_workers >= LEAST_GAIN) {
        advise_workers(report, by_workers);
    } else {
        say(report,
            "no core is idle, and %s does %.0f samples/s at most: more cores, or a smaller size",
            pixels->name, report_sustained(report, pixels));
    }
}

void report_advise_workers(sluice_report *report, const sli_stage_summary *most)
{
    if (strcmp(most->name, "read") == 0) {
        advise_read(report, most);
    } else if (strcmp(most->name, "decode") == 0) {
        advise_decode(report, most);
    } else {
        advise_pixels(report, most);
    }
}

void report_advise_batches(sluice_report *report)
{
    say(report, "larger batches, which are handed from the workers to the steps less often");
}

void report_advise_ranks(sluice_report *report)
{
    if (2 * report_late_share(report) < report_agree_share(report)) {
        say(report, "use longer sinks (sink_size): ranks call agree less often");
    } else {
        say(report, "see the report of rank %u for what limits all ranks",
            report->waits.late[0].rank);
    }
}

void report_advise_copy(sluice_report *report, const sli_stage_summary *copy)
{
    say(report,
        "copies move %.1f MB/s, %.1f kB a sample: send fewer bytes, by offload=device for "
        "normalize, "
        "to_dtype and to_chw",
        (double)copy->bytes / 1e6 / report->stats.seconds,
        report->stats.samples > 0 ? (double)copy->bytes / 1e3 / (double)report->stats.samples : 0);
}

/* A smaller number of workers that would still keep up with the steps; 0 if fewer workers would not
 * free a core for the step. */
static uint32_t fewer_workers(const sluice_report *report)
{
    const double busy = report_workers_ns(report) / 1e9 / report->stats.seconds;
    const uint32_t enough = (uint32_t)busy + 1;
    const bool frees_cores = enough < report->worker_count && enough < report->core_count &&
                             report->core_count - enough > report->spare_cores;

    return busy > 0 && frees_cores && !report->has_kernels ? enough : 0;
}

void report_advise_step(sluice_report *report)
{
    const uint32_t enough = fewer_workers(report);

    if (report_step_share(report) < EMPTY_STEP && !report->has_kernels) {
        say(report,
            "steps take %.1f %% of the time: the run is too short for a verdict, or the host "
            "spends the time between steps",
            100 * report_step_share(report));
    } else if (enough > 0) {
        say(report,
            "nothing to gain in the pipeline; %u of %u workers would do, and leave %u of %u cores "
            "to the step alone",
            enough, report->worker_count, report->core_count - enough, report->core_count);
    } else {
        say(report, "nothing to gain in the pipeline");
    }
}
