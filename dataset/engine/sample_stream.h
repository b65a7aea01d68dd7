/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a run whose source is a stream. A worker claims a row and reads its sample in one
 * step, under a lock: position p of a pass has the p-th sample of the stream by construction,
 * whichever worker reads it. All later work is as parallel as for other sources. Each rank reads
 * all samples and keeps its own.
 */
#ifndef SLUICE_SAMPLE_STREAM_H
#define SLUICE_SAMPLE_STREAM_H

#include "plan.h"

typedef enum stream_kind {
    STREAM_SAMPLE,   /* the row has a sample */
    STREAM_PADDING,  /* the pass ended before this row */
    STREAM_LEFT_OUT, /* as PADDING, in a batch that is dropped */
    STREAM_FAILED,   /* the stream cannot be read further: status, and the last error */
    STREAM_END,      /* there is no batch seq */
    STREAM_LIMIT,    /* no row of batch seq is given out before a rewind */
    STREAM_NOTHING   /* no rows are left */
} stream_kind;

typedef struct stream_claim {
    stream_kind kind;
    uint64_t seq;
    uint32_t row;
    uint64_t pass;
    uint64_t position; /* in the pass, over all ranks */
    uint64_t sample;
    sluice_status status;
    uint64_t waited_ticks; /* waiting for other workers */
} stream_claim;

typedef struct sample_stream sample_stream;

/*
 * Makes at most this many batches, of this many passes (0: unlimited). The plan defines the
 * beginning. E_NO_MEMORY, E_IO.
 */
sluice_status sample_stream_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                                   sample_stream **stream_out);
void sample_stream_destroy(sample_stream *stream);

/*
 * All later and pending takes return STREAM_NOTHING, including one that waits for bytes. Any
 * thread.
 */
void sample_stream_stop(sample_stream *stream);

/* No row is given out until sample_stream_rewind(). Waits for a worker that takes a sample. Returns
 * the last batch of which a row has been given out. */
uint64_t sample_stream_freeze(sample_stream *stream);

/* The rows of batches up to base are padding from now on; the batch behind it is the first of the
 * plan once more, and no row of a batch behind limit is given out. */
void sample_stream_rewind(sample_stream *stream, uint64_t base, uint64_t limit);

/* Claims the next row, and reads its sample into the item. Any worker. */
void sample_stream_take(sample_stream *stream, stream_item *item, stream_claim *claim_out);

/* Releases the bytes of the item's sample. Any worker. */
void sample_stream_done(sample_stream *stream, stream_item *item);

/* Is this batch, all of whose rows are done, to be dropped? */
bool sample_stream_drops(const sample_stream *stream, uint64_t seq);

/* Reuses the number of a dropped batch for the next batch. */
void sample_stream_again(sample_stream *stream, uint64_t seq);

#endif
