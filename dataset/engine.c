/* SPDX-License-Identifier: Apache-2.0 */
#include "engine_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "error_samples.h"
#include "event_int.h"
#include "log_int.h"
#include "range_int.h"
#include "readahead.h"
#include "sample_run.h"

/* Draws of a replacement before a row is left zero. */
enum { REPLACE_TRIES = 8 };

/* No sample stands at a row. */
static const uint64_t NO_SAMPLE = UINT64_MAX;

struct sli_engine {
    const sli_plan *plan;
    sli_queue *queue;
    sli_profile *profile;
    sli_layout layout;
    uint64_t batches;
    uint64_t first_whole_pass; /* the first that this run goes through from its beginning */
    uint32_t worker_count;
    sample_runner *runners;
    sample_stream *stream; /* NULL: samples are read by their numbers */
    sli_worker_pool *pool;
    readahead *ahead;    /* NULL: none */
    _Atomic bool paused; /* no row is begun; read for each row, so beside what does not change */
    sli_event resumed;   /* paused or stop_at has changed */
    error_samples errors;
    _Alignas(64) _Atomic uint64_t next_row; /* rows given out, over all batches */
    _Atomic uint64_t stop_at;               /* no row of a later batch is begun */
};

/* A row to be filled, and what it is filled with. */
typedef struct row_task {
    uint64_t seq;
    uint32_t number; /* of the row in its batch */
    uint64_t pass;
    uint64_t global_position; /* in the pass, over all ranks */
    uint64_t sample;          /* NO_SAMPLE: none */
    sample_row row;
} row_task;

/* ---- one row --------------------------------------------------------------------------------- */

static void row_of(const sli_engine *engine, const sli_batch *batch, uint32_t row,
                   sample_row *row_out)
{
    for (uint32_t i = 0; i < engine->layout.column_count; i++) {
        row_out->columns[i] =
            batch->data + engine->layout.offsets[i] + row * engine->layout.row_bytes[i];
    }
    row_out->flags = &batch->row_flags[row];
}

/* Nobody's row: zeros, also after the device has converted it. */
static void zero_row(const sli_engine *engine, const sample_row *row)
{
    for (uint32_t i = 0; i < engine->layout.column_count; i++) {
        memset(row->columns[i], 0, engine->layout.row_bytes[i]);
    }
    *row->flags = SLI_ROW_ZERO;
}

/* Fails the batch, and with it the run: rows of later batches are not begun any more. */
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

static void note_failure(sli_engine *engine, const sample_runner *runner, uint64_t sample)
{
    char name[256];

    sample_name(runner, sample, name, sizeof(name));
    error_samples_note(&engine->errors, sample, name, runner->stage, sluice_last_error());
}

/* Another sample of the whole set in place of one that failed; the last error when none was found
 * in so many tries. */
static sluice_status replace(sli_engine *engine, sample_runner *runner, row_task *task)
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
        st = sample_run(runner, task->sample, sample_pass, &task->row);
        if (st == SLUICE_OK || st == SLUICE_E_NO_MEMORY) {
            break;
        }
        note_failure(engine, runner, task->sample);
    }
    return st;
}

/* Leaves the row without a sample. In the first whole pass of the run these rows are counted: when
 * it had no others, going on would be training on nothing. */
static void leave_zero(sli_engine *engine, const row_task *task, const char *text)
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

static void bad_sample(sli_engine *engine, sample_runner *runner, row_task *task,
                       sluice_status status)
{
    const sli_error_policy policy = engine->plan->settings.on_error;
    const uint64_t own_sample = task->sample;
    char text[SLI_ERROR_SIZE];

    sample_describe_failure(runner, task->sample, text, sizeof(text));
    if (status != SLUICE_E_NO_MEMORY) {
        note_failure(engine, runner, task->sample);
    }
    if (status != SLUICE_E_NO_MEMORY && policy == SLI_ON_ERROR_REPLACE) {
        status = replace(engine, runner, task);
        if (status == SLUICE_OK) {
            atomic_fetch_add_explicit(&engine->errors.replaced, 1, memory_order_relaxed);
            return;
        }
        sample_describe_failure(runner, task->sample, text, sizeof(text));
        task->sample = own_sample;
    }
    if (status == SLUICE_E_NO_MEMORY) {
        fail_row(engine, task, status, text); /* no fault of the sample */
    } else if (policy == SLI_ON_ERROR_FAIL) {
        atomic_store_explicit(&engine->errors.failed, 1, memory_order_relaxed);
        fail_row(engine, task, status, text);
    } else {
        leave_zero(engine, task, text);
    }
}

