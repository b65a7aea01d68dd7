/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a sample: from its file to its row of a batch, completely on one worker:
 *
 *     read -> decode (what the crop needs) -> resample -> convert -> row
 *
 * Then its masks and boxes are processed, since they depend on the geometry of the image.
 */
#ifndef SLUICE_SAMPLE_LOADER_H
#define SLUICE_SAMPLE_LOADER_H

#include "fault_int.h"
#include "image_decoder.h"
#include "index_counts_int.h"
#include "plan.h"
#include "resample.h"
#include "sample_masks.h"
#include "sample_stream.h"

/* A worker's current work, for stall diagnostics; written by the worker, read by any thread. */
typedef struct worker_state {
    _Atomic(const char *) stage; /* current stage; "": between samples */
    _Atomic uint64_t sample;
    _Atomic uint64_t since_ticks;
    _Atomic uint64_t seq;  /* batch whose rows it fills */
    _Atomic uint32_t rows; /* rows of that batch that it has filled but the queue has not counted
                              yet */
} worker_state;

/* Index statistics of one worker (sli_index_counts); written by the worker, read by any thread. */
typedef struct worker_indexes {
    _Atomic uint64_t asked;
    _Atomic uint64_t used;
    _Atomic uint64_t made;
    _Atomic uint64_t refused;
    _Atomic uint64_t lacking;
    _Atomic uint64_t above;
    _Atomic uint64_t needed;
} worker_indexes;

/* The state of one worker: decoder, resampler, buffers, counters. */
typedef struct sample_loader {
    const sli_plan *plan;
    image_decoder *decoder;
    sample_io io;
    image_resampler resampler;
    image_buffer between[2]; /* images between two groups of geometry stages, used alternately */
    sluice_sample *maps;     /* states of the maps, indexed by step of the plan; NULL: none yet */
    uint8_t *scratch;        /* memory of columns that are not in the row (plan_buffer) */
    uint8_t *own_rows; /* the worker's private rows (plan_details.own_rows); NULL: no filter */
    image_way way;     /* geometry of the last image, for its masks and boxes */
    fused_geometry groups[DATASET_MAX_STAGES + 1]; /* storage for way.groups */
    const char *stage;                             /* stage of the last failure */
    sli_fault fault;     /* fault of the machine in the last read; NONE: there was none */
    uint64_t read_ticks; /* duration of the last read, 0 if it failed; and its bytes */
    uint64_t read_bytes;
    bool filters; /* sample_load() must call the filters */
    bool dropped; /* a filter has dropped the last sample */
    bool drops;   /* drop pages of samples from the page cache after use */
    worker_state state;
    worker_indexes indexes;
    sli_counters *counters[PLAN_PROFILED]; /* counters of this worker */
} sample_loader;

/* The destination of a sample: one row of each column. */
typedef struct sample_row {
    void *columns[SLUICE_MAX_COLUMNS];
    uint8_t *flags;
} sample_row;

sluice_status sample_loader_init(sample_loader *loader, const sli_plan *plan);

/* Frees the state of user code for this worker; the last call on the worker's thread. */
void sample_loader_end(sample_loader *loader);
void sample_loader_fini(sample_loader *loader);

/*
 * Loads a sample into its row. On failure loader->stage is the stage that failed, the last error
 * has the cause, and the row is undefined.
 */
sluice_status sample_load(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row);

/* Claims a row of a stream and reads its sample; sample_load() then writes it into the row. */
void sample_claim(sample_loader *loader, sample_stream *stream, stream_claim *claim_out);

/* Adds this worker's index statistics to *counts. Any thread. */
void sample_add_indexes(const sample_loader *loader, sli_index_counts *counts);

/* Writes the name of a sample; for a stream, of the sample that was claimed last. */
void sample_name(const sample_loader *loader, uint64_t sample, char *text, size_t size);

/* Writes "decode: sample 7, cat/7.jpg: why", after the loader has failed on that sample. */
void sample_failure_text(const sample_loader *loader, uint64_t sample, char *text, size_t size);

#endif
