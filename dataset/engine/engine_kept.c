/* SPDX-License-Identifier: Apache-2.0 */
/* The worker loop of a run with filters: takes candidates, calls the filters, writes kept samples.
 */
#include <string.h>

#include "engine_state.h"
#include "error_int.h"
#include "sample_filters.h"

/*
 * Target time that a worker spends on the candidates of one claim. Workers wait for each other's
 * choices, and each sleep costs about 5 us.
 */
enum { CANDIDATES_NS = 100000 };

typedef struct kept_worker {
    sli_engine *engine;
    sample_loader *loader;
    sli_layout own; /* layout of the worker's private rows, which hold candidates until they are
                       copied into a batch */
    row_pace pace;
    kept_choice choice;
    uint64_t samples[KEPT_MOST]; /* sample of each candidate */
    uint64_t passes[KEPT_MOST];  /* pass that keys its random numbers */
    uint32_t bad;                /* index of the failed candidate; KEPT_MOST: no failure */
    sli_error error;             /* the error of the failed candidate */
    const char *bad_stage;       /* the loader's state at that failure, with the next two members */
    sli_fault bad_fault;
    bool bad_ends_run;
    sli_batch batch; /* batch whose rows are being written; valid if seq is not 0 */
    uint64_t seq;    /* its sequence number; 0: no batch */
    uint32_t done;   /* rows of the batch that are written but not counted yet */
} kept_worker;

/* ---- rows ------------------------------------------------------------------------------------ */

/* Counts the rows that were written; publishes the batch if it is complete. */
static void count_rows(kept_worker *w)
{
    sli_engine *engine = w->engine;
    const uint64_t seq = w->seq;
    const uint32_t done = w->done;

    w->done = 0;
    if (done == 0 || !sli_queue_add_rows(engine->queue, seq, done)) {
        return;
    }
    w->seq = 0; /* the batch is complete: once published, its slot belongs to the consumer */
    if (kept_rows_drops(engine->kept, seq) && sli_queue_begin_again(engine->queue, seq)) {
        kept_rows_again(engine->kept, seq);
    } else {
        engine_publish_batch(engine, w->loader, &w->batch, seq);
    }
}

/* Switches to the batch of the next rows, and waits for its slot. False: the engine stops. */
static bool go_to_batch(kept_worker *w, uint64_t seq)
{
    if (w->seq == seq) {
        return true;
    }
    count_rows(w); /* before the worker sleeps: the consumer may wait for the previous batch */
    w->seq = 0;
    if (seq > atomic_load_explicit(&w->engine->stop_at, memory_order_relaxed) ||
        engine_acquire_batch(w->engine, w->loader, seq, &w->batch) != SLUICE_OK) {
        return false;
    }
    w->seq = seq;
    return true;
}

