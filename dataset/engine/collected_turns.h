/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turns of a pass: assigns rows, windows and batches to candidates in their order. Only
 * collected_rows.c and collected_choices.c use it, with the lock held.
 */
#ifndef SLUICE_COLLECTED_TURNS_H
#define SLUICE_COLLECTED_TURNS_H

#include <pthread.h>

#include "collected_rows.h"
#include "event_int.h"
#include "replay.h"
#include "stream_passes.h"

struct collected_rows {
    const sli_plan *plan;
    uint64_t batches;
    uint64_t candidates;   /* candidates per pass; unused with a stream */
    uint64_t most_passes;  /* limit on the passes of the run; 0: unlimited */
    _Atomic uint64_t next; /* the next candidate; written under the lock */
    sli_event changed;     /* signals a change of the fields below */
    pthread_mutex_t lock;  /* guards the fields below */
    stream_passes
        *stream;       /* NULL: the source is not a stream; else used by the worker that reads */
    bool reading;      /* a worker reads candidates */
    bool frozen;       /* no worker may begin to read */
    bool rewound;      /* the stream must be read from its first pass again */
    bool exhausted;    /* the stream has no more passes */
    bool failed;       /* the stream has failed; a choice will have its error */
    uint64_t pass;     /* pass of the next candidate, counted from 0 in the run */
    uint64_t position; /* its position in that pass */
    collected_choice
        *choices;           /* the choices not made yet, in the order of candidates; NULL: none */
    collected_choice *last; /* the last of them */
    uint64_t chosen;        /* number of candidates whose choice is made */
    uint64_t ended;         /* number of passes that have ended with a choice */
    uint64_t pass_chosen;   /* `chosen` at the beginning of that pass */
    uint64_t turn;          /* samples kept in this pass so far, over all ranks */
    uint64_t done;          /* those of this pass before the run: they get no rows */
    uint64_t row;           /* the next row of this rank, counted over all batches */
    uint64_t pass_row;      /* the first row of the pass, counted over all batches */
    uint64_t round;         /* number of rewinds */
    uint64_t base;          /* batches up to this one are abandoned */
    uint64_t limit;         /* rows of later batches are not assigned until a rewind */
    uint64_t dropping;      /* batch to drop once its rows are done; 0: no batch */
    uint64_t held; /* batch whose last row does not count yet, since the batch is dropped if
                      the pass ends before every rank has a turn for it, and fails if the run
                      fails before; 0: no batch */
    bool held_is_written;
    uint64_t whole; /* batch whose written last row must be counted after a rewind; 0: no batch */
    uint64_t open_row;      /* pack: row of the window that the next document continues;
                               COLLECTED_NO_ROW:      another rank's row, or no such window */
    uint32_t open_at;       /* pack: tokens in that window, of any rank; 0: no such window */
    uint32_t open_count;    /* pack: documents in it */
    uint64_t abandoned_row; /* pack: open_row before a rewind or error, to be padded */
    uint32_t abandoned_at;
    collected_buckets *buckets; /* NULL: there is no bucket */
    bool stopped;
    bool over; /* COLLECTED_END or COLLECTED_FAILED was returned */
    sli_error error;
    replay replay; /* of candidates of an earlier run */
};

/* True if all rows up to the last batch, or up to the limit, are assigned. */
bool collected_is_full(const collected_rows *rows);

/* Ends the hold on a batch. If its last row is written already, sets *whole for it to be counted.
 */
void collected_release_held(collected_rows *rows, uint64_t *whole);

/* Ends the open window of pack; the next claim of rows without samples pads its row. */
void collected_abandon_window(collected_rows *rows);

/* Assigns rows to the candidates of a choice. False: this rank has no row left. */
bool collected_give_rows(collected_rows *rows, collected_choice *choice);

/* Ends the pass after the choice for its last candidate. */
void collected_end_pass(collected_rows *rows, collected_choice *choice);

#endif
