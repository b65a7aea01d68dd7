/* SPDX-License-Identifier: Apache-2.0 */
#include "kept_rows.h"

#include <pthread.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "error_int.h"
#include "event_int.h"
#include "log_int.h"

struct kept_rows {
    const sli_plan *plan;
    uint64_t batches;
    uint64_t candidates;   /* candidates per pass */
    uint64_t end;          /* candidates of all passes of the run; UINT64_MAX: unlimited */
    _Atomic uint64_t next; /* the next candidate; written under the lock */
    sli_event changed;     /* signals a change of the fields below */
    pthread_mutex_t lock;  /* guards the fields below */
    uint64_t chosen;       /* number of candidates whose choice is made */
    uint64_t turn;         /* samples kept in this pass so far, over all ranks */
    uint64_t row;          /* the next row of this rank, counted over all batches */
    uint64_t pass_row;     /* the first row of the pass, counted over all batches */
    uint64_t round;        /* number of rewinds */
    uint64_t base;         /* batches up to this one are abandoned */
    uint64_t limit;        /* rows of later batches are not assigned until a rewind */
    uint64_t dropping;     /* batch to drop once its rows are done; 0: no batch */
    uint64_t held;         /* batch whose last row does not count yet, since the batch is dropped if
                              the pass ends before every rank has a turn for it; 0: no batch */
    bool held_is_written;
    uint64_t whole; /* batch whose written last row must be counted after a rewind; 0: no batch */
    bool stopped;
    bool over; /* KEPT_END or KEPT_FAILED was returned */
    sli_error error;
    int64_t begin_ns; /* when the repeated filter calls for samples of an earlier run began; 0: not
                         in progress */
};

/* ---- passes ---------------------------------------------------------------------------------- */

static uint64_t pass_index(const kept_rows *rows, uint64_t candidate)
{
    return candidate / rows->candidates;
}

/* Returns the number of turns of a pass that were done before this run. */
static uint64_t turns_done(const kept_rows *rows, uint64_t pass)
{
    return pass == 0 ? rows->plan->begin.done : 0;
}

/* True if all rows up to the last batch, or up to the limit, are assigned. */
static bool is_full(const kept_rows *rows)
{
    const uint32_t size = rows->plan->batch_size;
    const uint64_t seq = rows->row / size + 1;

    return rows->row % size == 0 && rows->held == 0 && rows->dropping == 0 &&
           (seq > rows->batches || seq > rows->limit);
}

/*
 * Checks a pass that has ended with `turns` kept samples. E_INVALID: fewer samples than were done
 * before the run, or no batch.
 */
static sluice_status check_pass(const kept_rows *rows, uint64_t pass, uint64_t turns,
                                uint64_t batches)
{
    const sli_plan *plan = rows->plan;
    const uint64_t done = turns_done(rows, pass);

    if (turns < done) {
        return sli_fail(SLUICE_E_INVALID,
                        "filter: it keeps %llu samples of a pass of which %llu were done before: "
                        "it must choose as it did; resume with the same filter and data",
                        (unsigned long long)turns, (unsigned long long)done);
    }
    if (batches == 0 && done == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: filters keep %llu of the %llu samples of a "
                        "pass, and make no batch of %u of them%s",
                        (unsigned long long)turns, (unsigned long long)rows->candidates,
                        plan->batch_size,
                        turns > 0 ? "; drop_remainder=false keeps what is left" : "");
    }
    return SLUICE_OK;
}

/*
 * Completes the last batch of a pass, whose rows end before row `end`: pads it, or leaves out its
 * remaining rows and marks it to be dropped.
 */
static void end_batch(kept_rows *rows, uint64_t end, kept_claim *rest)
{
    const uint32_t size = rows->plan->batch_size;
    const uint32_t row = (uint32_t)(rows->row % size);

    rest->seq = rows->row / size + 1;
    rest->row = row;
    if (rows->row < end) {
        rest->kind = KEPT_PADDING;
        rest->count = (uint32_t)(end - rows->row);
        rows->row = end;
    } else if (rows->row > end) {
        if (row > 0) {
            rest->kind = KEPT_LEFT_OUT;
            rest->count = size - row;
            rows->row += rest->count;
        }
        rows->dropping = end / size + 1;
    }
}