/* Finds what is to stand at a row of the run; task->sample is NO_SAMPLE for padding past the end of
 * a pass. Returns the pass that the sample's random numbers belong to. */
static uint64_t locate_row(const sli_engine *engine, uint64_t seq, uint32_t row, row_task *task)
{
    const sli_plan *plan = engine->plan;
    uint64_t sample_pass = 0;
    batch_place place;
    uint64_t position;

    plan_locate(plan, seq - 1, &place);
    position = place.first + row;
    *task = (row_task){.seq = seq, .number = row, .pass = place.pass, .sample = NO_SAMPLE};
    task->global_position = place.done + position * plan->settings.world + plan->settings.rank;
    if (position < place.length) {
        order_at(place.order, place.pass, position, &task->sample, &sample_pass);
    }
    return sample_pass;
}

/* Fills one row of a batch: a sample, or padding. */
static void fill_row(sli_engine *engine, sample_runner *runner, const sli_batch *batch,
                     uint64_t seq, uint32_t row_number)
{
    row_task task;
    const uint64_t sample_pass = locate_row(engine, seq, row_number, &task);
    sluice_status st;

    row_of(engine, batch, row_number, &task.row);
    if (task.sample == NO_SAMPLE) {
        zero_row(engine, &task.row);
    } else {
        st = sample_run(runner, task.sample, sample_pass, &task.row);
        readahead_was_read(engine->ahead, runner->read_ticks, runner->read_bytes);
        if (st != SLUICE_OK) {
            bad_sample(engine, runner, &task, st);
        }
    }
    batch->samples[row_number] = task.sample;
}

/* ---- batches ----------------------------------------------------------------------------------
 */

static void publish(sli_engine *engine, sample_runner *runner, const sli_batch *batch, uint64_t seq)
{
    const sli_plan *plan = engine->plan;
    const uint64_t start = sli_ticks();
    batch_place place;
    uint64_t rows;

    plan_locate(plan, seq - 1, &place);
    rows = place.length > place.first ? place.length - place.first : 0;
    rows = rows < plan->batch_size ? rows : plan->batch_size;
    memset(batch->header, 0, sizeof(*batch->header));
    batch->header->position = place.done + place.first * plan->settings.world;
    batch->header->pass = place.pass;
    batch->header->first_sample = batch->samples[0];
    batch->header->valid_rows = (uint32_t)rows;
    sli_range_begin(plan->stage_names[PLAN_BATCH]);
    sli_queue_publish(engine->queue, seq);
    sli_range_end();
    sli_counters_item(runner->counters[PLAN_BATCH], sli_ticks() - start, engine->layout.slot_bytes);
}

/* Waits for the slot of a batch; the time goes to the stage that would have begun. */
static sluice_status acquire(sli_engine *engine, sample_runner *runner, uint64_t seq,
                             sli_batch *batch)
{
    sluice_status st = sli_queue_acquire(engine->queue, seq, 0, batch);

    if (st == SLUICE_TIMEOUT) {
        uint64_t start = sli_ticks();

        st = sli_queue_acquire(engine->queue, seq, -1, batch);
        sli_counter_add(&runner->counters[PLAN_READ]->wait_room_ticks, sli_ticks() - start);
    }
    return st;
}

static bool may_go_on(void *arg)
{
    sli_engine *engine = arg;

    return !atomic_load_explicit(&engine->paused, memory_order_relaxed) ||
           atomic_load_explicit(&engine->stop_at, memory_order_relaxed) == 0;
}

/* Sleeps while the engine is paused; false when it was stopped meanwhile. */
static bool wait_while_paused(sli_engine *engine)
{
    sli_event_await(&engine->resumed, may_go_on, engine, -1);
    return atomic_load_explicit(&engine->stop_at, memory_order_relaxed) > 0;
}

