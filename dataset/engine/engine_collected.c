/* SPDX-License-Identifier: Apache-2.0 */
/* The worker loop of a run with collected rows: takes candidates, calls the filters, and writes the
 * samples, windows or rows of buckets that get rows. */
#include <string.h>

#include "collected_worker.h"
#include "error_int.h"
#include "loader_stage.h"
#include "sample_filters.h"

/* Target time that a worker spends on the candidates of one claim. */
enum { CANDIDATES_NS = 100000 };

/* ---- candidates ------------------------------------------------------------------------------ */

/*
 * Applies the error policy to a candidate of bucket without a length. If the run continues, it gets
 * a row as one of length 0, and load_row() loads it again and handles the error, unless it is
 * dropped.
 */
static void handle_bad_length(collected_worker *w, collected_part *part, uint32_t i,
                              sluice_status st)
{
    const row_task task = {.pass = part->choice.claim.pass, .sample = part->samples[i]};

    st = engine_bad_item(w->engine, w->loader, &task, st);
    if (st != SLUICE_OK) {
        sli_error_take(st, &w->error);
        part->choice.error = &w->error;
        part->choice.keeps[i] = false;
    }
}

/* Calls the filters for a candidate of a part. */
static void call_filter(collected_worker *w, collected_part *part, uint32_t i)
{
    const struct plan_details *details = w->engine->plan->details;
    sample_row row;
    sluice_status st;

    collected_find_candidate(w, part, i);
    collected_own_row(w, collected_own_number(w, part, i), &row);
    if (details->dealing.tests_first) {
        st = sample_test(w->loader, part->samples[i], part->passes[i], &row);
    } else {
        st = sample_load_filtered(w->loader, part->samples[i], part->passes[i], &row);
        readahead_was_read(w->engine->ahead, w->loader->last.read_ticks,
                           w->loader->last.read_bytes);
    }
    /* A bad sample takes a turn. */
    part->choice.keeps[i] = st != SLUICE_OK || !w->loader->last.dropped;
    part->choice.buckets[i] = st == SLUICE_OK ? (uint8_t)w->loader->last.bucket : 0;
    if (st != SLUICE_OK && details->bucket.count > 0) {
        handle_bad_length(w, part, i, st);
    } else if (st != SLUICE_OK) {
        sli_error_take(st, &w->error);
        w->bad_stage = w->loader->last.stage;
        w->bad_fault = w->loader->last.fault;
        w->bad_ends_run = w->loader->io.ends_run;
        part->bad = i;
    }
}

/*
 * Calls the filters for the candidates of a part, up to and including the first one that fails.
 * Returns the number of candidates processed.
 */
static uint32_t call_filters(collected_worker *w, collected_part *part)
{
    const collected_claim *claim = &part->choice.claim;
    const uint64_t start = sli_ticks();
    uint32_t count = 0;

    while (count < claim->count && part->bad == COLLECTED_MOST && part->choice.error == NULL) {
        call_filter(w, part, count++);
    }
    if (count > 0) {
        row_pace_note(&w->pace, sli_ticks() - start, count);
    }
    return count;
}

