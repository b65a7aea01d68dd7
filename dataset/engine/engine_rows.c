/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the rows of batches, and applies the error policy to bad samples. */
#include <stdio.h>
#include <string.h>

#include "engine_state.h"
#include "sample_filters.h"
#include "sample_reading.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

/* Limit on the draws of replacements for one row; then the row is zeroed. */
enum { REPLACE_TRIES = 8 };

void engine_row_of(const sli_engine *engine, const sli_batch *batch, uint32_t row,
                   sample_row *row_out)
{
    const sli_layout *layout = &engine->layout;

    for (uint32_t i = 0; i < layout->column_count; i++) {
        row_out->columns[i] = batch->data + sli_layout_offset(layout, i, batch->extent) +
                              row * sli_layout_row(layout, i, batch->extent);
    }
    row_out->flags = &batch->row_flags[row];
    row_out->extent = batch->extent;
}

void engine_zero_row(const sli_engine *engine, const sample_row *row)
{
    for (uint32_t i = 0; i < engine->layout.column_count; i++) {
        memset(row->columns[i], 0, sli_layout_row(&engine->layout, i, row->extent));
    }
    *row->flags = SLI_ROW_ZERO;
}

void engine_fail_row(sli_engine *engine, const row_task *task, sluice_status status,
                     const char *text)
{
    uint64_t stop_at = atomic_load_explicit(&engine->control.stop_at, memory_order_relaxed);

    sli_queue_row_failed(engine->queue, task->seq, task->number, status, text);
    while (task->seq < stop_at &&
           !atomic_compare_exchange_weak_explicit(&engine->control.stop_at, &stop_at, task->seq,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

void engine_note_failure(sli_engine *engine, sample_loader *loader, uint64_t sample)
{
    char name[256];

    if (sli_is_interrupted()) {
        return; /* the sample was abandoned, or is not read */
    }
    if (loader->last.is_noted) {
        loader->last.is_noted = false;
        return;
    }
    sample_name(loader, sample, name, sizeof(name));
    error_samples_note(&engine->errors, sample, name, loader->last.stage, sluice_last_error());
}

/* Loads the sample of a row if the filters keep it and, with bucket, if it is in the row's bucket;
 * else sets loader->last.dropped. */
static sluice_status load_if_kept(sample_loader *loader, const row_task *task, uint64_t pass)
{
    const bool tests_first = loader->plan->details->dealing.tests_first;
    const sluice_status st = tests_first
                                 ? sample_test(loader, task->sample, pass, &task->row)
                                 : sample_load_filtered(loader, task->sample, pass, &task->row);

    loader->last.dropped = loader->last.dropped || loader->last.bucket != task->bucket;
    return st == SLUICE_OK && tests_first && !loader->last.dropped
               ? sample_load(loader, task->sample, pass, &task->row)
               : st;
}

/*
 * Replaces a failed candidate by the next candidate of the pass that the filters keep. The turns of
 * samples do not change, since only this row is affected. If REPLACE_TRIES replacements fail,
 * returns the last error. CLOSED: the engine stops, and the row will not be read.
 */
static sluice_status replace_by_next(sli_engine *engine, sample_loader *loader, row_task *task)
{
    const sample_order *all = &engine->plan->details->orders.all_ranks;
    uint32_t tries = 0;
    sluice_status st = SLUICE_OK;

    for (uint64_t i = 1; i < all->length && tries < REPLACE_TRIES; i++) {
        uint64_t sample_pass;

        if (engine_is_closed(engine)) {
            return SLUICE_CLOSED;
        }
        order_at(all, task->pass, (task->global_position + i) % all->length, &task->sample,
                 &sample_pass);
        st = load_if_kept(loader, task, sample_pass);
        if (st == SLUICE_OK && loader->last.dropped) {
            continue;
        }
        if (st == SLUICE_OK || sample_ends_run(loader, st)) {
            return st;
        }
        engine_note_failure(engine, loader, task->sample);
        tries++;
    }
    return tries > 0 ? st : sli_fail(SLUICE_E_CORRUPT, "filters keep no other sample of the pass");
}

/*
 * Replaces a failed sample by a random one of all ranks. If REPLACE_TRIES draws fail, returns the
 * last error.
 */
static sluice_status replace_sample(sli_engine *engine, sample_loader *loader, row_task *task)
{
    const struct plan_details *details = engine->plan->details;
    const sli_draws draws = {details->orders.replace_key, task->global_position, task->pass};
    const sample_order *all = &details->orders.all_ranks;
    sluice_status st = SLUICE_E_INVALID;

    if (details->dealing.has_choices) {
        return replace_by_next(engine, loader, task);
    }
    for (uint32_t try = 0; try < REPLACE_TRIES; try++) {
        uint64_t sample_pass;
        uint32_t bits[4];

        sli_draw(&draws, try, bits);
        order_at(all, task->pass, ((uint64_t)bits[0] << 32 | bits[1]) % all->length, &task->sample,
                 &sample_pass);
        st = sample_load(loader, task->sample, sample_pass, &task->row);
        if (st == SLUICE_OK || sample_ends_run(loader, st) || sli_is_interrupted()) {
            break;
        }
        engine_note_failure(engine, loader, task->sample);
    }
    return st;
}

/*
 * Zeroes a row. Once all rows of the first whole pass of the run are zeroed, the run fails: the
 * dataset has no usable sample.
 */
static void zero_bad_row(sli_engine *engine, const row_task *task, const char *text)
{
    const sli_plan *plan = engine->plan;
    const uint64_t most = plan->batches_per_pass * plan->batch_size;
    const uint64_t length = plan->details->orders.rank.length;
    const uint64_t rows = length < most ? length : most;
    char all[SLI_ERROR_SIZE];

    engine_zero_row(engine, &task->row);
    atomic_fetch_add_explicit(&engine->errors.zeroed, 1, memory_order_relaxed);
    if (task->pass == engine->first_whole_pass &&
        atomic_fetch_add_explicit(&engine->errors.zeroed_in_pass, 1, memory_order_relaxed) + 1 ==
            rows) {
        snprintf(all, sizeof(all),
                 "no valid data in the dataset: not one sample of a whole pass could be used; the "
                 "last: %.700s",
                 text);
        engine_fail_row(engine, task, SLUICE_E_INVALID, all);
    }
}

static void add_policy_advice(char *text, size_t size)
{
    const size_t length = strlen(text);

    snprintf(text + length, size - length,
             "; on_error replace or zero continues without such samples");
}

void engine_bad_sample(sli_engine *engine, sample_loader *loader, row_task *task,
                       sluice_status status)
{
    const sli_error_policy policy = engine->plan->settings.on_error;
    const uint64_t own_sample = task->sample;
    char text[SLI_ERROR_SIZE];

    if (sli_is_interrupted()) {
        return; /* the row will not be read */
    }
    sample_failure_text(loader, task->sample, text, sizeof(text));
    if (!sample_ends_run(loader, status)) {
        engine_note_failure(engine, loader, task->sample);
        if (engine->plan->details->dealing.replaces_in_batch) {
            engine_zero_row(engine, &task->row); /* replaced once its batch is complete */
            return;
        }
        if (policy == SLI_ON_ERROR_REPLACE) {
            status = replace_sample(engine, loader, task);
            if (status == SLUICE_OK) {
                atomic_fetch_add_explicit(&engine->errors.replaced, 1, memory_order_relaxed);
                return;
            }
            if (sli_is_interrupted()) {
                return;
            }
            sample_failure_text(loader, task->sample, text, sizeof(text));
            task->sample = own_sample;
        }
    }
    if (sample_ends_run(loader, status)) {
        status = sli_fail(status, "%s", text);
        engine_fail_row(engine, task, status, sluice_last_error());
    } else if (policy == SLI_ON_ERROR_FAIL) {
        if (status != SLUICE_E_INVALID) { /* with E_INVALID the pipeline itself is wrong */
            add_policy_advice(text, sizeof(text));
        }
        atomic_store_explicit(&engine->errors.failed, 1, memory_order_relaxed);
        engine_fail_row(engine, task, status, text);
    } else {
        zero_bad_row(engine, task, text);
    }
}

/* Returns the error that ends the run because of a bad sample. OK: by the error policy the run
 * continues. */
static sluice_status end_or_go_on(sli_engine *engine, const sample_loader *loader,
                                  sluice_status status, char *text, size_t size)
{
    if (sample_ends_run(loader, status)) {
        return sli_fail(status, "%s", text);
    }
    if (engine->plan->settings.on_error != SLI_ON_ERROR_FAIL) {
        return SLUICE_OK;
    }
    add_policy_advice(text, size);
    atomic_store_explicit(&engine->errors.failed, 1, memory_order_relaxed);
    return sli_fail(status, "%s", text);
}

sluice_status engine_bad_item(sli_engine *engine, sample_loader *loader, const row_task *task,
                              sluice_status status)
{
    char text[SLI_ERROR_SIZE];

    if (sli_is_interrupted()) {
        return SLUICE_OK; /* nothing will be read */
    }
    sample_failure_text(loader, task->sample, text, sizeof(text));
    if (!sample_ends_run(loader, status)) {
        engine_note_failure(engine, loader, task->sample);
    }
    return end_or_go_on(engine, loader, status, text, sizeof(text));
}

sluice_status engine_bad_document(sli_engine *engine, sample_loader *loader, row_task *task,
                                  sluice_status status, bool *is_left_out)
{
    const bool replaces = engine->plan->settings.on_error == SLI_ON_ERROR_REPLACE;
    const bool is_stream = engine->plan->details->dealing.is_stream;
    char text[SLI_ERROR_SIZE];

    *is_left_out = true;
    if (sli_is_interrupted()) {
        return SLUICE_OK; /* nothing will be read */
    }
    sample_failure_text(loader, task->sample, text, sizeof(text));
    if (!sample_ends_run(loader, status)) {
        engine_note_failure(engine, loader, task->sample);
        if (replaces && !is_stream) {
            status = replace_by_next(engine, loader, task);
            if (status == SLUICE_OK) {
                atomic_fetch_add_explicit(&engine->errors.replaced, 1, memory_order_relaxed);
                *is_left_out = false;
                return SLUICE_OK;
            }
            if (sli_is_interrupted()) {
                return SLUICE_OK;
            }
            sample_failure_text(loader, task->sample, text, sizeof(text));
        }
    }
    status = end_or_go_on(engine, loader, status, text, sizeof(text));
    if (status == SLUICE_OK) {
        /* Of a stream the next document takes its place. */
        atomic_fetch_add_explicit(replaces && is_stream ? &engine->errors.replaced
                                                        : &engine->errors.zeroed,
                                  1, memory_order_relaxed);
    }
    return status;
}

/*
 * Finds the sample for a row. task->sample is ENGINE_NO_SAMPLE for padding after the end of a pass,
 * and for an abandoned batch. Returns the pass that keys the sample's random numbers.
 */
static uint64_t locate_row(const sli_engine *engine, uint64_t seq, uint32_t row, row_task *task)
{
    const sli_plan *plan = engine->plan;
    uint64_t sample_pass = 0;
    batch_span span;
    uint64_t position;
    uint64_t number;

    if (!engine_batch(engine, seq, &number)) {
        *task = (row_task){.seq = seq, .number = row, .sample = ENGINE_NO_SAMPLE};
        return 0;
    }
    plan_locate(plan, number, &span);
    position = span.first + row;
    *task = (row_task){.seq = seq, .number = row, .pass = span.pass, .sample = ENGINE_NO_SAMPLE};
    task->global_position = span.done + position * plan->settings.world + plan->settings.rank;
    if (position < span.length) {
        order_at(span.order, span.pass, position, &task->sample, &sample_pass);
    }
    return sample_pass;
}

bool engine_sample_at(const sli_engine *engine, uint64_t seq, uint32_t row, uint32_t tile,
                      uint64_t *sample_out)
{
    const plan_mosaic *mosaic = &engine->plan->details->geometry.mosaic;
    row_task task;
    const uint64_t sample_pass = locate_row(engine, seq, row, &task);

    *sample_out = task.sample;
    if (tile > 0 && task.sample != ENGINE_NO_SAMPLE) {
        const dataset_stage *stage = mosaic->planned->stage;
        const sli_draws draws = {mosaic->planned->key, task.sample, sample_pass};
        uint64_t pass;

        plan_draw_tile(engine->plan, &draws, task.pass, tile, 0, sample_out, &pass);
        return stage->def->geometry->tiles->shows(stage->args.bytes, &draws, tile);
    }
    return task.sample != ENGINE_NO_SAMPLE;
}

void engine_fill_row(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                     uint64_t seq, uint32_t row_number)
{
    row_task task;
    const uint64_t sample_pass = locate_row(engine, seq, row_number, &task);
    sluice_status st;

    engine_row_of(engine, batch, row_number, &task.row);
    if (task.sample == ENGINE_NO_SAMPLE) {
        engine_zero_row(engine, &task.row);
    } else {
        sample_set_pass(loader, task.pass);
        st = sample_load(loader, task.sample, sample_pass, &task.row);
        readahead_was_read(engine->ahead, loader->last.read_ticks, loader->last.read_bytes);
        if (st != SLUICE_OK) {
            engine_bad_sample(engine, loader, &task, st);
        }
    }
    batch->samples[row_number] = task.sample;
}