/* One claim of a worker; false when it has nothing more to do. */
static bool work_once(sli_engine *engine, sample_runner *runner)
{
    const uint32_t batch_size = engine->plan->batch_size;
    uint64_t claim = atomic_fetch_add_explicit(&engine->next_row, 1, memory_order_relaxed);
    uint64_t seq = claim / batch_size + 1;
    uint32_t row = (uint32_t)(claim % batch_size);
    sli_batch batch;

    if (seq > atomic_load_explicit(&engine->stop_at, memory_order_relaxed)) {
        return false;
    }
    readahead_claimed(engine->ahead, claim);
    if (seq > engine->batches) {
        if (seq == engine->batches + 1 && row == 0 &&
            acquire(engine, runner, seq, &batch) == SLUICE_OK) {
            sli_queue_publish_end(engine->queue, seq);
        }
        return false;
    }
    if (acquire(engine, runner, seq, &batch) != SLUICE_OK) {
        return false;
    }
    /* Behind the wait for room: who slept there through the pause has not read its row yet. */
    if (atomic_load_explicit(&engine->paused, memory_order_relaxed) && !wait_while_paused(engine)) {
        return false;
    }
    fill_row(engine, runner, &batch, seq, row);
    if (sli_queue_row_done(engine->queue, seq)) {
        publish(engine, runner, &batch, seq);
    }
    return true;
}

/* Fills one row of a batch with what was claimed for it. */
static void fill_claimed(sli_engine *engine, sample_runner *runner, const sli_batch *batch,
                         const stream_claim *claim)
{
    row_task task = {.seq = claim->seq,
                     .number = claim->row,
                     .pass = claim->pass,
                     .global_position = claim->position,
                     .sample = NO_SAMPLE};
    char text[SLI_ERROR_SIZE];
    sluice_status st;

    row_of(engine, batch, claim->row, &task.row);
    if (claim->kind == STREAM_SAMPLE) {
        task.sample = claim->sample;
        st = sample_run(runner, task.sample, task.pass, &task.row);
        if (st != SLUICE_OK) {
            bad_sample(engine, runner, &task, st);
        }
    } else {
        zero_row(engine, &task.row);
    }
    if (claim->kind == STREAM_FAILED) {
        snprintf(text, sizeof(text), "read: %.900s", sluice_last_error());
        fail_row(engine, &task, claim->status, text);
    }
    batch->samples[claim->row] = task.sample;
}

/* The same as work_once(), where the claim and the sample's bytes come together. */
static bool work_on_stream(sli_engine *engine, sample_runner *runner)
{
    stream_claim claim;
    sli_batch batch;

    sample_take(runner, engine->stream, &claim);
    if (claim.kind == STREAM_NOTHING ||
        claim.seq > atomic_load_explicit(&engine->stop_at, memory_order_relaxed) ||
        acquire(engine, runner, claim.seq, &batch) != SLUICE_OK) {
        return false;
    }
    if (claim.kind == STREAM_END) {
        sli_queue_publish_end(engine->queue, claim.seq);
        return false;
    }
    if (atomic_load_explicit(&engine->paused, memory_order_relaxed) && !wait_while_paused(engine)) {
        return false;
    }
    fill_claimed(engine, runner, &batch, &claim);
    if (sli_queue_row_done(engine->queue, claim.seq)) {
        if (sample_stream_drops(engine->stream, claim.seq) &&
            sli_queue_begin_again(engine->queue, claim.seq)) {
            sample_stream_again(engine->stream, claim.seq);
        } else {
            publish(engine, runner, &batch, claim.seq);
        }
    }
    return true;
}

static void worker_main(void *arg, uint32_t worker)
{
    sli_engine *engine = arg;
    bool (*work)(sli_engine *, sample_runner *) =
        engine->stream != NULL ? work_on_stream : work_once;

    while (work(engine, &engine->runners[worker])) {
    }
}

/* ---- readahead --------------------------------------------------------------------------------
 */

