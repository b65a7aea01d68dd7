/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample's way from its file to its row of a batch, in a straight line on one worker:
 *
 *     read -> decode (what the crop needs) -> resample -> convert -> row
 */
#ifndef SLUICE_SAMPLE_RUN_H
#define SLUICE_SAMPLE_RUN_H

#include "image_decoder.h"
#include "index_counts_int.h"
#include "plan.h"
#include "resample.h"
#include "sample_stream.h"

/* What a worker is doing, for a report of who waits for whom; written by it, read by anyone. */
typedef struct worker_state {
    _Atomic(const char *) stage; /* "": between samples */
    _Atomic uint64_t sample;
    _Atomic uint64_t since_ticks;
} worker_state;

/* sli_index_counts, of one worker; written by it, read by anyone. */
typedef struct worker_indexes {
    _Atomic uint64_t asked;
    _Atomic uint64_t used;
    _Atomic uint64_t made;
    _Atomic uint64_t refused;
} worker_indexes;

/* What one worker works with. */
typedef struct sample_runner {
    const sli_plan *plan;
    image_decoder *decoder;
    sample_io io;
    image_resampler resampler;
    image_buffer between[2]; /* images between two groups of geometry, by turns */
    const char *stage;       /* where the last failure happened */
    uint64_t read_ticks;     /* of the last read, 0 when it failed, and its bytes */
    uint64_t read_bytes;
    bool drops; /* bytes that were read, from the page cache */
    worker_state state;
    worker_indexes indexes;
    sli_counters *counters[PLAN_PROFILED]; /* of this worker */
} sample_runner;

/* Where a sample goes: one row of each column. */
typedef struct sample_row {
    void *columns[SLUICE_MAX_COLUMNS];
    uint8_t *flags;
} sample_row;

sluice_status sample_runner_init(sample_runner *runner, const sli_plan *plan);
void sample_runner_fini(sample_runner *runner);

/*
 * Brings a sample into its row. On failure runner->stage and the last error say what happened; the
 * row then holds anything.
 */
sluice_status sample_run(sample_runner *runner, uint64_t sample, uint64_t pass,
                         const sample_row *row);

/* Claims a row of a stream and takes its sample, which sample_run() then brings into the row. */
void sample_take(sample_runner *runner, sample_stream *stream, stream_claim *claim_out);

/* Adds what came of this worker's indexes. Any thread. */
void sample_add_indexes(const sample_runner *runner, sli_index_counts *counts);

/* The name of a sample; of a stream's the one that was taken last, whatever its number. */
void sample_name(const sample_runner *runner, uint64_t sample, char *text, size_t size);

/* "decode: sample 7, cat/7.jpg: why", of the sample that the runner has just failed on. */
void sample_describe_failure(const sample_runner *runner, uint64_t sample, char *text, size_t size);

#endif
