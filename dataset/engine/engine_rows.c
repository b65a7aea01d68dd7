/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the rows of batches, and applies the error policy to bad samples. */
#include <stdio.h>
#include <string.h>

#include "engine_state.h"
#include "status_int.h"

/* Limit on the draws of replacements for one row; then the row is zeroed. */
enum { REPLACE_TRIES = 8 };

/* Marks a row without a sample. */
static const uint64_t NO_SAMPLE = UINT64_MAX;

/* A row to fill, and the sample for it. */
typedef struct row_task {
    uint64_t seq;
    uint32_t number; /* number of the row in its batch */
    uint64_t pass;
    uint64_t global_position; /* position in the pass, over all ranks */
    uint64_t sample;          /* NO_SAMPLE: padding */
    sample_row row;
} row_task;

static void row_of(const sli_engine *engine, const sli_batch *batch, uint32_t row,
                   sample_row *row_out)
{
    for (uint32_t i = 0; i < engine->layout.column_count; i++) {
        row_out->columns[i] =
            batch->data + engine->layout.offsets[i] + row * engine->layout.row_bytes[i];
    }
    row_out->flags = &batch->row_flags[row];
}

/* Zeroes a row that has no sample, and marks it so that conversion on the device leaves zeros. */
static void zero_row(const sli_engine *engine, const sample_row *row)
{
    for (uint32_t i = 0; i < engine->layout.column_count; i++) {
        memset(row->columns[i], 0, engine->layout.row_bytes[i]);
    }
    *row->flags = SLI_ROW_ZERO;
}

