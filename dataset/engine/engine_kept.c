/* SPDX-License-Identifier: Apache-2.0 */
/* The worker loop of a run with filters, pack or bucket: takes candidates, calls the filters, and
 * writes the samples, windows or rows of buckets that get rows. */
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

/* Writes a piece of a document; `document` NULL: of padding. False: the engine stops. */
static bool write_piece(kept_worker *w, const packed_piece *piece, const void *document,
                        uint64_t sample)
{
    const uint32_t size = w->engine->plan->batch_size;
    const uint32_t number = (uint32_t)(piece->row % size);
    sample_row row;

    if (!go_to_batch(w, piece->row / size + 1)) {
        return false;
    }
    atomic_store_explicit(&w->loader->state.seq, w->seq, memory_order_relaxed);
    engine_row_of(w->engine, &w->batch, number, &row);
    if (piece->at == 0) {
        w->batch.samples[number] = sample;
    }
    if (packed_rows_write(w->engine->packed, piece, document, &row)) {
        w->done += kept_rows_counts(w->engine->kept, w->seq, number);
    }
    return true;
}

/* Pads the rest of a window. False: the engine stops. */
static bool pad_window(kept_worker *w, uint64_t open_row, uint32_t open_at)
{
    const packed_piece piece = {
        .row = open_row, .at = open_at, .count = w->engine->plan->details->pack.seq - open_at};

    return open_row == KEPT_NO_ROW || write_piece(w, &piece, NULL, 0);
}

static void write_empty(kept_worker *w, uint32_t number)
{
    sample_row row;

    engine_row_of(w->engine, &w->batch, number, &row);
    if (w->engine->packed != NULL) {
        packed_rows_pad(w->engine->packed, &row);
    } else {
        engine_zero_row(w->engine, &row);
    }
    w->batch.samples[number] = ENGINE_NO_SAMPLE;
}

