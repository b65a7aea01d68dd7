/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_worker.h"

#include <string.h>

#include "error_int.h"
#include "sample_filters.h"
#include "thread_interrupt_int.h"

/*
 * A sample is loaded with the declared shape of its columns, so its ragged columns are loaded into
 * the worker's private row first, and the entries of the batch's extent are copied.
 */
static void use_own_ragged(const collected_worker *w, sample_row *row)
{
    sample_row own;

    collected_own_row(w, 0, &own);
    for (uint32_t i = 0; i < w->own.column_count; i++) {
        row->columns[i] = w->own.entry_bytes[i] > 0 ? own.columns[i] : row->columns[i];
    }
}

/* Copies the ragged columns of a loaded sample from the private row. */
static void copy_ragged(collected_worker *w, const row_task *task)
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
static void load_row(collected_worker *w, const bucket_row *from, uint32_t number)
{
    const sli_plan *plan = w->engine->plan;
    const sample_order *all = &plan->details->orders.all_ranks;
    row_task task = {.seq = w->seq,
                     .number = number,
                     .pass = plan->begin.pass + from->candidate / all->length,
                     .global_position = from->candidate % all->length,
                     .bucket = from->bucket};
    uint64_t sample_pass;
    sluice_status st;

    order_at(all, task.pass, task.global_position, &task.sample, &sample_pass);
    engine_row_of(w->engine, &w->batch, number, &task.row);
    if (w->own.extent > 0) {
        use_own_ragged(w, &task.row);
    }
    st = sample_load(w->loader, task.sample, sample_pass, &task.row);
    if (st != SLUICE_OK) {
        engine_bad_sample(w->engine, w->loader, &task, st);
    }
    if (w->own.extent > 0) {
        copy_ragged(w, &task);
    }
    w->batch.samples[number] = task.sample;
}

/* ---- samples of a stream --------------------------------------------------------------------- */

/* Loads a candidate into the worker's private row, or applies the error policy. */
static sluice_status load_held(collected_worker *w, collected_part *part)
{
    const collected_claim *claim = &part->choice.claim;
    sample_loader *loader = w->loader;
    row_task task = {.pass = claim->pass, .global_position = claim->position};
    bool is_zero = false;
    sluice_status st;

    if (w->held == NULL) {
        w->held = collected_rows_hold(w->engine->collected);
    }
    if (w->held == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the samples of the buckets");
    }
    collected_find_candidate(w, part, 0);
    collected_own_row(w, 0, &task.row);
    task.sample = w->held->sample = part->samples[0];
    st = sample_load_filtered(loader, task.sample, part->passes[0], &task.row);
    if (st != SLUICE_OK) {
        st = engine_bad_item(w->engine, loader, &task, st);
        is_zero = true;
    }
    if (is_zero) {
        engine_zero_row(w->engine, &task.row);
    }
    part->choice.keeps[0] = st == SLUICE_OK && (is_zero || !loader->last.dropped);
    part->choice.buckets[0] = is_zero ? 0 : (uint8_t)loader->last.bucket;
    return st;
}

void collected_load_held(collected_worker *w, collected_part *part)
{
    if (part->choice.claim.count > 0) {
        const sluice_status st = load_held(w, part);

        if (st != SLUICE_OK) {
            sli_error_take(st, &w->error);
            part->choice.error = &w->error;
        }
    }
}

/* Copies a sample that has waited in its bucket into a row. */
static void copy_held(collected_worker *w, held_row *held, uint32_t number)
{
    const sli_layout *layout = &w->engine->layout;
    sample_row to;

    engine_row_of(w->engine, &w->batch, number, &to);
    for (uint32_t i = 0; i < layout->column_count; i++) {
        memcpy(to.columns[i], held->bytes + w->own.offsets[i],
               sli_layout_row(layout, i, w->batch.extent));
    }
    *to.flags = held->bytes[w->own.row_flags_offset];
    /* One that a stop has abandoned is zero, too. */
    if ((*to.flags & SLI_ROW_ZERO) != 0 && !w->engine->plan->details->dealing.replaces_in_batch &&
        !sli_is_interrupted()) {
        atomic_fetch_add_explicit(&w->engine->errors.zeroed, 1, memory_order_relaxed);
    }
    w->batch.samples[number] = held->sample;
    collected_rows_release(w->engine->collected, held);
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool collected_write_bucket_rows(collected_worker *w, const collected_claim *claim)
{
    collected_wait_while_paused(w->engine, claim);
    if (!collected_go_to_batch(w, claim->seq)) {
        return false;
    }
    atomic_store_explicit(&w->loader->report.state.seq, w->seq, memory_order_relaxed);
    w->batch.extent = w->engine->plan->details->bucket.extents[w->bucket_rows[0].bucket];
    for (uint32_t i = 0; i < claim->count; i++) {
        if (w->bucket_rows[i].candidate == COLLECTED_NO_CANDIDATE) {
            collected_write_empty(w, claim->row + i);
        } else if (w->bucket_rows[i].held != NULL) {
            copy_held(w, w->bucket_rows[i].held, claim->row + i);
        } else {
            load_row(w, &w->bucket_rows[i], claim->row + i);
        }
    }
    w->done += claim->count;
    collected_count_rows(w);
    return true;
}
