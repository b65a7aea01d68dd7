/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_rows.h"

#include "alloc_int.h"
#include "collected_choices.h"
#include "collected_notes.h"
#include "error_int.h"

/* ---- taking ---------------------------------------------------------------------------------- */

/* Claims rows without samples: those before row `end` in the current batch. If there is an
 * abandoned window, the claim pads it first; if that is the last row of its batch, the claim has no
 * others. Nor has it others if the run fails and a batch is held: that batch fails. */
static void give_empty(collected_rows *rows, collected_kind kind, uint64_t end,
                       collected_claim *claim)
{
    const uint32_t size = rows->plan->batch_size;
    const uint64_t open = rows->abandoned_row;
    const bool ends_held = kind == COLLECTED_FAILED && rows->held != 0;

    claim->kind = kind;
    claim->open_row = open;
    claim->open_at = rows->abandoned_at;
    rows->abandoned_row = COLLECTED_NO_ROW;
    claim->seq = ends_held ? rows->held : (open != COLLECTED_NO_ROW ? open : rows->row) / size + 1;
    claim->row = (uint32_t)(rows->row % size);
    if ((open != COLLECTED_NO_ROW || ends_held) && claim->row == 0) {
        claim->row = size - 1;
        return;
    }
    claim->count = size - claim->row;
    if (end - rows->row < claim->count) {
        claim->count = (uint32_t)(end - rows->row);
    }
    rows->row += claim->count;
}

/* Begins a claim of candidates, and logs that those of an earlier run are processed again. */
static void begin_candidates(collected_rows *rows, collected_claim *claim)
{
    const uint64_t next = atomic_load_explicit(&rows->next, memory_order_relaxed);

    if (next == 0 && rows->done > 0) {
        collected_note_repeat(rows->plan, rows->done);
        replay_begin(&rows->replay, rows->plan, rows->done);
    }
    claim->kind = COLLECTED_CANDIDATES;
    claim->first = next;
    claim->pass = rows->plan->begin.pass + rows->pass;
    claim->position = rows->position;
    claim->round = rows->round;
}

/* Completes a claim of candidates, whose number is known now. */
static void end_candidates(collected_rows *rows, const collected_claim *claim)
{
    atomic_store_explicit(&rows->next, claim->first + claim->count, memory_order_relaxed);
    rows->position += claim->count;
    if (claim->ends_pass) {
        rows->pass++;
        rows->position = 0;
    }
}

/* Claims candidates by their positions. */
static void give_candidates(collected_rows *rows, uint32_t most, collected_claim *claim)
{
    const uint64_t left = rows->candidates - rows->position;

    begin_candidates(rows, claim);
    claim->count = left < most ? (uint32_t)left : most;
    claim->ends_pass = claim->count == left;
    end_candidates(rows, claim);
}

/* True if no candidates are left to take. */
static bool is_exhausted(const collected_rows *rows)
{
    return rows->stream != NULL ? rows->exhausted
                                : rows->most_passes > 0 && rows->pass == rows->most_passes;
}

/* True if all candidates are taken, and their choices made. */
static bool has_ended(const collected_rows *rows)
{
    return is_exhausted(rows) && rows->ended == rows->pass;
}

/* Makes a claim of candidates if possible; for a stream only its beginning, since the caller reads
 * them without the lock. False: the caller must wait for other workers. */
static bool try_candidates(collected_rows *rows, uint32_t most, collected_claim *claim)
{
    if (most == 0 || is_exhausted(rows) || rows->reading || rows->frozen || rows->failed) {
        return false;
    }
    if (rows->stream == NULL) {
        give_candidates(rows, most, claim);
    } else {
        begin_candidates(rows, claim);
        claim->restarts = rows->rewound;
        rows->rewound = false;
        rows->reading = true;
    }
    return true;
}