/* Writes a kept candidate into a row of the current batch. */
static void fill_row(collected_worker *w, const collected_part *part, uint32_t i, uint32_t number)
{
    sli_engine *engine = w->engine;
    row_task task = {.seq = w->seq,
                     .number = number,
                     .pass = part->choice.claim.pass,
                     .global_position = part->choice.claim.position + i,
                     .sample = part->samples[i]};
    sample_row own;
    sluice_status st = SLUICE_OK;

    engine_row_of(engine, &w->batch, number, &task.row);
    if (i == part->bad) {
        w->loader->last.stage = w->bad_stage;
        w->loader->last.fault = w->bad_fault;
        w->loader->io.ends_run = w->bad_ends_run;
        st = sli_error_raise(&w->error);
    } else if (engine->plan->details->dealing.tests_first) {
        st = sample_load(w->loader, part->samples[i], part->passes[i], &task.row);
    } else {
        collected_own_row(w, collected_own_number(w, part, i), &own);
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
static bool place(collected_worker *w, const collected_part *part, uint32_t i)
{
    const uint32_t size = w->engine->plan->batch_size;
    const uint64_t row = part->choice.rows[i];
    const uint32_t number = (uint32_t)(row % size);

    if (row == COLLECTED_NO_ROW) {
        return true;
    }
    if (!collected_go_to_batch(w, row / size + 1)) {
        return false;
    }
    atomic_store_explicit(&w->loader->report.state.seq, w->seq, memory_order_relaxed);
    fill_row(w, part, i, number);
    w->done += collected_rows_counts(w->engine->collected, w->seq, number);
    return true;
}

/* Writes the rows that a choice assigned. False: the engine stops. */
static bool place_all(collected_worker *w, const collected_part *part)
{
    const collected_choice *choice = &part->choice;
    const uint64_t whole = choice->whole;
    const collected_claim held = collected_last_row(whole, w->engine->plan->batch_size);
    const bool packs = w->engine->packed != NULL;

    if (whole != 0 && !collected_fill_empty(w, &held)) {
        return false;
    }
    /* In ascending order, so that a worker that waits for a slot has written its rows of all
     * earlier batches. */
    for (uint32_t i = 0; i < choice->claim.count; i++) {
        if (packs ? !collected_place_document(w, part, i) : !place(w, part, i)) {
            return false;
        }
    }
    collected_count_rows(w);
    return (choice->rest.kind == COLLECTED_NOTHING && choice->rest.open_row == COLLECTED_NO_ROW) ||
           collected_fill_empty(w, &choice->rest);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Appends a part with the worker's claim. */
static collected_part *begin_part(collected_worker *w)
{
    collected_part *part = &w->parts[(w->first_part + w->part_count) % COLLECTED_PARTS_MOST];
    const collected_part *first = collected_first_part(w);

    part->choice.claim = w->claim;
    part->choice.error = NULL;
    part->bad = COLLECTED_MOST;
    part->own_row = first != NULL ? collected_own_number(w, first, w->own_rows) : 0;
    return part;
}

/*
 * Calls the filters for candidates of the worker's claim, up to the first one that fails, and
 * reports the choice. Removes them from the claim.
 */
static void choose_part(collected_worker *w)
{
    const struct plan_details *details = w->engine->plan->details;
    collected_part *part = begin_part(w);
    collected_choice *choice = &part->choice;
    collected_claim *claim = &w->claim;

    collected_wait_while_paused(w->engine, claim);
    if (claim->status != SLUICE_OK) { /* the stream has failed: the claim has no candidates */
        sli_error_take(sli_fail_quoting(claim->status, "read: %.900s", sluice_last_error()),
                       &w->error);
        choice->error = &w->error;
    }
    if (details->dealing.is_stream && details->bucket.count > 0) {
        collected_load_held(w, part);
    } else {
        choice->claim.count =
            details->pack.seq > 0 ? collected_load_documents(w, part) : call_filters(w, part);
    }
    choice->claim.ends_pass =
        claim->ends_pass && choice->claim.count == claim->count && choice->error == NULL;
    claim->first += choice->claim.count;
    claim->position += choice->claim.count;
    claim->count -= choice->claim.count;
    w->part_count++;
    w->own_rows += choice->claim.count;
    w->has_error = part->bad != COLLECTED_MOST || choice->error != NULL;
    choice->held = w->held;
    collected_rows_choose(w->engine->collected, choice);
}

/* Writes the rows of the worker's first part, whose choice is made, and removes the part. False:
 * the engine stops. */
static bool place_part(collected_worker *w)
{
    const collected_part *part = collected_first_part(w);

    w->held = part->choice.held;
    if (!part->choice.gets_rows) {
        w->claim.count = 0; /* collected_rows_take() returns why, e.g. COLLECTED_END */
    } else if (!place_all(w, part)) {
        return false;
    }
    w->own_rows -= part->choice.claim.count;
    w->first_part = (w->first_part + 1) % COLLECTED_PARTS_MOST;
    w->part_count--;
    if (w->engine->plan->details->dealing.is_stream) {
        collected_rows_done(w->engine->collected, &w->loader->io.item);
    }
    return true;
}

/* ---- a stream from which nothing can drop ---------------------------------------------------- */

/* Loads a sample of a stream into its row. False: the engine stops. */
static bool write_sample(collected_worker *w, const collected_claim *claim)
{
    sample_loader *loader = w->loader;
    row_task task = {.seq = claim->seq,
                     .number = claim->row,
                     .pass = claim->pass,
                     .global_position = claim->position,
                     .sample = loader->io.item.number};
    sluice_status st;

    collected_wait_while_paused(w->engine, claim);
    if (!collected_go_to_batch(w, claim->seq)) {
        return false;
    }
    engine_row_of(w->engine, &w->batch, claim->row, &task.row);
    st = sample_load(loader, task.sample, task.pass, &task.row);
    if (st != SLUICE_OK) {
        engine_bad_sample(w->engine, loader, &task, st);
    }
    w->batch.samples[claim->row] = task.sample;
    collected_rows_done(w->engine->collected, &loader->io.item);
    w->done++;
    collected_count_rows(w);
    return true;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Returns the number of candidates to take. */
static uint32_t candidates_to_take(const collected_worker *w)
{
    const uint64_t ticks = engine_run_ticks(w->engine, CANDIDATES_NS);
    const uint32_t rows = row_pace_rows(&w->pace, ticks);
    const struct plan_details *details = w->engine->plan->details;
    const bool loads_later =
        details->dealing.tests_first || details->bucket.count > 0 || !details->dealing.has_choices;
    const uint32_t most = loads_later ? COLLECTED_MOST : details->dealing.own_rows - w->own_rows;

    if (w->part_count == COLLECTED_PARTS_MOST ||
        (w->part_count > 0 && (details->dealing.is_stream || w->has_error))) {
        return 0;
    }
    return rows < most ? rows : most;
}

/* Takes candidates, rows without samples, or the first part. With a stream the time counts as read.
 */
static void take(collected_worker *w, collected_claim *claim)
{
    const collected_part *part = collected_first_part(w);
    sli_counters *counters = w->loader->report.counters[PLAN_READ];
    const collected_request request = {.most = candidates_to_take(w),
                                       .choice = part != NULL ? &part->choice : NULL,
                                       .bucket_rows = w->bucket_rows,
                                       .item = &w->loader->io.item,
                                       .clock = &w->loader->report.clock,
                                       .counters = counters};
    const bool is_stream = w->engine->plan->details->dealing.is_stream;

    if (is_stream) {
        (void)set_stage(w->loader, PLAN_READ);
        atomic_store_explicit(&w->loader->report.state.sample, 0, memory_order_relaxed);
    }
    collected_rows_take(w->engine->collected, &request, claim);
    if (is_stream) {
        sli_counter_add(&counters->busy_ticks, claim->read_ticks);
        leave_stage(w->loader);
    }
    sli_counter_add(&counters->wait_input_ticks, claim->waited_ticks);
}

static bool work_once(collected_worker *w)
{
    sli_engine *engine = w->engine;
    sli_batch batch;
    collected_claim claim;

    if (w->claim.count > 0 && w->part_count == 0) {
        choose_part(w); /* what a bad candidate has left of the claim */
        return true;
    }
    take(w, &claim);
    switch (claim.kind) {
    case COLLECTED_CHOSEN:
        return place_part(w);
    case COLLECTED_CANDIDATES:
        w->claim = claim;
        choose_part(w);
        return true;
    case COLLECTED_SAMPLE:
        return write_sample(w, &claim);
    case COLLECTED_ROWS:
        return collected_write_bucket_rows(w, &claim);
    case COLLECTED_PADDING:
    case COLLECTED_LEFT_OUT:
    case COLLECTED_FAILED:
        return collected_fill_empty(w, &claim);
    case COLLECTED_LIMIT:
        return engine_await_rewind(engine, claim.seq);
    case COLLECTED_END:
        if (claim.seq <= atomic_load_explicit(&engine->control.stop_at, memory_order_relaxed) &&
            engine_acquire_batch(engine, w->loader, claim.seq, &batch) == SLUICE_OK) {
            sli_queue_publish_end(engine->queue, claim.seq);
        }
        return false;
    case COLLECTED_NOTHING:
        break;
    }
    return false;
}

void engine_work_collected(sli_engine *engine, sample_loader *loader)
{
    collected_worker *w = &engine->collected_workers[loader - engine->loaders];

    w->engine = engine;
    w->loader = loader;
    /* Cannot fail: the layout of whole batches was made from the same columns. */
    (void)sli_layout_make_ragged(engine->plan->wire, engine->plan->wire_count, 1,
                                 engine->plan->wire_ragged, &w->own);
    while (work_once(w)) {
    }
}
