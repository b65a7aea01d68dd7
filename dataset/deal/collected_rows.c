/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_rows.h"

#include <pthread.h>

#include "alloc_int.h"
#include "collected_candidates.h"
#include "collected_choices.h"
#include "collected_notes.h"
#include "collected_turns.h"
#include "error_int.h"
#include "event_int.h"

/* How often a worker tries to read from a stream before it sleeps: for a few microseconds. */
enum { READING_TRIES = 100 };

struct collected_rows {
    const sli_plan *plan;
    sli_event changed;               /* signals a change of what `lock` guards */
    pthread_mutex_t reading;         /* held to read from the stream; locked before `lock` */
    pthread_mutex_t lock;            /* guards the fields below */
    collected_candidates candidates; /* what workers take */
    collected_choices choices;       /* what they have reported */
    collected_turns turns;           /* what the choices get */
    collected_claim rest;            /* rows without samples to take next; NOTHING: none */
    uint64_t round;                  /* number of rewinds */
    bool stopped;
    bool over; /* COLLECTED_END or COLLECTED_FAILED was returned */
    sli_error error;
    replay replay; /* of candidates of an earlier run */
};

static void clear_claim(collected_claim *claim)
{
    *claim = (collected_claim){.kind = COLLECTED_NOTHING, .open_row = COLLECTED_NO_ROW};
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* True if all candidates are taken, and their choices made. */
static bool has_ended(const collected_rows *rows)
{
    return candidates_are_exhausted(&rows->candidates) &&
           rows->choices.ended == rows->candidates.pass;
}

/* Claims candidates, and logs that those of an earlier run are processed again. Of a stream it
 * begins a claim. */
static void claim_candidates(collected_rows *rows, uint32_t most, collected_claim *claim)
{
    candidates_take(&rows->candidates, most, claim);
    if (claim->first == 0 && rows->turns.done > 0) {
        collected_note_repeat(rows->plan, rows->turns.done);
        replay_begin(&rows->replay, rows->plan, rows->turns.done);
    }
}

/* Makes a claim of candidates if possible; of a stream the caller begins it, see
 * take_from_stream(). */
static bool try_candidates(collected_rows *rows, uint32_t most, collected_claim *claim)
{
    if (most == 0 || !candidates_are_left(&rows->candidates)) {
        return false;
    }
    claim->kind = COLLECTED_CANDIDATES;
    if (rows->candidates.stream == NULL) {
        claim_candidates(rows, most, claim);
    }
    return true;
}

/* Makes a claim if possible. False: the caller must wait for other workers. */
static bool try_take(collected_rows *rows, const collected_request *request, collected_claim *claim)
{
    const uint32_t size = rows->plan->batch_size;
    collected_turns *turns = &rows->turns;

    claim->round = rows->round;
    if (request->choice != NULL && request->choice->is_made) {
        claim->kind = COLLECTED_CHOSEN;
        return true;
    }
    if (rows->over || rows->stopped) {
        return true; /* the claim remains COLLECTED_NOTHING */
    }
    if (rows->rest.kind != COLLECTED_NOTHING) {
        *claim = rows->rest;
        rows->rest.kind = COLLECTED_NOTHING;
        return true;
    }
    if (turns_give_bucket_rows(turns, claim, request->bucket_rows)) {
        return true;
    }
    if (turns->dropping != 0) {
        return false;
    }
    if (turns->row < turns->base * size ||
        (turns->abandoned.row != COLLECTED_NO_ROW && rows->error.status == SLUICE_OK)) {
        turns_give_empty(turns, COLLECTED_PADDING, turns->base * size, claim);
        return true;
    }
    if (has_ended(rows) && turns->done > 0) {
        sli_error_take_first(plan_fail_short(rows->plan, rows->choices.ended, turns->done),
                             &rows->error);
    }
    if (rows->error.status != SLUICE_OK) {
        turns_give_empty(turns, COLLECTED_FAILED, UINT64_MAX, claim);
        claim->status = sli_error_raise(&rows->error);
        rows->over = true;
        return true;
    }
    if (turns_are_full(turns) || has_ended(rows)) {
        claim->seq = turns_batch(turns);
        rows->over = claim->seq > turns->batches || candidates_are_exhausted(&rows->candidates);
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

/* True if nothing can drop from the stream, so that a sample has its row once it is read. */
static bool deals_at_once(const collected_rows *rows)
{
    return !rows->plan->details->dealing.has_choices;
}

/* Ends a pass after its last candidate. */
static void end_pass(collected_rows *rows, collected_claim *rest, uint64_t *whole)
{
    collected_choices *choices = &rows->choices;
    const collected_pass_end pass = {choices->ended++, choices->chosen - choices->pass_begin};

    choices->pass_begin = choices->chosen;
    turns_end_pass(&rows->turns, &pass, rest, whole, &rows->error);
}

/* Gives the sample of a claim its row. False: this rank has none, so take again. */
static bool deal(collected_rows *rows, collected_claim *claim)
{
    const uint32_t size = rows->plan->batch_size;
    const uint64_t row = turns_give_round(&rows->turns, claim->skipped, claim->count);
    uint64_t whole = 0; /* stays so: the last row of a batch is given with the turns of all ranks */

    rows->choices.chosen += claim->skipped + claim->count;
    if (claim->ends_pass) {
        end_pass(rows, &rows->rest, &whole);
        if (replay_is_open(&rows->replay) && rows->turns.done == 0) {
            replay_end(&rows->replay, rows->choices.ended);
        }
    }
    claim->kind = COLLECTED_SAMPLE;
    claim->position += claim->skipped + rows->candidates.own;
    claim->seq = row / size + 1;
    claim->row = (uint32_t)(row % size);
    return row != COLLECTED_NO_ROW;
}

/* Completes a claim whose candidate was read, if there was one. False: take again. */
static bool complete(collected_rows *rows, sluice_status status, bool exhausted,
                     collected_claim *claim)
{
    candidates_end_read(&rows->candidates, claim, status, exhausted);
    if (status == SLUICE_CLOSED) { /* nothing is read before the stop or rewind */
        return false;
    }
    if (deals_at_once(rows) && status >= 0) {
        return deal(rows, claim);
    }
    if (deals_at_once(rows)) { /* nor has a sample of this round a row */
        sli_error_take(status, &rows->error);
        return false;
    }
    claim->status = status < 0 ? status : SLUICE_OK;
    return !exhausted;
}

/* Reads the candidate of a claim. False: there is none, so take again. */
static bool read_candidate(collected_rows *rows, stream_item *item, collected_claim *claim)
{
    bool exhausted;
    bool taken;
    const sluice_status st =
        candidates_read(&rows->candidates, item, &rows->replay, claim, &exhausted);

    pthread_mutex_lock(&rows->lock);
    taken = complete(rows, st, exhausted, claim);
    pthread_mutex_unlock(&rows->lock);
    if (claim->ends_pass || exhausted || st < 0) {
        sli_event_notify(&rows->changed);
    }
    return taken;
}

/* Locks `reading`; spins first, since most reads are shorter than a sleep with its wake-up. */
static void lock_reading(collected_rows *rows)
{
    for (uint32_t i = 0; i < READING_TRIES; i++) {
        if (pthread_mutex_trylock(&rows->reading) == 0) {
            return;
        }
        sli_relax();
    }
    pthread_mutex_lock(&rows->reading);
}

/* The duration of a take, in ticks: of all its tries. */
typedef struct take_ticks {
    uint64_t waited; /* for other workers */
    uint64_t read;
} take_ticks;

/* Takes a candidate of a stream, once no other worker reads; or what there is to take by then.
 * False: take again. */
static bool take_from_stream(collected_rows *rows, const collected_request *request,
                             collected_claim *claim, take_ticks *ticks)
{
    const uint64_t start = sli_ticks();
    uint64_t read_start;
    bool taken;

    lock_reading(rows);
    read_start = sli_ticks();
    ticks->waited += read_start - start;
    pthread_mutex_lock(&rows->lock);
    clear_claim(claim);
    taken = try_take(rows, request, claim);
    if (taken && claim->kind == COLLECTED_CANDIDATES) {
        claim->skips = deals_at_once(rows) ? turns_to_skip(&rows->turns) : 0;
        claim_candidates(rows, 1, claim);
        pthread_mutex_unlock(&rows->lock);
        if (request->clock != NULL) {
            sli_stage_clock_begin(request->clock, 1, request->counters);
        }
        taken = read_candidate(rows, request->item, claim);
        if (request->clock != NULL) {
            sli_stage_clock_enter(request->clock, NULL);
        }
        ticks->read += sli_ticks() - read_start;
    } else {
        pthread_mutex_unlock(&rows->lock);
    }
    pthread_mutex_unlock(&rows->reading);
    return taken;
}

void collected_rows_take(collected_rows *rows, const collected_request *request,
                         collected_claim *claim_out)
{
    collected_call call = {request, claim_out};
    const bool is_stream = rows->candidates.stream != NULL;
    bool reads = is_stream && deals_at_once(rows); /* nothing else can be taken meanwhile */
    take_ticks ticks = {0, 0};

    if (is_stream && request->choice == NULL) {
        stream_passes_done(rows->candidates.stream, request->item);
    }
    while (!reads || !take_from_stream(rows, request, claim_out, &ticks)) {
        clear_claim(claim_out);
        ticks.waited += call_until(rows, call_take, &call);
        reads = is_stream && claim_out->kind == COLLECTED_CANDIDATES;
        if (!reads) {
            break;
        }
    }
    claim_out->waited_ticks = ticks.waited;
    claim_out->read_ticks = ticks.read;
    if (claim_out->kind == COLLECTED_END || claim_out->kind == COLLECTED_FAILED) {
        sli_event_notify(&rows->changed);
    }
}

void collected_rows_done(collected_rows *rows, stream_item *item)
{
    stream_passes_done(rows->candidates.stream, item);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* True if candidates of the claim can get no rows any more. */
static bool is_useless(const collected_rows *rows, const collected_claim *claim)
{
    return rows->stopped || rows->over || rows->error.status != SLUICE_OK ||
           claim->round != rows->round || turns_are_full(&rows->turns);
}

/* True if the choices of all earlier candidates are made. */
static bool is_next(const collected_rows *rows, const collected_claim *claim)
{
    return rows->turns.dropping == 0 &&
           choices_reach(&rows->choices, claim, claim->pass - rows->plan->begin.pass);
}

/* Counts chosen candidates in the replay, and ends it when it is complete. */
static void count_replayed(collected_rows *rows, uint64_t candidates)
{
    if (replay_is_open(&rows->replay)) {
        replay_add(&rows->replay, candidates);
        if (rows->turns.turn >= rows->turns.done) {
            replay_end(&rows->replay, rows->choices.ended + 1);
        }
    }
}

/* Assigns rows to the candidates of a choice, all of whose earlier ones are made. */
static void make_choice(collected_rows *rows, collected_choice *choice)
{
    collected_choices *choices = &rows->choices;

    choice->gets_rows = true;
    if (!turns_give(&rows->turns, choice, &rows->error)) {
        return; /* neither later candidates nor later choices can get rows */
    }
    if (choice->error != NULL) {
        rows->error = *choice->error;
        turns_abandon_window(&rows->turns);
        return;
    }
    choices->chosen += choice->claim.count;
    count_replayed(rows, choice->claim.count);
    if (choice->claim.ends_pass) {
        end_pass(rows, &choice->rest, &choice->whole);
    }
}

/*
 * Makes the choices that no longer wait: those whose earlier ones are made, and those that can get
 * no rows any more. To be called after each change of what they wait for. True: at least one was
 * made, so the caller notifies rows->changed.
 */
static bool make_choices(collected_rows *rows)
{
    bool any = false;

    while (rows->choices.first != NULL) {
        collected_choice *first = rows->choices.first;

        if (!is_useless(rows, &first->claim)) {
            if (!is_next(rows, &first->claim)) {
                break;
            }
            make_choice(rows, first);
        }
        choices_remove_first(&rows->choices);
        any = true;
    }
    return any;
}

/* Clears what a choice gets. */
static void begin_choice(const collected_rows *rows, collected_choice *choice)
{
    choice->whole = 0;
    clear_claim(&choice->rest);
    choice->gets_rows = false;
    choice->is_made = choice->claim.round != rows->round;
    for (uint32_t i = 0; i < choice->claim.count; i++) {
        choice->rows[i] = COLLECTED_NO_ROW;
        if (choice->documents != NULL) {
            choice->documents[i].rows = 0;
            choice->documents[i].open_row = COLLECTED_NO_ROW;
        }
    }
}

void collected_rows_choose(collected_rows *rows, collected_choice *choice)
{
    bool any;

    pthread_mutex_lock(&rows->lock);
    begin_choice(rows, choice);
    if (!choice->is_made) {
        choices_add(&rows->choices, choice);
    }
    any = make_choices(rows);
    pthread_mutex_unlock(&rows->lock);
    if (any) {
        sli_event_notify(&rows->changed);
    }
}

held_row *collected_rows_hold(collected_rows *rows)
{
    held_row *held;

    pthread_mutex_lock(&rows->lock);
    held = collected_buckets_hold(rows->turns.buckets);
    pthread_mutex_unlock(&rows->lock);
    return held;
}

void collected_rows_release(collected_rows *rows, held_row *held)
{
    pthread_mutex_lock(&rows->lock);
    collected_buckets_release(rows->turns.buckets, held);
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
    held = rows->turns.held == seq;
    rows->turns.held_is_written = rows->turns.held_is_written || held;
    pthread_mutex_unlock(&rows->lock);
    return !held;
}

bool collected_rows_counts_failed(collected_rows *rows, uint64_t seq)
{
    uint64_t whole = 0;

    pthread_mutex_lock(&rows->lock);
    if (rows->turns.held == seq) {
        turns_release_held(&rows->turns, &whole);
    }
    pthread_mutex_unlock(&rows->lock);
    return whole != 0;
}

bool collected_rows_drops(collected_rows *rows, uint64_t seq)
{
    bool drops;

    pthread_mutex_lock(&rows->lock);
    drops = rows->turns.dropping == seq;
    pthread_mutex_unlock(&rows->lock);
    return drops;
}

void collected_rows_again(collected_rows *rows, uint64_t seq)
{
    pthread_mutex_lock(&rows->lock);
    rows->turns.row = (seq - 1) * rows->plan->batch_size;
    rows->turns.dropping = 0;
    (void)make_choices(rows);
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
    return &rows->candidates.next;
}

bool collected_rows_is_old(collected_rows *rows, const collected_claim *claim)
{
    bool old;

    pthread_mutex_lock(&rows->lock);
    old = claim->round != rows->round;
    pthread_mutex_unlock(&rows->lock);
    return old;
}

uint64_t collected_rows_freeze(collected_rows *rows)
{
    const uint32_t size = rows->plan->batch_size;

    if (rows->candidates.stream != NULL) {
        /* Else a worker that reads might wait for others to write, and they for the caller. */
        stream_passes_abandon(rows->candidates.stream, true);
    }
    pthread_mutex_lock(&rows->reading);
    pthread_mutex_lock(&rows->lock);
    return (rows->turns.row + size - 1) / size;
}

void collected_rows_rewind(collected_rows *rows, uint64_t base, uint64_t limit)
{
    uint64_t whole = 0;

    rows->turns.base = base;
    rows->turns.limit = limit;
    if (base > 0) {
        rows->round++;
        (void)make_choices(rows); /* they get no rows */
        candidates_rewind(&rows->candidates);
        choices_rewind(&rows->choices);
        turns_rewind(&rows->turns, &whole);
        if (whole != 0) {
            rows->rest = collected_last_row(whole, rows->plan->batch_size);
        }
        replay_abandon(&rows->replay);
        rows->error.status = SLUICE_OK;
    }
    if (rows->candidates.stream != NULL) {
        stream_passes_abandon(rows->candidates.stream, false);
    }
    pthread_mutex_unlock(&rows->lock);
    pthread_mutex_unlock(&rows->reading);
    sli_event_notify(&rows->changed);
}

void collected_rows_stop(collected_rows *rows)
{
    pthread_mutex_lock(&rows->lock);
    rows->stopped = true;
    (void)make_choices(rows);
    pthread_mutex_unlock(&rows->lock);
    if (rows->candidates.stream != NULL) {
        stream_passes_stop(rows->candidates.stream);
    }
    sli_event_notify(&rows->changed);
}

sluice_status collected_rows_create(const sli_plan *plan, uint64_t batches, uint64_t passes,
                                    collected_rows **rows_out)
{
    collected_rows *rows = sli_calloc(1, sizeof(*rows));
    sluice_status st;

    if (rows == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "rows of a stream, filter, pack or bucket");
    }
    pthread_mutex_init(&rows->reading, NULL);
    pthread_mutex_init(&rows->lock, NULL);
    clear_claim(&rows->rest);
    rows->plan = plan;
    st = collected_turns_init(&rows->turns, plan, batches);
    if (st == SLUICE_OK) {
        st = collected_candidates_init(&rows->candidates, plan, passes);
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
        pthread_mutex_destroy(&rows->reading);
        collected_turns_fini(&rows->turns);
        collected_candidates_fini(&rows->candidates);
        sli_free(rows);
    }
}
