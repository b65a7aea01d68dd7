/* SPDX-License-Identifier: Apache-2.0 */
/* The worker loop of a run with filters, pack or bucket: takes candidates, calls the filters, and
 * writes the samples, windows or rows of buckets that get rows. */
#include <string.h>

#include "error_int.h"
#include "kept_bucket_rows.h"
#include "kept_documents.h"
#include "loader_stage.h"
#include "sample_filters.h"

/*
 * Target time that a worker spends on the candidates of one claim. Workers wait for each other's
 * choices, and each sleep costs about 5 us.
 */
enum { CANDIDATES_NS = 100000 };

/* ---- candidates ------------------------------------------------------------------------------ */

/*
 * Applies the error policy to a candidate of bucket without a length. If the run goes on, it gets a
 * row as one of length 0, and load_row() loads it again and handles the error, unless it is
 * dropped.
 */
static void handle_bad_length(kept_worker *w, const kept_claim *claim, uint32_t i, sluice_status st)
{
    const row_task task = {.pass = claim->pass, .sample = w->samples[i]};

    st = engine_bad_item(w->engine, w->loader, &task, st);
    if (st != SLUICE_OK) {
        sli_error_take(st, &w->error);
        w->choice.error = &w->error;
        w->choice.keeps[i] = false;
    }
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
    while (count < claim->count && w->bad == KEPT_MOST && w->choice.error == NULL) {
        const uint32_t i = count++;
        sample_row row;
        sluice_status st;

        kept_find_candidate(w, claim, i);
        kept_own_row(w, details->own_rows == 1 ? 0 : i, &row);
        if (details->tests_first) {
            st = sample_test(w->loader, w->samples[i], w->passes[i], &row);
        } else {
            st = sample_load_filtered(w->loader, w->samples[i], w->passes[i], &row);
            readahead_was_read(w->engine->ahead, w->loader->read_ticks, w->loader->read_bytes);
        }
        w->choice.keeps[i] = st != SLUICE_OK || !w->loader->dropped; /* a bad sample takes a turn */
        w->choice.buckets[i] = st == SLUICE_OK ? (uint8_t)w->loader->bucket : 0;
        if (st != SLUICE_OK && details->bucket.count > 0) {
            handle_bad_length(w, claim, i, st);
        } else if (st != SLUICE_OK) {
            sli_error_take(st, &w->error);
            w->bad_stage = w->loader->stage;
            w->bad_fault = w->loader->fault;
            w->bad_ends_run = w->loader->io.ends_run;
            w->bad = i;
        }
    }
    if (count > 0) {
        row_pace_note(&w->pace, sli_ticks() - start, count);
    }
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
        kept_own_row(w, i, &own);
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
    if (!kept_go_to_batch(w, row / size + 1)) {
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
    const kept_claim held = {
        .kind = KEPT_LEFT_OUT, .seq = whole, .row = last, .count = 1, .open_row = KEPT_NO_ROW};
    const bool packs = w->engine->packed != NULL;

    if (whole != 0 && !kept_fill_empty(w, &held)) {
        return false;
    }
    /* In ascending order, so that a worker that waits for a slot owes no row to an earlier batch.
     */
    for (uint32_t i = 0; i < claim->count; i++) {
        if (packs ? !kept_place_document(w, i) : !place(w, claim, i)) {
            return false;
        }
    }
    kept_count_rows(w);
    return (w->choice.rest.kind == KEPT_NOTHING && w->choice.rest.open_row == KEPT_NO_ROW) ||
           kept_fill_empty(w, &w->choice.rest);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/*
 * Processes candidates of a claim, up to the first one that fails, and writes the rows that they
 * get. Removes them from the claim. False: the engine stops.
 */
static bool work_on_part(kept_worker *w, kept_claim *claim)
{
    const struct plan_details *details = w->engine->plan->details;
    kept_claim part = *claim;

    kept_wait_while_paused(w->engine, claim);
    if (details->is_stream && details->bucket.count > 0) {
        kept_load_held(w, &part);
    } else {
        part.count = details->pack.seq > 0 ? kept_load_documents(w, &part) : call_filters(w, &part);
    }
    part.ends_pass = claim->ends_pass && part.count == claim->count && w->choice.error == NULL;
    if (!kept_rows_choose(w->engine->kept, &part, &w->choice)) {
        claim->count = 0; /* the next kept_rows_take() returns the reason */
        return true;
    }
    sli_counter_add(&w->loader->counters[PLAN_READ]->wait_input_ticks, w->choice.waited_ticks);
    if (!place_all(w, &part)) {
        return false;
    }
    claim->first += part.count;
    claim->position += part.count;
    claim->count -= part.count;
    return true;
}

static bool work_on_candidates(kept_worker *w, kept_claim *claim)
{
    bool goes_on;

    w->choice.error = NULL;
    if (claim->status != SLUICE_OK) { /* the stream has failed: the claim has no candidates */
        sli_error_take(sli_fail(claim->status, "read: %.900s", sluice_last_error()), &w->error);
        w->choice.error = &w->error;
    }
    do {
        goes_on = work_on_part(w, claim);
    } while (goes_on && claim->count > 0);
    return goes_on;
}

/* Returns the number of candidates to take. */
static uint32_t candidates_to_take(const kept_worker *w, uint64_t ticks)
{
    const uint32_t rows = row_pace_rows(&w->pace, ticks);
    const struct plan_details *details = w->engine->plan->details;
    const bool loads_later = details->tests_first || details->bucket.count > 0;
    const uint32_t most = loads_later ? KEPT_MOST : details->own_rows;

    return rows < most ? rows : most;
}

/* Takes candidates, or rows without samples. With a stream the time counts as read. */
static void take(kept_worker *w, uint64_t ticks, kept_claim *claim)
{
    sli_counters *counters = w->loader->counters[PLAN_READ];
    const bool is_stream = w->engine->plan->details->is_stream;

    if (is_stream) {
        (void)enter_stage(w->loader, PLAN_READ);
        atomic_store_explicit(&w->loader->state.sample, 0, memory_order_relaxed);
    }
    kept_rows_take(w->engine->kept, candidates_to_take(w, ticks), &w->loader->io.item, claim);
    if (is_stream) {
        sli_counter_add(&counters->busy_ticks, claim->read_ticks);
        leave_stage(w->loader);
    }
    sli_counter_add(&counters->wait_input_ticks, claim->waited_ticks);
}

static bool work_once(kept_worker *w, uint64_t ticks)
{
    sli_engine *engine = w->engine;
    sli_batch batch;
    kept_claim claim;
    bool goes_on;

    take(w, ticks, &claim);
    switch (claim.kind) {
    case KEPT_CANDIDATES:
        goes_on = work_on_candidates(w, &claim);
        if (engine->plan->details->is_stream) {
            kept_rows_done(engine->kept, &w->loader->io.item);
        }
        return goes_on;
    case KEPT_ROWS:
        return kept_write_bucket_rows(w, &claim);
    case KEPT_PADDING:
    case KEPT_LEFT_OUT:
    case KEPT_FAILED:
        return kept_fill_empty(w, &claim);
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
    (void)sli_layout_make_ragged(engine->plan->wire, engine->plan->wire_count, 1,
                                 engine->plan->wire_ragged, &w.own);
    while (work_once(&w, ticks)) {
    }
}