/* What readahead finds at a row. */
static readahead_row row_ahead(void *arg, uint64_t row, uint64_t *sample_out)
{
    const sli_engine *engine = arg;
    const uint64_t seq = row / engine->plan->batch_size + 1;
    row_task task;

    if (seq > engine->batches ||
        seq > atomic_load_explicit(&engine->stop_at, memory_order_relaxed)) {
        return READAHEAD_END;
    }
    if (atomic_load_explicit(&engine->paused, memory_order_relaxed)) {
        return READAHEAD_WAIT;
    }
    (void)locate_row(engine, seq, (uint32_t)(row % engine->plan->batch_size), &task);
    *sample_out = task.sample;
    return task.sample == NO_SAMPLE ? READAHEAD_NOTHING : READAHEAD_SAMPLE;
}

/* Is it switched off by hand? */
static bool readahead_is_off(void)
{
    const char *value = getenv("SLUICE_READAHEAD");
    const bool off = value != NULL && strcmp(value, "off") == 0;

    if (value != NULL && value[0] != '\0') {
        sli_log(SLUICE_LOG_WARN, "SLUICE_READAHEAD=%.40s: %s", value,
                off ? "no readahead" : "want off; readahead as needed");
    }
    return off;
}

static sluice_status start_readahead(sli_engine *engine, const sli_placement *placement)
{
    const sluice_dataset *dataset = engine->plan->dataset;
    const readahead_config config = {.ops = dataset_source(dataset),
                                     .source = dataset->source,
                                     .placement = placement,
                                     .claimed = &engine->next_row,
                                     .row = row_ahead,
                                     .arg = engine,
                                     .fetch = page_cache_fetch};

    return config.ops->locate == NULL || readahead_is_off()
               ? SLUICE_OK
               : readahead_start(&config, &engine->ahead);
}

/* ---- starting and stopping ----------------------------------------------------------------------
 */

static sluice_status make_runners(sli_engine *engine)
{
    engine->runners = sli_calloc(engine->worker_count, sizeof(*engine->runners));
    if (engine->runners == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%u workers", engine->worker_count);
    }
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        sluice_status st = sample_runner_init(&engine->runners[i], engine->plan);

        if (st != SLUICE_OK) {
            return st;
        }
        for (uint32_t stage = 0; stage < PLAN_PROFILED; stage++) {
            engine->runners[i].counters[stage] = sli_profile_cell(engine->profile, stage, i);
        }
    }
    return SLUICE_OK;
}

sluice_status sli_engine_start(const sli_engine_config *config, sli_engine **engine_out)
{
    sli_engine *engine = sli_aligned_alloc(64, sizeof(*engine));
    sluice_status st;

    if (engine == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the engine");
    }
    memset((void *)engine, 0, sizeof(*engine));
    error_samples_init(&engine->errors);
    engine->plan = config->plan;
    engine->queue = config->queue;
    engine->profile = config->profile;
    engine->batches = config->batches;
    engine->first_whole_pass = config->plan->begin.pass + (config->plan->begin.done > 0);
    engine->worker_count = config->placement->worker_count;
    atomic_store_explicit(&engine->stop_at, UINT64_MAX, memory_order_relaxed);
    st = sli_layout_make(config->plan->wire, config->plan->column_count, config->plan->batch_size,
                         &engine->layout);
    if (st == SLUICE_OK) {
        st = make_runners(engine);
    }
    if (st == SLUICE_OK && sli_plan_is_stream(config->plan)) {
        st = sample_stream_create(config->plan, config->batches, config->passes, &engine->stream);
    }
    if (st == SLUICE_OK) {
        st = start_readahead(engine, config->placement);
    }
    if (st == SLUICE_OK) {
        st = sli_worker_pool_start(config->placement, "sluice/w", worker_main, engine,
                                   &engine->pool);
    }
    if (st != SLUICE_OK) {
        sli_engine_destroy(engine);
        return st;
    }
    *engine_out = engine;
    return SLUICE_OK;
}

void sli_engine_close(sli_engine *engine)
{
    atomic_store_explicit(&engine->stop_at, 0, memory_order_relaxed);
    sli_queue_close(engine->queue);
    if (engine->stream != NULL) {
        sample_stream_stop(engine->stream);
    }
    sli_event_notify(&engine->resumed);
    readahead_wake(engine->ahead);
}

