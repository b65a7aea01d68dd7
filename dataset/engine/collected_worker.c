/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_worker.h"

#include <string.h>

#include "alloc_int.h"
#include "error_int.h"

/* Allocates the documents of each part of a worker. */
static sluice_status create_documents(collected_worker *w)
{
    for (uint32_t i = 0; i < COLLECTED_PARTS_MOST; i++) {
        collected_choice *choice = &w->parts[i].choice;

        choice->documents = sli_calloc(COLLECTED_MOST, sizeof(*choice->documents));
        if (choice->documents == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the documents of a worker");
        }
    }
    return SLUICE_OK;
}

sluice_status collected_workers_create(const sli_engine *engine, collected_worker **workers_out)
{
    const struct plan_details *details = engine->plan->details;
    collected_worker *workers = sli_calloc(engine->worker_count, sizeof(*workers));
    sluice_status st = SLUICE_OK;

    if (workers == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%u workers", engine->worker_count);
    }
    for (uint32_t i = 0; i < engine->worker_count && st == SLUICE_OK; i++) {
        st = details->pack.seq > 0 ? create_documents(&workers[i]) : SLUICE_OK;
    }
    if (st != SLUICE_OK) {
        collected_workers_destroy(workers, engine->worker_count);
        return st;
    }
    *workers_out = workers;
    return SLUICE_OK;
}

void collected_workers_destroy(collected_worker *workers, uint32_t count)
{
    for (uint32_t i = 0; workers != NULL && i < count; i++) {
        for (uint32_t k = 0; k < COLLECTED_PARTS_MOST; k++) {
            sli_free(workers[i].parts[k].choice.documents);
        }
    }
    sli_free(workers);
}

/* ---- candidates ------------------------------------------------------------------------------ */

collected_part *collected_first_part(collected_worker *w)
{
    return w->part_count > 0 ? &w->parts[w->first_part] : NULL;
}

void collected_find_candidate(const collected_worker *w, collected_part *part, uint32_t i)
{
    const collected_claim *claim = &part->choice.claim;

    if (w->engine->plan->details->dealing.is_stream) { /* the claim has one candidate */
        part->samples[i] = w->loader->io.item.number;
        part->passes[i] = claim->pass;
    } else {
        order_at(&w->engine->plan->details->orders.all_ranks, claim->pass, claim->position + i,
                 &part->samples[i], &part->passes[i]);
    }
}

uint32_t collected_own_number(const collected_worker *w, const collected_part *part, uint32_t i)
{
    return (part->own_row + i) % w->engine->plan->details->dealing.own_rows;
}

/* ---- rows ------------------------------------------------------------------------------------ */

void collected_count_rows(collected_worker *w)
{
    sli_engine *engine = w->engine;
    const uint64_t seq = w->seq;
    const uint32_t done = w->done;

    w->done = 0;
    if (done == 0 || !sli_queue_add_rows(engine->queue, seq, done)) {
        return;
    }
    w->seq = 0; /* the batch is complete: once published, its slot belongs to the consumer */
    if (collected_rows_drops(engine->collected, seq) && sli_queue_begin_again(engine->queue, seq)) {
        collected_rows_again(engine->collected, seq);
    } else {
        engine_publish_batch(engine, w->loader, &w->batch, seq);
    }
}

bool collected_go_to_batch(collected_worker *w, uint64_t seq)
{
    if (w->seq == seq) {
        return true;
    }
    collected_count_rows(
        w); /* before the worker sleeps: the consumer may wait for the previous batch */
    w->seq = 0;
    if (seq > atomic_load_explicit(&w->engine->control.stop_at, memory_order_relaxed) ||
        engine_acquire_batch(w->engine, w->loader, seq, &w->batch) != SLUICE_OK) {
        return false;
    }
    w->seq = seq;
    return true;
}

bool collected_write_piece(collected_worker *w, const packed_piece *piece, const void *document,
                           uint64_t sample)
{
    const uint32_t size = w->engine->plan->batch_size;
    const uint32_t number = (uint32_t)(piece->row % size);
    sample_row row;

    if (!collected_go_to_batch(w, piece->row / size + 1)) {
        return false;
    }
    atomic_store_explicit(&w->loader->report.state.seq, w->seq, memory_order_relaxed);
    engine_row_of(w->engine, &w->batch, number, &row);
    if (piece->at == 0) {
        w->batch.samples[number] = sample;
    }
    if (packed_rows_write(w->engine->packed, piece, document, &row)) {
        w->done += collected_rows_counts(w->engine->collected, w->seq, number);
    }
    return true;
}

bool collected_pad_window(collected_worker *w, uint64_t open_row, uint32_t open_at)
{
    const packed_piece piece = {
        .row = open_row, .at = open_at, .count = w->engine->plan->details->pack.seq - open_at};

    return open_row == COLLECTED_NO_ROW || collected_write_piece(w, &piece, NULL, 0);
}

void collected_write_empty(collected_worker *w, uint32_t number)
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

/* Names the stage of an error of a stream from which nothing can drop. */
static sluice_status name_failure(const collected_worker *w, sluice_status status)
{
    return w->engine->plan->details->dealing.has_choices
               ? status
               : sli_fail_quoting(status, "read: %.900s", sluice_last_error());
}

bool collected_fill_empty(collected_worker *w, const collected_claim *claim)
{
    const row_task task = {.seq = claim->seq, .number = claim->row};
    sli_error error = {SLUICE_OK, 0, ""};

    if (claim->kind == COLLECTED_FAILED) {
        sli_error_take(name_failure(w, claim->status), &error);
        if (!collected_go_to_batch(w, claim->seq)) {
            return false;
        }
        engine_fail_row(w->engine, &task, error.status, error.text);
        w->done += collected_rows_counts_failed(w->engine->collected, claim->seq);
    }
    if (!collected_pad_window(w, claim->open_row, claim->open_at) ||
        (claim->count > 0 && !collected_go_to_batch(w, claim->seq))) {
        return false;
    }
    for (uint32_t i = 0; i < claim->count && claim->kind != COLLECTED_LEFT_OUT; i++) {
        collected_write_empty(w, claim->row + i);
    }
    w->done += claim->count;
    collected_count_rows(w);
    return true;
}

void collected_own_row(const collected_worker *w, uint32_t number, sample_row *row_out)
{
    uint8_t *row =
        w->held != NULL ? w->held->bytes : w->loader->own_rows + number * w->own.slot_bytes;

    for (uint32_t i = 0; i < w->own.column_count; i++) {
        row_out->columns[i] = row + w->own.offsets[i];
    }
    row_out->flags = row + w->own.row_flags_offset;
    row_out->extent = w->own.extent;
}

/* Argument of is_resumed(): a worker that sleeps while it holds candidates. */
typedef struct collected_sleep {
    sli_engine *engine;
    const collected_claim *claim;
} collected_sleep;

static bool is_resumed(void *arg)
{
    const collected_sleep *sleep = arg;

    return !atomic_load_explicit(&sleep->engine->control.paused, memory_order_relaxed) ||
           engine_is_closed(sleep->engine) ||
           collected_rows_is_old(sleep->engine->collected, sleep->claim);
}

void collected_wait_while_paused(sli_engine *engine, const collected_claim *claim)
{
    collected_sleep sleep = {engine, claim};

    if (atomic_load_explicit(&engine->control.paused, memory_order_relaxed)) {
        sli_event_await(&engine->control.resumed, is_resumed, &sleep, -1);
    }
}
