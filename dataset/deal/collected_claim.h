/* SPDX-License-Identifier: Apache-2.0 */
/* What workers take from the collected rows, and report to them: claims, choices and documents. */
#ifndef SLUICE_COLLECTED_CLAIM_H
#define SLUICE_COLLECTED_CLAIM_H

#include "collected_buckets.h"
#include "error_int.h"

/* Limits on the candidates of a claim, and on the rows of a COLLECTED_ROWS claim. */
enum { COLLECTED_MOST = 64, COLLECTED_ROWS_MOST = 8 };

typedef enum collected_kind {
    COLLECTED_CHOSEN,     /* the worker's first choice is made */
    COLLECTED_CANDIDATES, /* candidates: sets first, count, pass, position, ends_pass, status */
    COLLECTED_SAMPLE,     /* the row of a stream's sample, which is read: sets seq, row, pass and
                             position */
    COLLECTED_ROWS,       /* rows of bucket: sets seq, row and count */
    COLLECTED_PADDING,    /* rows without samples, to be zeroed: sets seq, row and count */
    COLLECTED_LEFT_OUT,   /* as COLLECTED_PADDING, but the rows need not be written */
    COLLECTED_FAILED,     /* as COLLECTED_PADDING; the run fails with status and the thread's last
                        error; the caller calls collected_rows_counts_failed() */
    COLLECTED_END,        /* the run ends before batch seq */
    COLLECTED_LIMIT,      /* no row of batch seq is assigned until a rewind */
    COLLECTED_NOTHING     /* no rows are left */
} collected_kind;

typedef struct collected_claim {
    collected_kind kind;
    uint64_t first; /* number of the first candidate */
    uint32_t count; /* number of candidates or rows; 0: a stream has ended or failed */
    uint64_t pass;
    uint64_t position; /* position of the first candidate in the pass */
    bool ends_pass;    /* the pass has no candidates after these */
    uint64_t round;    /* number of rewinds before this claim */
    bool restarts;     /* candidates of a stream: it is read from its first pass again */
    uint64_t skips;    /* number of samples to skip first, since they were done before the run */
    uint64_t skipped;  /* number of those that are skipped */
    uint64_t seq;
    uint32_t row;
    sluice_status
        status; /* COLLECTED_FAILED; with candidates of a stream: an error of the stream after
                   them, the thread's last error, which the caller chooses in order */
    uint64_t read_ticks;   /* time spent reading from a stream, also for ends of passes */
    uint64_t waited_ticks; /* time spent waiting for other workers */
    uint64_t open_row;     /* pack: row whose window is to be padded before the claim's rows, from
                              token open_at on; COLLECTED_NO_ROW: none */
    uint32_t open_at;
} collected_claim;

#define COLLECTED_NO_ROW UINT64_MAX

/* The claim that counts the last row of batch seq, which was written earlier. */
static inline collected_claim collected_last_row(uint64_t seq, uint32_t batch_size)
{
    return (collected_claim){.kind = COLLECTED_LEFT_OUT,
                             .seq = seq,
                             .row = batch_size - 1,
                             .count = 1,
                             .open_row = COLLECTED_NO_ROW};
}

/* pack: the tokens of a document that go into rows of this rank. */
typedef struct collected_document {
    uint64_t length;   /* set by the caller: number of tokens; 0 for a sample that is not kept */
    uint64_t open_row; /* row whose window the caller must pad from token open_at on, since the
                          document does not fit into it; COLLECTED_NO_ROW: none */
    uint32_t open_at;
    uint32_t at;       /* where the document begins in its first row */
    uint64_t rows;     /* number of rows; they are consecutive */
    uint64_t row;      /* the first of them */
    uint64_t from;     /* index of the document's first token in that row */
    uint32_t document; /* number of the document in that row; in later ones it is 0 */
} collected_document;

/* The choice among candidates. keeps[i] and rows[i] belong to candidate claim.first + i. */
typedef struct collected_choice {
    struct collected_choice
        *next; /* used by collected_rows: the list of choices that are not made yet */
    struct collected_choice *before;
    collected_claim claim; /* set by the caller: the candidates */
    bool is_made;   /* guarded by the lock of collected_rows until collected_rows_take() returns
                       COLLECTED_CHOSEN, as are all members that the caller does not set */
    bool gets_rows; /* false: no rows, since the run has ended, was rewound, or has no
                       rows left until a rewind */
    bool keeps[COLLECTED_MOST]; /* set by the caller: the filters keep it, or it is a bad sample */
    uint64_t rows[COLLECTED_MOST]; /* row, counted over all batches; COLLECTED_NO_ROW: no row on
                                      this rank */
    uint8_t
        buckets[COLLECTED_MOST]; /* with bucket, set by the caller: bucket of a kept candidate */
    held_row *held; /* with bucket and a stream, set by the caller: the candidate; NULL afterwards
                       if it waits in its bucket; else NULL */
    collected_document *documents; /* instead of keeps and rows, with pack: (COLLECTED_MOST), set by
                                 the caller; else NULL */
    const sli_error *error; /* set by the caller: an error after the claim's candidates, or with
                               pack of its last document, which ends the run; NULL: none */
    uint64_t whole; /* batch whose last row was written earlier and must be counted now; 0: none */
    collected_claim rest; /* PADDING or LEFT_OUT rows to write after these; NOTHING: no such rows */
} collected_choice;

#endif
