/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turns of a pass: deals rows, windows and batches to candidates in their order. Only
 * collected_rows.c uses it, under its lock.
 */
#ifndef SLUICE_COLLECTED_TURNS_H
#define SLUICE_COLLECTED_TURNS_H

#include "collected_claim.h"

/* pack: a window of tokens that is not complete. */
typedef struct open_window {
    uint64_t row;   /* its row; COLLECTED_NO_ROW: another rank's row, or no window */
    uint32_t at;    /* tokens in it, of any rank; 0: no window */
    uint32_t count; /* documents in it */
} open_window;

/* A pass that ends. */
typedef struct collected_pass_end {
    uint64_t number;     /* counted from 0 in the run */
    uint64_t candidates; /* number of its candidates */
} collected_pass_end;

typedef struct collected_turns {
    const sli_plan *plan;
    uint64_t batches;  /* batches of the run */
    uint64_t base;     /* batches up to this one are abandoned */
    uint64_t limit;    /* rows of later batches are not assigned until a rewind */
    uint64_t turn;     /* samples kept in this pass so far, over all ranks */
    uint64_t done;     /* those of this pass before the run: they get no rows */
    uint64_t row;      /* the next row of this rank, counted over all batches */
    uint64_t pass_row; /* the first row of the pass, counted over all batches */
    uint64_t dropping; /* batch to drop once its rows are done; 0: no batch */
    uint64_t held;     /* batch whose last row does not count yet, since the batch is dropped if
                          the pass ends before every rank has a turn for it, and fails if the run
                          fails before; 0: no batch */
    bool held_is_written;
    open_window window;         /* the next document continues it */
    open_window abandoned;      /* the open window before a rewind or error, to be padded */
    collected_buckets *buckets; /* NULL: there is no bucket */
} collected_turns;

/* E_NO_MEMORY: call collected_turns_fini() also then. */
sluice_status collected_turns_init(collected_turns *turns, const sli_plan *plan, uint64_t batches);
void collected_turns_fini(collected_turns *turns);

/* The batch of the next row. */
static inline uint64_t turns_batch(const collected_turns *turns)
{
    return turns->row / turns->plan->batch_size + 1;
}

/* The turns of the pass that were done before the run and are left to skip. */
static inline uint64_t turns_to_skip(const collected_turns *turns)
{
    return turns->done > turns->turn ? turns->done - turns->turn : 0;
}

/* True if all rows up to the last batch, or up to the limit, are assigned. */
bool turns_are_full(const collected_turns *turns);

/* Ends the hold on a batch. If its last row is written already, sets *whole for it to be counted.
 */
void turns_release_held(collected_turns *turns, uint64_t *whole);

/* Ends the open window of pack; the next claim of rows without samples pads its row. */
void turns_abandon_window(collected_turns *turns);

/*
 * Assigns rows to the candidates of a choice. False: this rank has no row left. *error: the first
 * error, also of an earlier call.
 */
bool turns_give(collected_turns *turns, collected_choice *choice, sli_error *error);

/*
 * Gives the samples of a stream from which nothing can drop their turns: `skipped` ones that were
 * done before the run, then `count`, one for each rank unless the pass ends. Returns this rank's
 * row; COLLECTED_NO_ROW: it gets none.
 */
uint64_t turns_give_round(collected_turns *turns, uint64_t skipped, uint32_t count);

/*
 * Ends a pass, whose number in the run is `pass`, after the last of its candidates. *rest: the rows
 * that the pass leaves without samples; *whole: as turns_release_held().
 */
void turns_end_pass(collected_turns *turns, const collected_pass_end *pass, collected_claim *rest,
                    uint64_t *whole, sli_error *error);

/* Claims rows without samples: those before row `end` in the current batch, and the abandoned
 * window. */
void turns_give_empty(collected_turns *turns, collected_kind kind, uint64_t end,
                      collected_claim *claim);

/* Claims rows of full buckets, up to COLLECTED_ROWS_MOST. False: there are none. */
bool turns_give_bucket_rows(collected_turns *turns, collected_claim *claim, bucket_row *rows_out);

/* Begins the first pass of the run again, with the batch after turns->base. */
void turns_rewind(collected_turns *turns, uint64_t *whole);

#endif