/* Zeroes or skips the rows of a claim without samples. False: the engine stops. */
static bool fill_empty(kept_worker *w, const kept_claim *claim)
{
    const row_task task = {.seq = claim->seq, .number = claim->row};
    sli_error error = {SLUICE_OK, 0, ""};

    if (claim->kind == KEPT_FAILED) {
        sli_error_take(claim->status, &error);
        if (!go_to_batch(w, claim->seq)) {
            return false;
        }
        engine_fail_row(w->engine, &task, error.status, error.text);
    }
    if (!pad_window(w, claim->open_row, claim->open_at) ||
        (claim->count > 0 && !go_to_batch(w, claim->seq))) {
        return false;
    }
    for (uint32_t i = 0; i < claim->count && claim->kind != KEPT_LEFT_OUT; i++) {
        write_empty(w, claim->row + i);
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
    row_out->extent = w->own.extent;
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
        own_row(w, details->own_rows == 1 ? 0 : i, &row);
        if (details->tests_first) {
            st = sample_test(w->loader, w->samples[i], w->passes[i], &row);
        } else {
            st = sample_load_filtered(w->loader, w->samples[i], w->passes[i], &row);
            readahead_was_read(w->engine->ahead, w->loader->read_ticks, w->loader->read_bytes);
        }
        w->choice.keeps[i] = st != SLUICE_OK || !w->loader->dropped; /* a bad sample takes a turn */
        w->choice.buckets[i] = st == SLUICE_OK ? (uint8_t)w->loader->bucket : 0;
        if (st != SLUICE_OK && details->bucket.count > 0) {
            /* load_row() loads the sample again and handles the error, unless it is dropped. */
            engine_note_failure(w->engine, w->loader, w->samples[i]);
        } else if (st != SLUICE_OK) {
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

/* Returns the memory of one of the worker's private documents. */
static uint8_t *own_document(const kept_worker *w, uint32_t number)
{
    return w->loader->own_rows + number * w->engine->plan->details->own_row_bytes;
}

/*
 * Loads a document. If that fails, the error policy replaces it, leaves it out, or ends the run
 * with the returned error.
 */
static sluice_status load_document(kept_worker *w, const kept_claim *claim, uint32_t i)
{
    sample_loader *loader = w->loader;
    void *document = own_document(w, i);
    row_task task = {.pass = claim->pass, .global_position = claim->position + i};
    bool is_left_out = false;
    sluice_status st;

    order_at(&w->engine->plan->details->all_ranks, claim->pass, task.global_position, &task.sample,
             &w->passes[i]);
    packed_document_row(w->engine->plan, document, &task.row);
    packed_document_clear(document);
    st = sample_load_filtered(loader, task.sample, w->passes[i], &task.row);
    readahead_was_read(w->engine->ahead, loader->read_ticks, loader->read_bytes);
    if (st != SLUICE_OK) {
        st = engine_bad_document(w->engine, loader, &task, st, &is_left_out);
    }
    if (st == SLUICE_OK && !loader->dropped && !is_left_out) {
        packed_document_keep(loader, document);
    }
    w->samples[i] = task.sample;
    w->choice.documents[i].length = packed_document_length(document);
    return st;
}

/*
 * Loads documents, up to and including the first one that ends the run. Returns the number of
 * candidates processed.
 */
static uint32_t load_documents(kept_worker *w, const kept_claim *claim)
{
    const uint64_t start = sli_ticks();
    uint32_t count = 0;

    w->choice.error = NULL;
    while (count < claim->count && w->choice.error == NULL) {
        const sluice_status st = load_document(w, claim, count++);

        if (st != SLUICE_OK) {
            sli_error_take(st, &w->error);
            w->choice.error = &w->error;
        }
    }
    row_pace_note(&w->pace, sli_ticks() - start, count);
    return count;
}

/* Writes a document into the windows that it was assigned to. False: the engine stops. */
static bool place_document(kept_worker *w, uint32_t i)
{
    const sli_plan *plan = w->engine->plan;
    const kept_document *to = &w->choice.documents[i];
    const uint32_t seq = plan->details->pack.seq;

    if (!pad_window(w, to->open_row, to->open_at)) {
        return false;
    }
    for (uint64_t k = 0; k < to->rows; k++) {
        packed_piece piece = {.row = to->row + k, .from = to->from};
        uint64_t left;

        if (k == 0) {
            piece.at = to->at;
            piece.document = to->document;
        } else {
            piece.from += k * plan->settings.world * seq - to->at;
        }
        left = to->length - piece.from;
        piece.count = left < seq - piece.at ? (uint32_t)left : seq - piece.at;
        if (!write_piece(w, &piece, own_document(w, i), w->samples[i])) {
            return false;
        }
    }
    return true;
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
    const kept_claim held = {
        .kind = KEPT_LEFT_OUT, .seq = whole, .row = last, .count = 1, .open_row = KEPT_NO_ROW};
    const bool packs = w->engine->packed != NULL;

    if (whole != 0 && !fill_empty(w, &held)) {
        return false;
    }
    /* In ascending order, so that a worker that waits for a slot owes no row to an earlier batch.
     */
    for (uint32_t i = 0; i < claim->count; i++) {
        if (packs ? !place_document(w, i) : !place(w, claim, i)) {
            return false;
        }
    }
    count_rows(w);
    return (w->choice.rest.kind == KEPT_NOTHING && w->choice.rest.open_row == KEPT_NO_ROW) ||
           fill_empty(w, &w->choice.rest);
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
        part.count = w->engine->packed != NULL ? load_documents(w, &part) : call_filters(w, &part);
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

/*
 * A sample is loaded with the declared shape of its columns, so its ragged columns are loaded into
 * the worker's private row first, and the entries of the batch's extent are copied.
 */
static void use_own_ragged(const kept_worker *w, sample_row *row)
{
    sample_row own;

    own_row(w, 0, &own);
    for (uint32_t i = 0; i < w->own.column_count; i++) {
        row->columns[i] = w->own.entry_bytes[i] > 0 ? own.columns[i] : row->columns[i];
    }
}

/* Copies the ragged columns of a loaded sample from the private row. */
static void copy_ragged(kept_worker *w, const row_task *task)
{
    const sli_layout *layout = &w->engine->layout;
    const int64_t length = sample_bucket_length(w->loader, &task->row);
    sample_row to;
    sluice_status st;

    if (*task->row.flags != SLI_ROW_ZERO && length > (int64_t)w->batch.extent) {
        st =
            sli_fail(SLUICE_E_CORRUPT,
                     "bucket: sample %llu has the length %lld, and had at most %u when it was read "
                     "for its length; a sample must be the same each time",
                     (unsigned long long)task->sample, (long long)length, w->batch.extent);
        engine_fail_row(w->engine, task, st, sluice_last_error());
    }
    engine_row_of(w->engine, &w->batch, task->number, &to);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        if (layout->entry_bytes[i] > 0) {
            memcpy(to.columns[i], task->row.columns[i], sli_layout_row(layout, i, w->batch.extent));
        }
    }
}

/* Loads a sample of a bucket into its row. */
static void load_row(kept_worker *w, const bucket_row *from, uint32_t number)
{
    const sli_plan *plan = w->engine->plan;
    const sample_order *all = &plan->details->all_ranks;
    row_task task = {.seq = w->seq,
                     .number = number,
                     .pass = plan->begin.pass + from->candidate / all->length,
                     .global_position = from->candidate % all->length};
    uint64_t sample_pass;
    sluice_status st;

    order_at(all, task.pass, task.global_position, &task.sample, &sample_pass);
    engine_row_of(w->engine, &w->batch, number, &task.row);
    if (w->own.extent > 0) {
        use_own_ragged(w, &task.row);
    }
    st = sample_load(w->loader, task.sample, sample_pass, &task.row);
    if (st != SLUICE_OK) {
        w->loader->wanted_bucket = from->bucket;
        engine_bad_sample(w->engine, w->loader, &task, st);
    }
    if (w->own.extent > 0) {
        copy_ragged(w, &task);
    }
    w->batch.samples[number] = task.sample;
}

/* Fills rows of a full bucket. False: the engine stops. */
static bool work_on_rows(kept_worker *w, const kept_claim *claim)
{
    wait_while_paused(w->engine, claim);
    if (!go_to_batch(w, claim->seq)) {
        return false;
    }
    atomic_store_explicit(&w->loader->state.seq, w->seq, memory_order_relaxed);
    w->batch.extent = w->engine->plan->details->bucket.extents[claim->bucket_rows[0].bucket];
    for (uint32_t i = 0; i < claim->count; i++) {
        if (claim->bucket_rows[i].candidate == KEPT_NO_CANDIDATE) {
            write_empty(w, claim->row + i);
        } else {
            load_row(w, &claim->bucket_rows[i], claim->row + i);
        }
    }
    w->done += claim->count;
    count_rows(w);
    return true;
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
    case KEPT_ROWS:
        return work_on_rows(w, &claim);
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
    (void)sli_layout_make_ragged(engine->plan->wire, engine->plan->wire_count, 1,
                                 engine->plan->wire_ragged, &w.own);
    while (work_once(&w, ticks)) {
    }
}
