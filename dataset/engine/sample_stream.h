/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deals the samples of a stream source to the rows of a run. A worker claims a row and reads its
 * sample in one step, under a lock. So position p of a pass has the p-th sample of the stream,
 * whichever worker reads it. All later work is as parallel as for other sources. Each rank reads
 * all samples and keeps its own.
 */
#ifndef SLUICE_SAMPLE_STREAM_H
#define SLUICE_SAMPLE_STREAM_H

#include "replay.h"

typedef enum stream_kind {
    STREAM_SAMPLE,   /* the row has a sample */
    STREAM_PADDING,  /* the row has no sample: the pass has ended, or the batch was abandoned */
    STREAM_LEFT_OUT, /* like STREAM_PADDING, in a batch that will be dropped */
    STREAM_FAILED,   /* the stream cannot be read any further; status and the last error have the
                        cause */
    STREAM_END,      /* batch seq does not exist: the data has ended */
    STREAM_LIMIT,    /* no row of batch seq is claimed until a rewind */
    STREAM_NOTHING   /* no rows are left */
} stream_kind;

typedef struct stream_claim {
    stream_kind kind;
    uint64_t seq;
    uint32_t row;
    uint64_t pass;
    uint64_t position; /* position in the pass, over all ranks */
    uint64_t sample;
    sluice_status status;
    uint64_t waited_ticks; /* time spent waiting for other workers */
} stream_claim;

typedef struct sample_stream sample_stream;

/*
 * Creates a stream that yields up to this many batches, from up to this many passes (0: unlimited).
 * The plan determines where they begin. Returns E_NO_MEMORY or E_IO on failure.
 */
sluice_status sample_stream_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                                   sample_stream **stream_out);
void sample_stream_destroy(sample_stream *stream);

/*
 * Ends all pending and later takes, including one that waits for bytes: they return STREAM_NOTHING.
 * Callable from any thread.
 */
void sample_stream_stop(sample_stream *stream);

/*
 * Blocks all takes until sample_stream_rewind(); waits for a take in progress. Returns the last
 * batch of which a row was claimed.
 */
uint64_t sample_stream_freeze(sample_stream *stream);

/*
 * Ends the block by sample_stream_freeze(). Rows of batches up to base are padding from now on. The
 * batch after base is the first one of the plan again. No row of a batch after limit is claimed.
 */
void sample_stream_rewind(sample_stream *stream, uint64_t base, uint64_t limit);

/* Claims the next row, and reads its sample into the item. Callable from any worker. */
void sample_stream_take(sample_stream *stream, stream_item *item, stream_claim *claim_out);

/* Releases the bytes of the item's sample. Callable from any worker. */
void sample_stream_done(sample_stream *stream, stream_item *item);

/* True if this batch will be dropped. All its rows must be done. */
bool sample_stream_drops(const sample_stream *stream, uint64_t seq);

/* Reuses the number of a dropped batch for the next batch, and lets takes continue. */
void sample_stream_again(sample_stream *stream, uint64_t seq);

/* The replay of the samples that are skipped, since they are before the run. */
const replay *sample_stream_replay(const sample_stream *stream);

#endif