/* Claims rows of full buckets. */
static void give_bucket_rows(collected_rows *rows, collected_claim *claim)
{
    const uint32_t size = rows->plan->batch_size;
    const uint64_t pending = collected_buckets_pending(rows->buckets);
    const uint64_t row = rows->row - pending;

    claim->kind = COLLECTED_ROWS;
    claim->seq = row / size + 1;
    claim->row = (uint32_t)(row % size);
    claim->round = rows->round;
    claim->count =
        size - claim->row < COLLECTED_ROWS_MOST ? size - claim->row : COLLECTED_ROWS_MOST;
    claim->count = pending < claim->count ? (uint32_t)pending : claim->count;
    collected_buckets_take(rows->buckets, claim->count, claim->bucket_rows);
}

/* Makes a claim if possible. False: the caller must wait for other workers. */
static bool try_take(collected_rows *rows, const collected_request *request, collected_claim *claim)
{
    const uint32_t size = rows->plan->batch_size;

    if (request->choice != NULL && request->choice->is_made) {
        claim->kind = COLLECTED_CHOSEN;
        return true;
    }
    if (rows->over || rows->stopped) {
        return true; /* the claim remains COLLECTED_NOTHING */
    }
    if (rows->whole != 0) {
        *claim = (collected_claim){.kind = COLLECTED_LEFT_OUT,
                                   .seq = rows->whole,
                                   .row = size - 1,
                                   .count = 1,
                                   .open_row = COLLECTED_NO_ROW};
        rows->whole = 0;
        return true;
    }
    if (rows->buckets != NULL && collected_buckets_pending(rows->buckets) > 0) {
        give_bucket_rows(rows, claim);
        return true;
    }
    if (rows->dropping != 0) {
        return false;
    }
    if (rows->row < rows->base * size ||
        (rows->abandoned_row != COLLECTED_NO_ROW && rows->error.status == SLUICE_OK)) {
        give_empty(rows, COLLECTED_PADDING, rows->base * size, claim);
        return true;
    }
    if (has_ended(rows) && rows->done > 0) {
        sli_error_take_first(plan_fail_short(rows->plan, rows->ended, rows->done), &rows->error);
    }
    if (rows->error.status != SLUICE_OK) {
        give_empty(rows, COLLECTED_FAILED, UINT64_MAX, claim);
        claim->status = sli_error_raise(&rows->error);
        rows->over = true;
        return true;
    }
    if (collected_is_full(rows) || has_ended(rows)) {
        claim->seq = rows->row / size + 1;
        rows->over = claim->seq > rows->batches || is_exhausted(rows);
        claim->kind = rows->over ? COLLECTED_END : COLLECTED_LIMIT;
        return true;
    }
    return try_candidates(rows, request->most, claim);
}

/* The arguments of a call that may have to wait for other workers. */
typedef struct collected_call {
    const collected_request *request;
    collected_claim *claim;
} collected_call;

/* Repeats a call under the lock until it returns true. Returns the time spent waiting, in ticks. */
static uint64_t call_until(collected_rows *rows,
                           bool (*call)(collected_rows *rows, collected_call *arg),
                           collected_call *arg)
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

static bool call_take(collected_rows *rows, collected_call *arg)
{
    return try_take(rows, arg->request, arg->claim);
}

/* Reads the candidate of a claim from the stream. Returns the status of the stream; *exhausted_out:
 * it has no further pass. */
static sluice_status read_stream(collected_rows *rows, stream_item *item, collected_claim *claim,
                                 bool *exhausted_out)
{
    stream_passes *stream = rows->stream;
    sluice_status st = SLUICE_OK;

    if (claim->restarts) {
        stream_passes_restart(stream);
    }
    if (!stream_passes_is_open(stream)) {
        st = stream_passes_begin(stream);
    }
    *exhausted_out = st == SLUICE_END_OF_DATA;
    if (st == SLUICE_OK) {
        st = stream_passes_take(stream, item);
        claim->count = st == SLUICE_OK;
    }
    if (st == SLUICE_END_OF_DATA && !*exhausted_out) {
        st = stream_passes_end(stream);
        claim->ends_pass = st == SLUICE_OK;
    }
    stream_passes_note_memory(stream);
    return st;
}

