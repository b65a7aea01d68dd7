/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims of rows by workers. Rows are claimed in order, in runs within one batch: a single row
 * where a sample takes long, more where samples are so fast that a claim would cost as much. The
 * content of a row does not depend on the worker that claims it.
 */
#ifndef SLUICE_ROW_CLAIMS_H
#define SLUICE_ROW_CLAIMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Consecutive rows that one worker has claimed. */
typedef struct row_run {
    uint64_t seq;   /* of the batch; one past the last batch: END, which is one row */
    uint32_t first; /* index in the batch */
    uint32_t count;
} row_run;

/* The longest run. */
enum { ROW_RUN_MOST = 64 };

typedef struct row_claims {
    uint64_t batches; /* of the whole run */
    uint32_t batch_size;
    _Alignas(64) _Atomic uint64_t next; /* the next row to claim, over all batches */
    _Atomic uint64_t spare;             /* released rows; 0: none */
} row_claims;

typedef enum row_claim {
    ROW_CLAIM_RUN,     /* the worker fills these rows */
    ROW_CLAIM_NO_ROOM, /* the next batch has no slot yet */
    ROW_CLAIM_NOTHING  /* all rows are claimed */
} row_claim;

void row_claims_init(row_claims *claims, uint64_t batches, uint32_t batch_size);

/* Claims up to `most` rows of batches up to `room`, released rows first. Any thread. */
row_claim row_claims_take(row_claims *claims, uint64_t room, uint32_t most, row_run *run_out);

/*
 * Releases rows of a run, for any worker to claim one by one. False: other rows are released
 * already. The worker claims again before it waits for anything, so the rows are filled even if no
 * other worker claims them.
 */
bool row_claims_give_back(row_claims *claims, const row_run *run);

/* Can a claim succeed, or report NOTHING, without more room? */
bool row_claims_need_no_room(const row_claims *claims);

/* The batch of the next row. */
uint64_t row_claims_next_batch(const row_claims *claims);

/* Unclaimed rows of batches up to `room`. */
uint64_t row_claims_left(const row_claims *claims, uint64_t room);

/* ---- run length ------------------------------------------------------------------------------ */

/* The pace of a worker's samples; zero-initialise. */
typedef struct row_pace {
    uint64_t row_ticks; /* recent duration of a row; 0: not known */
} row_pace;

/* The number of rows that take about run_ticks. */
uint32_t row_pace_rows(const row_pace *pace, uint64_t run_ticks);

/*
 * Notes the duration of a run. A longer time per row takes effect at once, a shorter one gradually.
 */
void row_pace_note(row_pace *pace, uint64_t ticks, uint32_t rows);

#endif