/* Zeroes or skips the rows of a claim without samples. False: the engine stops. */
static bool fill_empty(kept_worker *w, const kept_claim *claim)
{
    row_task task = {.seq = claim->seq, .number = claim->row, .sample = ENGINE_NO_SAMPLE};
    sli_error error = {SLUICE_OK, 0, ""};

    if (claim->kind == KEPT_FAILED) {
        sli_error_take(claim->status, &error);
    }
    if (!go_to_batch(w, claim->seq)) {
        return false;
    }
    for (uint32_t i = 0; i < claim->count; i++) {
        if (claim->kind != KEPT_LEFT_OUT) {
            engine_row_of(w->engine, &w->batch, claim->row + i, &task.row);
            engine_zero_row(w->engine, &task.row);
            w->batch.samples[claim->row + i] = ENGINE_NO_SAMPLE;
        }
    }
    if (claim->kind == KEPT_FAILED) {
        engine_fail_row(w->engine, &task, error.status, error.text);
    }
    w->done += claim->count;
    count_rows(w);
    return true;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Finds the memory of one of the worker's private rows. */
static void own_row(const kept_worker *w, uint32_t number, sample_row *row_out)
{
    uint8_t *row = w->loader->own_rows + number * w->own.slot_bytes;

    for (uint32_t i = 0; i < w->own.column_count; i++) {
        row_out->columns[i] = row + w->own.offsets[i];
    }
    row_out->flags = row + w->own.row_flags_offset;
}

/*
 * Calls the filters for candidates, up to and including the first one that fails. Returns the
 * number of candidates processed.
 */
static uint32_t call_filters(kept_worker *w, const kept_claim *claim)
{
    const struct plan_details *details = w->engine->plan->details;
    const uint64_t start = sli_ticks();
    uint32_t count = 0;

    w->bad = KEPT_MOST;
    while (count < claim->count && w->bad == KEPT_MOST) {
        const uint32_t i = count++;
        sample_row row;
        sluice_status st;

        order_at(&details->all_ranks, claim->pass, claim->position + i, &w->samples[i],
                 &w->passes[i]);
        own_row(w, details->tests_first ? 0 : i, &row);
        if (details->tests_first) {
            st = sample_test(w->loader, w->samples[i], w->passes[i], &row);
        } else {
            st = sample_load_filtered(w->loader, w->samples[i], w->passes[i], &row);
            readahead_was_read(w->engine->ahead, w->loader->read_ticks, w->loader->read_bytes);
        }
        w->choice.keeps[i] = st != SLUICE_OK || !w->loader->dropped; /* a bad sample takes a turn */
        if (st != SLUICE_OK) {
            sli_error_take(st, &w->error);
            w->bad_stage = w->loader->stage;
            w->bad_fault = w->loader->fault;
            w->bad_ends_run = w->loader->io.ends_run;
            w->bad = i;
        }
    }
    row_pace_note(&w->pace, sli_ticks() - start, count);
    return count;
}

/* Writes a kept candidate into a row of the current batch. */
static void fill_row(kept_worker *w, const kept_claim *claim, uint32_t i, uint32_t number)
{
    sli_engine *engine = w->engine;
    row_task task = {.seq = w->seq,
                     .number = number,
                     .pass = claim->pass,
                     .global_position = claim->position + i,
                     .sample = w->samples[i]};
    sample_row own;
    sluice_status st = SLUICE_OK;

    engine_row_of(engine, &w->batch, number, &task.row);
    if (i == w->bad) {
        w->loader->stage = w->bad_stage;
        w->loader->fault = w->bad_fault;
        w->loader->io.ends_run = w->bad_ends_run;
        st = sli_error_raise(&w->error);
    } else if (engine->plan->details->tests_first) {
        st = sample_load(w->loader, w->samples[i], w->passes[i], &task.row);
    } else {
        own_row(w, i, &own);
        for (uint32_t c = 0; c < w->own.column_count; c++) {
            memcpy(task.row.columns[c], own.columns[c], w->own.row_bytes[c]);
        }
        *task.row.flags = *own.flags;
    }
    if (st != SLUICE_OK) {
        engine_bad_sample(engine, w->loader, &task, st);
    }
    w->batch.samples[number] = task.sample;
}

/* Writes the row of a candidate if it was assigned one. False: the engine stops. */
static bool place(kept_worker *w, const kept_claim *claim, uint32_t i)
{
    const uint32_t size = w->engine->plan->batch_size;
    const uint64_t row = w->choice.rows[i];
    const uint32_t number = (uint32_t)(row % size);

    if (row == KEPT_NO_ROW) {
        return true;
    }
    if (!go_to_batch(w, row / size + 1)) {
        return false;
    }
    atomic_store_explicit(&w->loader->state.seq, w->seq, memory_order_relaxed);
    fill_row(w, claim, i, number);
    w->done += kept_rows_counts(w->engine->kept, w->seq, number);
    return true;
}

/* Writes the rows that a choice assigned. False: the engine stops. */
static bool place_all(kept_worker *w, const kept_claim *claim)
{
    const uint64_t whole = w->choice.whole;
    const uint32_t last = w->engine->plan->batch_size - 1;
    const kept_claim held = {.kind = KEPT_LEFT_OUT, .seq = whole, .row = last, .count = 1};

    if (whole != 0 && !fill_empty(w, &held)) {
        return false;
    }
    /* In ascending order, so that a worker that waits for a slot owes no row to an earlier batch.
     */
    for (uint32_t i = 0; i < claim->count; i++) {
        if (!place(w, claim, i)) {
            return false;
        }
    }
    count_rows(w);
    return w->choice.rest.kind == KEPT_NOTHING || fill_empty(w, &w->choice.rest);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Argument of is_resumed(): a worker that sleeps while it holds candidates. */
typedef struct kept_sleep {
    sli_engine *engine;
    const kept_claim *claim;
} kept_sleep;

static bool is_resumed(void *arg)
{
    const kept_sleep *sleep = arg;

    return !atomic_load_explicit(&sleep->engine->paused, memory_order_relaxed) ||
           engine_is_closed(sleep->engine) || kept_rows_is_old(sleep->engine->kept, sleep->claim);
}

static void wait_while_paused(sli_engine *engine, const kept_claim *claim)
{
    kept_sleep sleep = {engine, claim};

    if (atomic_load_explicit(&engine->paused, memory_order_relaxed)) {
        sli_event_await(&engine->resumed, is_resumed, &sleep, -1);
    }
}

static bool work_on_candidates(kept_worker *w, kept_claim *claim)
{
    while (claim->count > 0) {
        kept_claim part = *claim;

        wait_while_paused(w->engine, claim);
        part.count = call_filters(w, &part);
        if (!kept_rows_choose(w->engine->kept, &part, &w->choice)) {
            return true; /* the next kept_rows_take() returns the reason */
        }
        sli_counter_add(&w->loader->counters[PLAN_READ]->wait_input_ticks, w->choice.waited_ticks);
        if (!place_all(w, &part)) {
            return false;
        }
        claim->first += part.count;
        claim->position += part.count;
        claim->count -= part.count;
    }
    return true;
}

/* Returns the number of candidates to take. */
static uint32_t candidates_to_take(const kept_worker *w, uint64_t ticks)
{
    const uint32_t rows = row_pace_rows(&w->pace, ticks);
    const struct plan_details *details = w->engine->plan->details;
    const uint32_t most = details->tests_first ? KEPT_MOST : details->own_rows;

    return rows < most ? rows : most;
}

static bool work_once(kept_worker *w, uint64_t ticks)
{
    sli_engine *engine = w->engine;
    sli_batch batch;
    kept_claim claim;

    kept_rows_take(engine->kept, candidates_to_take(w, ticks), &claim);
    sli_counter_add(&w->loader->counters[PLAN_READ]->wait_input_ticks, claim.waited_ticks);
    switch (claim.kind) {
    case KEPT_CANDIDATES:
        return work_on_candidates(w, &claim);
    case KEPT_PADDING:
    case KEPT_LEFT_OUT:
    case KEPT_FAILED:
        return fill_empty(w, &claim);
    case KEPT_LIMIT:
        return engine_await_rewind(engine, claim.seq);
    case KEPT_END:
        if (claim.seq <= atomic_load_explicit(&engine->stop_at, memory_order_relaxed) &&
            engine_acquire_batch(engine, w->loader, claim.seq, &batch) == SLUICE_OK) {
            sli_queue_publish_end(engine->queue, claim.seq);
        }
        return false;
    case KEPT_NOTHING:
        break;
    }
    return false;
}

void engine_work_kept(sli_engine *engine, sample_loader *loader)
{
    const uint64_t ticks =
        sli_ticks_in(CANDIDATES_NS, engine->profile->start_ticks, engine->profile->start_ns);
    kept_worker w = {.engine = engine, .loader = loader};

    /* Cannot fail: the layout of whole batches was made from the same columns. */
    (void)sli_layout_make(engine->plan->wire, engine->plan->wire_count, 1, &w.own);
    while (work_once(&w, ticks)) {
    }
}
