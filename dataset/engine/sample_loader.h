/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a sample: from its file to its row of a batch, in a straight line on one worker:
 *
 *     read -> decode (what the crop needs) -> resample -> convert -> row
 *
 * Then the masks and boxes of the sample, which follow the image.
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
    _Atomic(const char *) stage; /* "": between samples */
    _Atomic uint64_t sample;
    _Atomic uint64_t since_ticks;
    _Atomic uint64_t seq;  /* the batch whose rows it fills */
    _Atomic uint32_t rows; /* rows of that batch that it filled and that the queue has not
                              counted yet */
} worker_state;

/* sli_index_counts of one worker; written by the worker, read by any thread. */
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
    image_buffer between[2]; /* images between two groups of geometry, used alternately */
    sluice_sample *maps;     /* by step of the plan; NULL: there are none, or no sample yet */
    uint8_t *scratch;        /* the columns that are not in the row (plan_buffer) */
    image_way way;           /* what was done to the last image, where something follows it */
    fused_geometry groups[DATASET_MAX_STAGES + 1]; /* of way */
    const char *stage;                             /* stage of the last failure */
    sli_fault fault;     /* fault of the machine in the last read; NONE: no fault */
    uint64_t read_ticks; /* of the last read, 0 if it failed; and its bytes */
    uint64_t read_bytes;
    bool drops; /* drop pages of samples from the page cache once they are done */
    worker_state state;
    worker_indexes indexes;
    sli_counters *counters[PLAN_PROFILED]; /* of this worker */
} sample_loader;

/* The destination of a sample: one row of each column. */
typedef struct sample_row {
    void *columns[SLUICE_MAX_COLUMNS];
    uint8_t *flags;
} sample_row;

sluice_status sample_loader_init(sample_loader *loader, const sli_plan *plan);

/* Ends what user code keeps for this worker: the last call on the worker's thread. */
void sample_loader_end(sample_loader *loader);
void sample_loader_fini(sample_loader *loader);

/*
 * Loads a sample into its row. On failure loader->stage names the stage and the last error has the
 * cause; the contents of the row are undefined.
 */
sluice_status sample_load(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row);

/* Claims a row of a stream and reads its sample; sample_load() then writes it into the row. */
void sample_claim(sample_loader *loader, sample_stream *stream, stream_claim *claim_out);

/* Adds this worker's index counts. Any thread. */
void sample_add_indexes(const sample_loader *loader, sli_index_counts *counts);

/* The name of a sample; for a stream, of the last claimed sample. */
void sample_name(const sample_loader *loader, uint64_t sample, char *text, size_t size);

/* "decode: sample 7, cat/7.jpg: why", for the sample on which the loader just failed. */
void sample_failure_text(const sample_loader *loader, uint64_t sample, char *text, size_t size);

#endif