/* Completes a claim of a candidate of a stream. False: the stream is exhausted, so take again. */
static bool take_from_stream(collected_rows *rows, stream_item *item, collected_claim *claim)
{
    const uint64_t start = sli_ticks();
    bool exhausted;
    const sluice_status st = read_stream(rows, item, claim, &exhausted);

    if (st < 0) {
        claim->status = st;
    } else if (st == SLUICE_CLOSED) {
        claim->kind = COLLECTED_NOTHING;
    }
    claim->read_ticks = sli_ticks() - start;
    pthread_mutex_lock(&rows->lock);
    rows->exhausted = exhausted;
    rows->failed = st < 0 || st == SLUICE_CLOSED;
    end_candidates(rows, claim);
    rows->reading = false;
    pthread_mutex_unlock(&rows->lock);
    sli_event_notify(&rows->changed);
    return !exhausted;
}

void collected_rows_take(collected_rows *rows, const collected_request *request,
                         collected_claim *claim_out)
{
    collected_call call = {request, claim_out};
    uint64_t waited = 0;

    if (rows->stream != NULL && request->choice == NULL) {
        stream_passes_done(rows->stream, request->item);
    }
    do {
        *claim_out = (collected_claim){.kind = COLLECTED_NOTHING, .open_row = COLLECTED_NO_ROW};
        waited += call_until(rows, call_take, &call);
    } while (rows->stream != NULL && claim_out->kind == COLLECTED_CANDIDATES &&
             !take_from_stream(rows, request->item, claim_out));
    claim_out->waited_ticks = waited;
    if (claim_out->kind == COLLECTED_END || claim_out->kind == COLLECTED_FAILED) {
        sli_event_notify(&rows->changed);
    }
}

void collected_rows_done(collected_rows *rows, stream_item *item)
{
    stream_passes_done(rows->stream, item);
}

/* ---- choosing -------------------------------------------------------------------------------- */

void collected_rows_choose(collected_rows *rows, collected_choice *choice)
{
    bool any;

    pthread_mutex_lock(&rows->lock);
    collected_choices_add(rows, choice);
    any = collected_choices_make(rows);
    pthread_mutex_unlock(&rows->lock);
    if (any) {
        sli_event_notify(&rows->changed);
    }
}

held_row *collected_rows_hold(collected_rows *rows)
{
    held_row *held;

    pthread_mutex_lock(&rows->lock);
    held = collected_buckets_hold(rows->buckets);
    pthread_mutex_unlock(&rows->lock);
    return held;
}

void collected_rows_release(collected_rows *rows, held_row *held)
{
    pthread_mutex_lock(&rows->lock);
    collected_buckets_release(rows->buckets, held);
    pthread_mutex_unlock(&rows->lock);
}

/* ---- written rows ---------------------------------------------------------------------------- */

bool collected_rows_counts(collected_rows *rows, uint64_t seq, uint32_t row)
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

bool collected_rows_counts_failed(collected_rows *rows, uint64_t seq)
{
    uint64_t whole = 0;

    pthread_mutex_lock(&rows->lock);
    if (rows->held == seq) {
        collected_release_held(rows, &whole);
    }
    pthread_mutex_unlock(&rows->lock);
    return whole != 0;
}

bool collected_rows_drops(collected_rows *rows, uint64_t seq)
{
    bool drops;

    pthread_mutex_lock(&rows->lock);
    drops = rows->dropping == seq;
    pthread_mutex_unlock(&rows->lock);
    return drops;
}

void collected_rows_again(collected_rows *rows, uint64_t seq)
{
    pthread_mutex_lock(&rows->lock);
    rows->row = (seq - 1) * rows->plan->batch_size;
    rows->dropping = 0;
    (void)collected_choices_make(rows);
    pthread_mutex_unlock(&rows->lock);
    sli_event_notify(&rows->changed);
}

/* ---- lifetime and rewinds -------------------------------------------------------------------- */

const replay *collected_rows_replay(const collected_rows *rows)
{
    return &rows->replay;
}

const _Atomic uint64_t *collected_rows_next(const collected_rows *rows)
{
    return &rows->next;
}