/* Ends the hold on a batch. If its last row is written already, sets *whole for it to be counted.
 */
static void release_held(kept_rows *rows, uint64_t *whole)
{
    if (rows->held != 0 && rows->held_is_written) {
        *whole = rows->held;
    }
    rows->held = 0;
}

/* Ends a pass after the choice for its last candidate. */
static void end_pass(kept_rows *rows, uint64_t pass, kept_choice *choice)
{
    const sli_plan *plan = rows->plan;
    const uint64_t done = turns_done(rows, pass);
    const uint64_t turns = rows->turn > done ? rows->turn - done : 0;
    const uint64_t batches = plan_batches_in(plan, turns);
    const uint64_t end = rows->pass_row + batches * plan->batch_size;
    sluice_status st = check_pass(rows, pass, rows->turn, batches);

    if (st == SLUICE_OK) {
        st = pass_lengths_add(&plan->details->kept, pass, turns, batches);
    }
    if (st != SLUICE_OK) {
        sli_error_take(st, &rows->error); /* may be raised by another thread */
    }
    release_held(rows, &choice->whole);
    end_batch(rows, end, &choice->rest);
    rows->pass_row = end;
    rows->turn = 0;
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Claims rows without samples: those before row `end` in the current batch. */
static void give_empty(kept_rows *rows, kept_kind kind, uint64_t end, kept_claim *claim)
{
    const uint32_t size = rows->plan->batch_size;

    claim->kind = kind;
    claim->seq = rows->row / size + 1;
    claim->row = (uint32_t)(rows->row % size);
    claim->count = size - claim->row;
    if (end - rows->row < claim->count) {
        claim->count = (uint32_t)(end - rows->row);
    }
    rows->row += claim->count;
}

static void give_candidates(kept_rows *rows, uint32_t most, kept_claim *claim)
{
    const uint64_t next = atomic_load_explicit(&rows->next, memory_order_relaxed);
    const uint64_t left = rows->candidates - next % rows->candidates;

    if (next == 0 && turns_done(rows, 0) > 0) {
        sli_log(SLUICE_LOG_INFO,
                "filters are called again from the beginning of the pass: %llu samples that they "
                "keep were done",
                (unsigned long long)turns_done(rows, 0));
        rows->begin_ns = sli_now_ns();
    }
    claim->kind = KEPT_CANDIDATES;
    claim->first = next;
    claim->count = left < most ? (uint32_t)left : most;
    claim->pass = rows->plan->begin.pass + pass_index(rows, next);
    claim->position = next % rows->candidates;
    claim->round = rows->round;
    atomic_store_explicit(&rows->next, next + claim->count, memory_order_relaxed);
}

/* Makes a claim if possible. False: the caller must wait for other workers. */
static bool try_take(kept_rows *rows, uint32_t most, kept_claim *claim)
{
    const uint32_t size = rows->plan->batch_size;
    const uint64_t next = atomic_load_explicit(&rows->next, memory_order_relaxed);

    if (rows->over || rows->stopped) {
        return true; /* the claim remains KEPT_NOTHING */
    }
    if (rows->whole != 0) {
        *claim =
            (kept_claim){.kind = KEPT_LEFT_OUT, .seq = rows->whole, .row = size - 1, .count = 1};
        rows->whole = 0;
        return true;
    }
    if (rows->dropping != 0) {
        return false;
    }
    if (rows->row < rows->base * size) {
        give_empty(rows, KEPT_PADDING, rows->base * size, claim);
        return true;
    }
    if (rows->error.status != SLUICE_OK) {
        give_empty(rows, KEPT_FAILED, UINT64_MAX, claim);
        claim->status = sli_error_raise(&rows->error);
        rows->over = true;
        return true;
    }
    if (is_full(rows) || (next == rows->end && rows->chosen == rows->end)) {
        claim->seq = rows->row / size + 1;
        rows->over = claim->seq > rows->batches || next == rows->end;
        claim->kind = rows->over ? KEPT_END : KEPT_LIMIT;
        return true;
    }
    if (next < rows->end) {
        give_candidates(rows, most, claim);
        return true;
    }
    return false;
}

/* The arguments of a call that may have to wait for other workers. */
typedef struct kept_call {
    uint32_t most;
    kept_claim *claim;
    const kept_claim *of;
    kept_choice *choice;
    bool result;
} kept_call;

/* Repeats a call under the lock until it returns true. Returns the time spent waiting, in ticks. */
static uint64_t call_until(kept_rows *rows, bool (*call)(kept_rows *rows, kept_call *arg),
                           kept_call *arg)
{
    uint64_t start;
    bool done;

    pthread_mutex_lock(&rows->lock);
    done = call(rows, arg);
    pthread_mutex_unlock(&rows->lock);
    if (done) {
        return 0;
    }
    start = sli_ticks();
    while (!done) {
        const uint32_t ticket = sli_event_prepare(&rows->changed);

        pthread_mutex_lock(&rows->lock);
        done = call(rows, arg);
        pthread_mutex_unlock(&rows->lock);
        if (done) {
            sli_event_cancel(&rows->changed);
        } else {
            sli_event_wait(&rows->changed, ticket, -1);
        }
    }
    return sli_ticks() - start;
}

static bool call_take(kept_rows *rows, kept_call *arg)
{
    return try_take(rows, arg->most, arg->claim);
}

void kept_rows_take(kept_rows *rows, uint32_t most, kept_claim *claim_out)
{
    kept_call call = {.most = most, .claim = claim_out};

    *claim_out = (kept_claim){.kind = KEPT_NOTHING};
    claim_out->waited_ticks = call_until(rows, call_take, &call);
    if (claim_out->kind == KEPT_END || claim_out->kind == KEPT_FAILED) {
        sli_event_notify(&rows->changed);
    }
}

/* ---- choosing -------------------------------------------------------------------------------- */

/*
 * Assigns the next turn to a kept sample and, if the turn is this rank's, a row. False: this rank
 * has no row left.
 */
static bool give_turn(kept_rows *rows, uint64_t done, uint64_t *row_out, uint64_t *whole)
{
    const sli_run_settings *settings = &rows->plan->settings;
    const uint32_t size = rows->plan->batch_size;
    const uint64_t turn = rows->turn - done;

    if (rows->turn < done) { /* done before the run */
        rows->turn++;
        return true;
    }
    if (turn % settings->world == settings->rank) {
        if (is_full(rows)) {
            return false;
        }
        *row_out = rows->row++;
        /* The batch is dropped if the pass ends before every rank has a turn for this row. */
        if (rows->row % size == 0 && rows->plan->drop_remainder) {
            rows->held = rows->row / size;
            rows->held_is_written = false;
        }
    }
    if ((turn + 1) % settings->world == 0) {
        release_held(rows, whole);
    }
    rows->turn++;
    return true;
}

/* Logs how long the repeated filter calls for samples of an earlier run took. */
static void note_walk(kept_rows *rows, uint64_t done)
{
    if (rows->begin_ns != 0 && rows->turn >= done) {
        sli_log(SLUICE_LOG_INFO, "filters were called again for %llu samples in %.1f s",
                (unsigned long long)(rows->chosen % rows->candidates),
                (double)(sli_now_ns() - rows->begin_ns) / 1e9);
        rows->begin_ns = 0;
    }
}

/* True if candidates of the claim can get no rows any more. */
static bool is_useless(const kept_rows *rows, const kept_claim *claim)
{
    return rows->stopped || rows->over || rows->error.status != SLUICE_OK ||
           claim->round != rows->round || is_full(rows);
}

static bool call_choose(kept_rows *rows, kept_call *arg)
{
    const kept_claim *claim = arg->of;
    const uint64_t pass = pass_index(rows, claim->first);
    const uint64_t done = turns_done(rows, pass);
    kept_choice *choice = arg->choice;

    arg->result = false;
    if (is_useless(rows, claim)) {
        return true;
    }
    if (rows->chosen != claim->first || rows->dropping != 0) {
        return false;
    }
    arg->result = true;
    for (uint32_t i = 0; i < claim->count; i++) {
        if (choice->keeps[i] && !give_turn(rows, done, &choice->rows[i], &choice->whole)) {
            return true; /* neither later candidates nor later choices can get rows */
        }
    }
    rows->chosen += claim->count;
    note_walk(rows, done);
    if (rows->chosen % rows->candidates == 0) {
        end_pass(rows, pass, choice);
    }
    return true;
}

bool kept_rows_choose(kept_rows *rows, const kept_claim *claim, kept_choice *choice)
{
    kept_call call = {.of = claim, .choice = choice};

    choice->whole = 0;
    choice->rest = (kept_claim){.kind = KEPT_NOTHING};
    for (uint32_t i = 0; i < claim->count; i++) {
        choice->rows[i] = KEPT_NO_ROW;
    }
    choice->waited_ticks = call_until(rows, call_choose, &call);
    sli_event_notify(&rows->changed);
    return call.result;
}

/* ---- written rows ---------------------------------------------------------------------------- */

bool kept_rows_counts(kept_rows *rows, uint64_t seq, uint32_t row)
{
    bool held;

    if (row + 1 < rows->plan->batch_size || !rows->plan->drop_remainder) {
        return true;
    }
    pthread_mutex_lock(&rows->lock);
    held = rows->held == seq;
    rows->held_is_written = rows->held_is_written || held;
    pthread_mutex_unlock(&rows->lock);
    return !held;
}

bool kept_rows_drops(kept_rows *rows, uint64_t seq)
{
    bool drops;

    pthread_mutex_lock(&rows->lock);
    drops = rows->dropping == seq;
    pthread_mutex_unlock(&rows->lock);
    return drops;
}

void kept_rows_again(kept_rows *rows, uint64_t seq)
{
    pthread_mutex_lock(&rows->lock);
    rows->row = (seq - 1) * rows->plan->batch_size;
    rows->dropping = 0;
    pthread_mutex_unlock(&rows->lock);
    sli_event_notify(&rows->changed);
}

/* ---- lifetime and rewinds -------------------------------------------------------------------- */

const _Atomic uint64_t *kept_rows_next(const kept_rows *rows)
{
    return &rows->next;
}

bool kept_rows_is_old(kept_rows *rows, const kept_claim *claim)
{
    bool old;

    pthread_mutex_lock(&rows->lock);
    old = claim->round != rows->round;
    pthread_mutex_unlock(&rows->lock);
    return old;
}

uint64_t kept_rows_freeze(kept_rows *rows)
{
    const uint32_t size = rows->plan->batch_size;

    pthread_mutex_lock(&rows->lock);
    return (rows->row + size - 1) / size;
}

void kept_rows_rewind(kept_rows *rows, uint64_t base, uint64_t limit)
{
    rows->base = base;
    rows->limit = limit;
    if (base > 0) {
        rows->round++;
        rows->chosen = 0;
        rows->turn = 0;
        rows->pass_row = base * rows->plan->batch_size;
        rows->begin_ns = 0;
        rows->error.status = SLUICE_OK;
        release_held(rows, &rows->whole);
        atomic_store_explicit(&rows->next, 0, memory_order_relaxed);
    }
    pthread_mutex_unlock(&rows->lock);
    sli_event_notify(&rows->changed);
}

void kept_rows_stop(kept_rows *rows)
{
    pthread_mutex_lock(&rows->lock);
    rows->stopped = true;
    pthread_mutex_unlock(&rows->lock);
    sli_event_notify(&rows->changed);
}

sluice_status kept_rows_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                               kept_rows **rows_out)
{
    kept_rows *rows = sli_calloc(1, sizeof(*rows));

    if (rows == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the rows of a filter");
    }
    pthread_mutex_init(&rows->lock, NULL);
    rows->plan = plan;
    rows->batches = batches;
    rows->candidates = plan->details->all_ranks.length;
    rows->end = passes > 0 ? passes * rows->candidates : UINT64_MAX;
    rows->limit = UINT64_MAX;
    *rows_out = rows;
    return SLUICE_OK;
}

void kept_rows_destroy(kept_rows *rows)
{
    if (rows != NULL) {
        pthread_mutex_destroy(&rows->lock);
        sli_free(rows);
    }
}
