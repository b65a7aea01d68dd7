/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns rows to samples in a run with filters, pack or bucket, or of a stream. The samples of a
 * pass before filtering are candidates, numbered from the first pass of the run on. Workers take
 * candidates in order, and call the filters concurrently. Rows are assigned in the order of the
 * candidates:
 *
 *     collected_rows_take(rows, &request, &claim)   takes candidates, or rows without samples
 *     call the filters for the candidates
 *     collected_rows_choose(rows, &choice)          reports the choice; waits for nothing
 *     collected_rows_take(rows, &request, &claim)   takes further candidates, until it returns
 *                                                   that the worker's first choice is made
 *     write the rows of that choice
 *
 * A choice is made, which assigns its rows, once those of all earlier candidates are made: by the
 * worker that reports the last missing one, for all workers. So a slow sample stops no other
 * worker, until that worker has as many choices waiting as it has memory for.
 *
 * The p-th kept sample is turn p of the pass, whichever worker finds it. Turns are dealt to the
 * ranks round-robin; each rank processes all candidates. A run that begins within a pass processes
 * that pass from its first candidate.
 *
 * A candidate of a stream is read when it is taken, by one worker at a time. Where a pass ends is
 * known only once the worker that reads finds no further sample. A claim has one candidate, and its
 * worker reads no further one before it has written the sample, so that a sample never waits for a
 * later one that has yet to arrive.
 *
 * A stream without filters, pack and bucket is collected rows from which nothing can drop. So there
 * are no choices: a take reads one sample for each rank and returns this rank's with its row, as
 * COLLECTED_SAMPLE, and the worker loads it straight into the row.
 *
 * With pack a row is a window of tokens, and the candidates are documents: a kept document is
 * assigned the rest of the window that the documents before it have begun, and then as many windows
 * as it needs. A window gets its turn with its first token.
 *
 * With bucket a kept candidate waits in its bucket: its number, or a sample of a stream with its
 * bytes. When a bucket has a batch for each rank, its rows get the next turns, and workers take
 * them as COLLECTED_ROWS, before further candidates.
 */
#ifndef SLUICE_COLLECTED_ROWS_H
#define SLUICE_COLLECTED_ROWS_H

#include "collected_claim.h"
#include "replay.h"
#include "stage_clock_int.h"

/* What a worker can take. */
typedef struct collected_request {
    uint32_t most;                  /* limit on the candidates; 0: none */
    const collected_choice *choice; /* the worker's first choice whose rows it has not written;
                                  NULL: it has none */
    bucket_row *bucket_rows; /* (COLLECTED_ROWS_MOST) receives those of a COLLECTED_ROWS claim */
    sli_stage_clock *clock;  /* measures the read of a stream; NULL: it is not measured */
    sli_counters *counters;  /* of the read stage; NULL without clock */
    stream_item *item;       /* receives the candidate of a stream; its last sample is released */
} collected_request;

typedef struct collected_rows collected_rows;

/*
 * `batches`, `passes`: limits on what the run makes; passes 0: unlimited. The plan defines where
 * the run begins. Returns E_NO_MEMORY if out of memory.
 */
sluice_status collected_rows_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                                    collected_rows **rows_out);
void collected_rows_destroy(collected_rows *rows);

/*
 * Makes all pending and later takes return NOTHING, or CHOSEN; choices not made yet get no rows.
 * Callable from any thread.
 */
void collected_rows_stop(collected_rows *rows);

/* The replay of candidates that are before the run. */
const replay *collected_rows_replay(const collected_rows *rows);

/* Points to the number of the next candidate to take; readahead polls it. */
const _Atomic uint64_t *collected_rows_next(const collected_rows *rows);

/*
 * Takes candidates of one pass, or rows without samples, or returns that request->choice is made.
 * Waits until one of these is possible. Callable by any worker. Of a stream a worker takes no
 * candidate (`most` 0) while it has a choice.
 */
void collected_rows_take(collected_rows *rows, const collected_request *request,
                         collected_claim *claim_out);

/* Releases the bytes of a candidate of a stream. Callable from any worker. */
void collected_rows_done(collected_rows *rows, stream_item *item);

/*
 * Reports a choice, and makes all choices that can be made. The caller leaves the choice as it is
 * until collected_rows_take() returns COLLECTED_CHOSEN for it; it must exist until
 * collected_rows_destroy() if that does not happen.
 */
void collected_rows_choose(collected_rows *rows, collected_choice *choice);

/* With bucket and a stream: returns a row for a sample, NULL if out of memory; or makes it free
 * again. Callable by any worker. */
held_row *collected_rows_hold(collected_rows *rows);
void collected_rows_release(collected_rows *rows, held_row *held);

/* True if the claim was made before the last rewind. */
bool collected_rows_is_old(collected_rows *rows, const collected_claim *claim);

/*
 * Reports that a row is written. False: its batch may yet be dropped, so the caller must not count
 * the row; a later choice (`whole`) or claim counts it.
 */
bool collected_rows_counts(collected_rows *rows, uint64_t seq, uint32_t row);

/*
 * Reports that the batch of a COLLECTED_FAILED claim is marked as failed. It is then published
 * whatever turns other ranks have, so that all ranks end after the same step. True: its last row
 * was written earlier, and the caller must count it now.
 */
bool collected_rows_counts_failed(collected_rows *rows, uint64_t seq);

/*
 * collected_rows_drops() is true if this batch, whose rows are all done, must be dropped. Then
 * collected_rows_again() makes its number available for the next batch.
 */
bool collected_rows_drops(collected_rows *rows, uint64_t seq);
void collected_rows_again(collected_rows *rows, uint64_t seq);

/*
 * Blocks all takes until collected_rows_rewind(); waits for a worker that reads from a stream,
 * which then does not wait for the memory of a large sample. Returns the last batch of which a row
 * was assigned.
 */
uint64_t collected_rows_freeze(collected_rows *rows);

/*
 * Ends the block by collected_rows_freeze(). Rows of batches up to base are padding from now on.
 * The batch after base is the first one of the plan again. No row of a batch after limit is
 * assigned.
 */
void collected_rows_rewind(collected_rows *rows, uint64_t base, uint64_t limit);

#endif