bool collected_rows_is_old(collected_rows *rows, const collected_claim *claim)
{
    bool old;

    pthread_mutex_lock(&rows->lock);
    old = claim->round != rows->round;
    pthread_mutex_unlock(&rows->lock);
    return old;
}

/* Argument of call_until(): waits for the worker that reads from the stream. */
static bool call_freeze(collected_rows *rows, collected_call *arg)
{
    (void)arg;
    rows->frozen = true;
    return !rows->reading;
}

uint64_t collected_rows_freeze(collected_rows *rows)
{
    const uint32_t size = rows->plan->batch_size;

    (void)call_until(rows, call_freeze, NULL);
    pthread_mutex_lock(&rows->lock);
    return (rows->row + size - 1) / size;
}

void collected_rows_rewind(collected_rows *rows, uint64_t base, uint64_t limit)
{
    rows->base = base;
    rows->limit = limit;
    if (base > 0) {
        rows->round++;
        (void)collected_choices_make(rows); /* they get no rows */
        rows->rewound = true;
        rows->exhausted = false;
        rows->failed = false;
        rows->pass = 0;
        rows->position = 0;
        rows->chosen = 0;
        rows->ended = 0;
        rows->pass_chosen = 0;
        rows->turn = 0;
        rows->done = rows->plan->begin.done;
        rows->pass_row = base * rows->plan->batch_size;
        replay_abandon(&rows->replay);
        rows->error.status = SLUICE_OK;
        collected_abandon_window(rows);
        if (rows->buckets != NULL) {
            rows->row -= collected_buckets_pending(rows->buckets);
            collected_buckets_clear(rows->buckets);
        }
        collected_release_held(rows, &rows->whole);
        atomic_store_explicit(&rows->next, 0, memory_order_relaxed);
    }
    rows->frozen = false;
    pthread_mutex_unlock(&rows->lock);
    sli_event_notify(&rows->changed);
}

void collected_rows_stop(collected_rows *rows)
{
    pthread_mutex_lock(&rows->lock);
    rows->stopped = true;
    (void)collected_choices_make(rows);
    pthread_mutex_unlock(&rows->lock);
    if (rows->stream != NULL) {
        stream_passes_stop(rows->stream);
    }
    sli_event_notify(&rows->changed);
}

static sluice_status open_stream(collected_rows *rows, uint64_t passes)
{
    stream_passes *stream = sli_calloc(1, sizeof(*stream));
    sluice_status st;

    if (stream == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a stream");
    }
    st = stream_passes_init(stream, rows->plan, passes);
    if (st != SLUICE_OK) {
        sli_free(stream);
        return st;
    }
    rows->stream = stream;
    return SLUICE_OK;
}

sluice_status collected_rows_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                                    collected_rows **rows_out)
{
    collected_rows *rows = sli_calloc(1, sizeof(*rows));
    sluice_status st = SLUICE_OK;

    if (rows == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the rows of a filter");
    }
    pthread_mutex_init(&rows->lock, NULL);
    rows->plan = plan;
    rows->batches = batches;
    rows->done = plan->begin.done;
    rows->candidates = plan->details->all_ranks.length;
    rows->most_passes = passes;
    rows->limit = UINT64_MAX;
    rows->open_row = COLLECTED_NO_ROW;
    rows->abandoned_row = COLLECTED_NO_ROW;
    if (plan->details->is_stream) {
        st = open_stream(rows, passes);
    }
    if (st == SLUICE_OK && plan->details->bucket.count > 0) {
        st = collected_buckets_create(plan, &rows->buckets);
    }
    if (st != SLUICE_OK) {
        collected_rows_destroy(rows);
        return st;
    }
    *rows_out = rows;
    return SLUICE_OK;
}

void collected_rows_destroy(collected_rows *rows)
{
    if (rows != NULL) {
        pthread_mutex_destroy(&rows->lock);
        collected_buckets_destroy(rows->buckets);
        if (rows->stream != NULL) {
            stream_passes_free(rows->stream);
            sli_free(rows->stream);
        }
        sli_free(rows);
    }
}