void sli_engine_stop(sli_engine *engine)
{
    sli_engine_close(engine);
    readahead_stop(engine->ahead);
    sli_worker_pool_wait(engine->pool);
}

void sli_engine_pause(sli_engine *engine, bool paused)
{
    atomic_store_explicit(&engine->paused, paused, memory_order_relaxed);
    sli_event_notify(&engine->resumed);
    readahead_wake(engine->ahead);
}

void sli_engine_destroy(sli_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    sli_worker_pool_join(engine->pool);
    readahead_destroy(engine->ahead);
    for (uint32_t i = 0; engine->runners != NULL && i < engine->worker_count; i++) {
        sample_runner_fini(&engine->runners[i]);
    }
    sli_free(engine->runners);
    sample_stream_destroy(engine->stream);
    error_samples_fini(&engine->errors);
    sli_free(engine);
}

/* ---- telling what happened
 * ------------------------------------------------------------------------ */

void sli_engine_errors_get(const sli_engine *engine, sli_engine_errors *errors_out)
{
    const error_samples *errors = &engine->errors;

    errors_out->replaced = atomic_load_explicit(&errors->replaced, memory_order_relaxed);
    errors_out->zeroed = atomic_load_explicit(&errors->zeroed, memory_order_relaxed);
    errors_out->failed = atomic_load_explicit(&errors->failed, memory_order_relaxed);
    /* Pairs with the release store in error_samples_note(). */
    errors_out->count = atomic_load_explicit(&errors->count, memory_order_acquire);
    errors_out->first = errors->first;
}

uint64_t sli_engine_bytes_read(const sli_engine *engine)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < engine->worker_count; i++) {
        sli_counters *cell = sli_profile_cell(engine->profile, PLAN_READ, i);

        bytes += atomic_load_explicit(&cell->bytes, memory_order_relaxed);
    }
    return bytes;
}

void sli_engine_read_ahead(const sli_engine *engine, uint64_t *samples_out, uint64_t *bytes_out)
{
    readahead_counts(engine->ahead, samples_out, bytes_out);
}

void sli_engine_indexes(const sli_engine *engine, sli_index_counts *counts_out)
{
    *counts_out = (sli_index_counts){0};
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        sample_add_indexes(&engine->runners[i], counts_out);
    }
}

const sli_thread *sli_engine_thread(const sli_engine *engine, uint32_t worker)
{
    return sli_worker_pool_thread(engine->pool, worker);
}

void sli_engine_describe_wait(const sli_engine *engine, uint64_t seq, sli_text *text)
{
    uint64_t ticks = sli_ticks() - engine->profile->start_ticks;
    double ns_per_tick =
        (double)(sli_now_ns() - engine->profile->start_ns) / (double)(ticks > 0 ? ticks : 1);
    batch_place place;

    plan_locate(engine->plan, seq - 1, &place);
    sli_text_add(text, "the batch at sample %llu of pass %llu has %u of %u rows",
                 (unsigned long long)(place.done + place.first * engine->plan->settings.world),
                 (unsigned long long)place.pass, sli_queue_rows_done(engine->queue, seq),
                 engine->plan->batch_size);
    for (uint32_t i = 0; i < engine->worker_count; i++) {
        const worker_state *state = &engine->runners[i].state;
        const char *stage = atomic_load_explicit(&state->stage, memory_order_relaxed);
        uint64_t sample = atomic_load_explicit(&state->sample, memory_order_relaxed);
        uint64_t since = atomic_load_explicit(&state->since_ticks, memory_order_relaxed);
        uint64_t now = sli_ticks();
        char name[256];

        if (stage[0] == '\0') {
            sli_text_add(text, "; worker %u waits for room or is done", i);
            continue;
        }
        dataset_source(engine->plan->dataset)
            ->name(engine->plan->dataset->source, sample, name, sizeof(name));
        sli_text_add(text, "; worker %u is in %s of %s for %.1f s", i, stage, name,
                     (double)(now > since ? now - since : 0) * ns_per_tick / 1e9);
    }
}
