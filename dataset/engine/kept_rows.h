/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a run whose filters drop samples. The samples of a pass before its filters are
 * candidates, numbered from the first pass of the run on. Workers take candidates in order, call
 * the filters for them at the same time, and report their choices in the order of the candidates:
 *
 *     kept_rows_take(rows, most, &claim)          candidates, or rows without samples
 *     which of them do the filters keep?
 *     kept_rows_choose(rows, &claim, &choice)     waits for the choices before; gives rows
 *     write those rows
 *
 * So the p-th sample that is kept is turn p of the pass, whichever worker finds it. Turns are dealt
 * to the ranks one after the other; each rank walks all candidates. A run that begins within a pass
 * walks that pass from its first candidate.
 */
#ifndef SLUICE_KEPT_ROWS_H
#define SLUICE_KEPT_ROWS_H

#include "plan.h"

/* The most candidates that a worker takes at once. */
enum { KEPT_MOST = 64 };

typedef enum kept_kind {
    KEPT_CANDIDATES, /* first, count, pass, position */
    KEPT_PADDING,    /* rows without samples: seq, row, count */
    KEPT_LEFT_OUT,   /* the same; they need not be written */
    KEPT_FAILED,     /* the same; the run fails with status and the last error */
    KEPT_END,        /* there is no batch seq */
    KEPT_LIMIT,      /* no row of batch seq is given before a rewind */
    KEPT_NOTHING     /* no rows are left */
} kept_kind;

typedef struct kept_claim {
    kept_kind kind;
    uint64_t first; /* candidate */
    uint32_t count; /* of candidates or rows */
    uint64_t pass;
    uint64_t position; /* of the first candidate in the pass */
    uint64_t round;    /* how often the run was rewound */
    uint64_t seq;
    uint32_t row;
    sluice_status status;
    uint64_t waited_ticks; /* for other workers */
} kept_claim;

/* What becomes of candidates. */
typedef struct kept_choice {
    bool keeps[KEPT_MOST];    /* the caller's: the filters keep it, or it is a bad sample */
    uint64_t rows[KEPT_MOST]; /* over all batches; KEPT_NO_ROW: none on this rank */
    uint64_t whole;           /* its last row was written before and counts from now on; 0: none */
    kept_claim rest;          /* rows to write behind these: PADDING or LEFT_OUT; else NOTHING */
    uint64_t waited_ticks;
} kept_choice;

#define KEPT_NO_ROW UINT64_MAX

typedef struct kept_rows kept_rows;

/*
 * Makes at most this many batches, of this many passes (0: unlimited). The plan defines the
 * beginning. E_NO_MEMORY.
 */
sluice_status kept_rows_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                               kept_rows **rows_out);
void kept_rows_destroy(kept_rows *rows);

/* All pending and later takes return NOTHING, and choices get no rows. Any thread. */
void kept_rows_stop(kept_rows *rows);

/* The number of candidates taken so far: the next one. For readahead. */
const _Atomic uint64_t *kept_rows_next(const kept_rows *rows);

/* Takes up to `most` candidates of one pass. Any worker. */
void kept_rows_take(kept_rows *rows, uint32_t most, kept_claim *claim_out);

/*
 * Waits until all candidates before the claim's are chosen, and chooses count of them from first
 * on, by choice->keeps. False: they get no rows, as the run has ended or was rewound.
 */
bool kept_rows_choose(kept_rows *rows, const kept_claim *claim, kept_choice *choice);

/* Is the claim of a round before the last rewind? */
bool kept_rows_is_old(kept_rows *rows, const kept_claim *claim);

/* A row is written. May it count? If not, a later choice counts it (`whole`). */
bool kept_rows_counts(kept_rows *rows, uint64_t seq, uint32_t row);

/* Is this batch, all of whose rows are done, to be dropped? Then its number is used again. */
bool kept_rows_drops(kept_rows *rows, uint64_t seq);
void kept_rows_again(kept_rows *rows, uint64_t seq);

/* As sample_stream_freeze() and sample_stream_rewind(). */
uint64_t kept_rows_freeze(kept_rows *rows);
void kept_rows_rewind(kept_rows *rows, uint64_t base, uint64_t limit);

#endif