/* Fails the batch, and so the run: no row of a later batch is begun. */
static void fail_row(sli_engine *engine, const row_task *task, sluice_status status,
                     const char *text)
{
    uint64_t stop_at = atomic_load_explicit(&engine->stop_at, memory_order_relaxed);

    sli_queue_row_failed(engine->queue, task->seq, task->number, status, text);
    while (task->seq < stop_at &&
           !atomic_compare_exchange_weak_explicit(&engine->stop_at, &stop_at, task->seq,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

/*
 * Does the error end the run whatever the policy is? Yes, if it is a fault of the machine (out of
 * memory or file descriptors), or of user code for the whole run.
 */
static bool ends_run(const sample_loader *loader, sluice_status status)
{
    return status == SLUICE_E_NO_MEMORY || sli_fault_is_of_process(loader->fault) ||
           loader->io.ends_run;
}

static void note_failure(sli_engine *engine, const sample_loader *loader, uint64_t sample)
{
    char name[256];

    sample_name(loader, sample, name, sizeof(name));
    error_samples_note(&engine->errors, sample, name, loader->stage, sluice_last_error());
}

/*
 * Replaces a failed sample by a random one of all ranks. If REPLACE_TRIES draws fail, returns the
 * last error.
 */
static sluice_status replace_sample(sli_engine *engine, sample_loader *loader, row_task *task)
{
    const struct plan_details *details = engine->plan->details;
    const sli_draws draws = {details->replace_key, task->global_position, task->pass};
    const sample_order *all = &details->all_ranks;
    sluice_status st = SLUICE_E_INVALID;

    for (uint32_t try = 0; try < REPLACE_TRIES; try++) {
        uint64_t sample_pass;
        uint32_t bits[4];

        sli_draw(&draws, try, bits);
        order_at(all, task->pass, ((uint64_t)bits[0] << 32 | bits[1]) % all->length, &task->sample,
                 &sample_pass);
        st = sample_load(loader, task->sample, sample_pass, &task->row);
        if (st == SLUICE_OK || ends_run(loader, st)) {
            break;
        }
        note_failure(engine, loader, task->sample);
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
    const uint64_t length = plan->details->order.length;
    const uint64_t rows = length < most ? length : most;
    char all[SLI_ERROR_SIZE];

    zero_row(engine, &task->row);
    atomic_fetch_add_explicit(&engine->errors.zeroed, 1, memory_order_relaxed);
    if (task->pass == engine->first_whole_pass &&
        atomic_fetch_add_explicit(&engine->errors.zeroed_in_pass, 1, memory_order_relaxed) + 1 ==
            rows) {
        snprintf(all, sizeof(all),
                 "no valid data in the dataset: not one sample of a whole pass could be used; the "
                 "last: %.700s",
                 text);
        fail_row(engine, task, SLUICE_E_INVALID, all);
    }
}

static void add_policy_advice(char *text, size_t size)
{
    const size_t length = strlen(text);

    snprintf(text + length, size - length,
             "; on_error replace or zero goes on without such samples");
}

static void bad_sample(sli_engine *engine, sample_loader *loader, row_task *task,
                       sluice_status status)
{
    const sli_error_policy policy = engine->plan->settings.on_error;
    const uint64_t own_sample = task->sample;
    char text[SLI_ERROR_SIZE];

    sample_failure_text(loader, task->sample, text, sizeof(text));
    if (!ends_run(loader, status)) {
        note_failure(engine, loader, task->sample);
        if (policy == SLI_ON_ERROR_REPLACE) {
            status = replace_sample(engine, loader, task);
            if (status == SLUICE_OK) {
                atomic_fetch_add_explicit(&engine->errors.replaced, 1, memory_order_relaxed);
                return;
            }
            sample_failure_text(loader, task->sample, text, sizeof(text));
            task->sample = own_sample;
        }
    }
    if (ends_run(loader, status)) {
        status = sli_fail(status, "%s", text);
        fail_row(engine, task, status, sluice_last_error());
    } else if (policy == SLI_ON_ERROR_FAIL) {
        if (status != SLUICE_E_INVALID) { /* with E_INVALID the pipeline itself is wrong */
            add_policy_advice(text, sizeof(text));
        }
        atomic_store_explicit(&engine->errors.failed, 1, memory_order_relaxed);
        fail_row(engine, task, status, text);
    } else {
        zero_bad_row(engine, task, text);
    }
}

/*
 * Finds the sample for a row. task->sample is NO_SAMPLE for padding after the end of a pass, and
 * for an abandoned batch. Returns the pass that keys the sample's random numbers.
 */
static uint64_t locate_row(const sli_engine *engine, uint64_t seq, uint32_t row, row_task *task)
{
    const sli_plan *plan = engine->plan;
    uint64_t sample_pass = 0;
    batch_span span;
    uint64_t position;
    uint64_t number;

    if (!engine_batch(engine, seq, &number)) {
        *task = (row_task){.seq = seq, .number = row, .sample = NO_SAMPLE};
        return 0;
    }
    plan_locate(plan, number, &span);
    position = span.first + row;
    *task = (row_task){.seq = seq, .number = row, .pass = span.pass, .sample = NO_SAMPLE};
    task->global_position = span.done + position * plan->settings.world + plan->settings.rank;
    if (position < span.length) {
        order_at(span.order, span.pass, position, &task->sample, &sample_pass);
    }
    return sample_pass;
}

bool engine_sample_at(const sli_engine *engine, uint64_t seq, uint32_t row, uint64_t *sample_out)
{
    row_task task;

    (void)locate_row(engine, seq, row, &task);
    *sample_out = task.sample;
    return task.sample != NO_SAMPLE;
}

void engine_fill_row(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                     uint64_t seq, uint32_t row_number)
{
    row_task task;
    const uint64_t sample_pass = locate_row(engine, seq, row_number, &task);
    sluice_status st;

    row_of(engine, batch, row_number, &task.row);
    if (task.sample == NO_SAMPLE) {
        zero_row(engine, &task.row);
    } else {
        st = sample_load(loader, task.sample, sample_pass, &task.row);
        readahead_was_read(engine->ahead, loader->read_ticks, loader->read_bytes);
        if (st != SLUICE_OK) {
            bad_sample(engine, loader, &task, st);
        }
    }
    batch->samples[row_number] = task.sample;
}

void engine_fill_claimed(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                         const stream_claim *claim)
{
    row_task task = {.seq = claim->seq,
                     .number = claim->row,
                     .pass = claim->pass,
                     .global_position = claim->position,
                     .sample = NO_SAMPLE};
    sluice_status st;

    row_of(engine, batch, claim->row, &task.row);
    if (claim->kind == STREAM_SAMPLE) {
        task.sample = claim->sample;
        st = sample_load(loader, task.sample, task.pass, &task.row);
        if (st != SLUICE_OK) {
            bad_sample(engine, loader, &task, st);
        }
    } else {
        zero_row(engine, &task.row);
    }
    if (claim->kind == STREAM_FAILED) {
        st = sli_fail(claim->status, "read: %.900s", sluice_last_error());
        fail_row(engine, &task, st, sluice_last_error());
    }
    batch->samples[claim->row] = task.sample;
}
