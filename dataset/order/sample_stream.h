/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a run whose source is a stream. A worker claims its row and takes the sample's
 * bytes in one step, under a lock: so position p of a pass has the p-th sample of the stream,
 * whoever takes it, and everything after that is done in parallel as for any other source. Each
 * rank reads all samples and keeps its own.
 */
#ifndef SLUICE_SAMPLE_STREAM_H
#define SLUICE_SAMPLE_STREAM_H

#include "plan.h"

typedef enum stream_kind {
    STREAM_SAMPLE,   /* a sample was taken for the row */
    STREAM_PADDING,  /* the pass has ended before this row */
    STREAM_LEFT_OUT, /* the same, and the batch is dropped */
    STREAM_FAILED,   /* the stream cannot be read on: status, and the last error */
    STREAM_END,      /* no batch follows the one before seq */
    STREAM_NOTHING   /* there is no row any more */
} stream_kind;

typedef struct stream_claim {
    stream_kind kind;
    uint64_t seq;
    uint32_t row;
    uint64_t pass;
    uint64_t position; /* in the pass, over all ranks */
    uint64_t sample;
    sluice_status status;
    uint64_t waited_ticks; /* for other workers */
} stream_claim;

typedef struct sample_stream sample_stream;

/* Makes at most so many batches, of so many passes (0: no bound). The plan says where it begins. */
sluice_status sample_stream_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                                   sample_stream **stream_out);
void sample_stream_destroy(sample_stream *stream);

/* Every take from now on answers STREAM_NOTHING, also one that waits for bytes. Any thread. */
void sample_stream_stop(sample_stream *stream);

/* Claims the next row, and takes its sample into the item. Any worker. */
void sample_stream_take(sample_stream *stream, stream_item *item, stream_claim *claim_out);

/* Is this batch, whose rows are all done, to be dropped? */
bool sample_stream_drops(const sample_stream *stream, uint64_t seq);

/* It was: its number is given to the next one. */
void sample_stream_again(sample_stream *stream, uint64_t seq);

#endif
