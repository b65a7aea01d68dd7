/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims of rows by workers. Rows are claimed in order, in runs within one batch. A run is a single
 * row if samples take long, and more rows if they are so fast that a claim would be expensive in
 * comparison. The content of a row does not depend on the worker that claims it.
 */
#ifndef SLUICE_ROW_CLAIMS_H
#define SLUICE_ROW_CLAIMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Consecutive rows that one worker has claimed. */
typedef struct row_run {
    uint64_t seq;   /* batch of the rows; if it is after the last batch, the run means END and has
                       one row */
    uint32_t first; /* index of the first row in the batch */
    uint32_t count;
} row_run;

/* The largest number of rows in a run. */
enum { ROW_RUN_MOST = 64 };

typedef struct row_claims {
    uint64_t batches; /* number of batches in the whole run */
    uint32_t batch_size;
    _Alignas(64) _Atomic uint64_t next; /* the next row to claim, counted through all batches */
    _Atomic uint64_t spare; /* the released rows, packed into one word; 0: no released rows */
} row_claims;

typedef enum row_claim {
    ROW_CLAIM_RUN,     /* the worker fills these rows */
    ROW_CLAIM_NO_ROOM, /* the next batch has no slot yet */
    ROW_CLAIM_NOTHING  /* all rows are claimed */
} row_claim;

void row_claims_init(row_claims *claims, uint64_t batches, uint32_t batch_size);

/*
 * Claims up to `most` rows of batches up to `room`; released rows first. Callable from any thread.
 */
row_claim row_claims_take(row_claims *claims, uint64_t room, uint32_t most, row_run *run_out);

/*
 * Releases rows of a run; any worker may then claim them one by one. False: other rows are released
 * at present, so nothing was released. After a release the worker must claim again before it waits
 * for anything. So the rows are filled even if no other worker claims them.
 */
bool row_claims_give_back(row_claims *claims, const row_run *run);

/* True if a claim can succeed, or return ROW_CLAIM_NOTHING, without more room. */
bool row_claims_need_no_room(const row_claims *claims);

/* The batch of the next row to claim. */
uint64_t row_claims_next_batch(const row_claims *claims);

/* The number of unclaimed rows in batches up to `room`. */
uint64_t row_claims_left(const row_claims *claims, uint64_t room);

/* ---- run length ------------------------------------------------------------------------------ */

/* The pace of a worker's samples; zero-initialise. */
typedef struct row_pace {
    uint64_t row_ticks; /* recent duration of a row; 0: not known */
} row_pace;

/* The number of rows that take about run_ticks, 1 to ROW_RUN_MOST. */
uint32_t row_pace_rows(const row_pace *pace, uint64_t run_ticks);

/*
 * Records the duration of a run. A longer time per row takes effect immediately, a shorter one
 * gradually.
 */
void row_pace_note(row_pace *pace, uint64_t ticks, uint32_t rows);

#endif
