/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Results of a run, or of a channel so far: rates and waits of each stage, the bottleneck, memory,
 * placement, errors. Made by sluice_train() and sluice_channel_report().
 */
#ifndef SLUICE_REPORT_H
#define SLUICE_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sluice/status.h>

SLUICE_BEGIN_DECLS

/** The report of a run, or of a channel. */
typedef struct sluice_report sluice_report;

/** The most used figures of a run; sluice_report_json() has all of them. */
typedef struct sluice_report_stats {
    size_t struct_size;     /**< bytes; set by sluice_report_stats_init() */
    sluice_status status;   /**< of sluice_train(), or see sluice_channel_report() */
    uint64_t steps;         /**< steps that ran, including one that failed */
    uint64_t epochs;        /**< completed epochs */
    uint64_t samples;       /**< rows with samples in these steps */
    uint64_t launches;      /**< host calls that made the device run */
    uint64_t syncs;         /**< waits of the host for the end of all launches */
    uint64_t yields;        /**< sinks that were continued after waiting for data */
    uint64_t replaced;      /**< bad samples that were replaced by another one */
    uint64_t zeroed;        /**< rows of zeros in place of bad samples */
    uint64_t staging_bytes; /**< host memory of batches on their way to the device */
    uint64_t slot_bytes;    /**< device memory of batches */
    uint64_t digest;        /**< digest of all steps, in order; 0 unless config.digest */
    double seconds;         /**< duration of the run, without opening */
    double data_wait_share; /**< share of `seconds` in which steps waited for data, excluding the
                                 replay of passes of unknown length */
    uint64_t nan_steps; /**< steps with an output that was not finite; 0 with nan_guard ignore */
    uint64_t first_nan_step;         /**< the first of nan_steps; UINT64_MAX: none */
    uint64_t first_step;             /**< first step of this run */
    uint64_t checkpoints;            /**< checkpoints that were written */
    uint64_t validations;            /**< completed validations */
    uint32_t regrouped_batch_size;   /**< batch size that the resumed pass was begun with */
    uint32_t regrouped_world;        /**< its number of ranks; both are 0 unless it is regrouped */
    double validation_seconds;       /**< time in validations, part of `seconds` */
    uint64_t validation_bad_samples; /**< samples of validations that were replaced or zeroed */
    uint64_t device_map_bytes;       /**< device memory of the outputs of device maps */
} sluice_report_stats;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_report_stats_init(sluice_report_stats *stats)
{
    memset(stats, 0, sizeof(*stats));
    stats->struct_size = sizeof(*stats);
}

/** Fills in the statistics. Returns: E_INVALID struct_size is not set. Threads: any. */
SLUICE_API_CHECKED sluice_status sluice_report_stats_get(const sluice_report *report,
                                                         sluice_report_stats *stats);

/**
 * Writes the report as a table: what ran, the throughput of each stage, the bottleneck and advice.
 *
 * @param text_out  owned by the caller: freed by sluice_string_free()
 *
 * Returns: E_NO_MEMORY.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_report_text(const sluice_report *report, char **text_out);

/**
 * Writes the report as one JSON object; its keys are described in the guide.
 *
 * @param json_out  owned by the caller: freed by sluice_string_free()
 *
 * Returns: E_NO_MEMORY.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_report_json(const sluice_report *report, char **json_out);

/**
 * Asks the runs of sluice_train() and the channels in this process for their reports so far: each
 * writes its report as text to standard error, and goes on. A run does so within one step, hook,
 * checkpoint or validation; a channel that has been started in sluice_channel_get_next(), when it
 * is called next, or within 0.1 s if it waits. Async-signal-safe.
 *
 * Threads: any, at any time, also in signal handlers.
 */
SLUICE_API void sluice_report_request(void);

/** Frees a report. NULL is fine. Threads: any, once no other call uses the report. */
SLUICE_API void sluice_report_destroy(sluice_report *report);

SLUICE_END_DECLS

#endif
