/* SPDX-License-Identifier: Apache-2.0 */
/* The workers of a run: they claim rows, wait for room, publish batches; pauses and the end. */
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "engine_state.h"
#include "log_int.h"
#include "range_int.h"

/* ---- batches --------------------------------------------------------------------------------- */

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
    engine_fill_row(engine, runner, &batch, seq, row);
    if (sli_queue_row_done(engine->queue, seq)) {
        publish(engine, runner, &batch, seq);
    }
    return true;
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
    engine_fill_claimed(engine, runner, &batch, &claim);
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

/* ---- readahead ------------------------------------------------------------------------------- */

/* What readahead finds at a row. */
static readahead_row row_ahead(void *arg, uint64_t row, uint64_t *sample_out)
{
    const sli_engine *engine = arg;
    const uint64_t seq = row / engine->plan->batch_size + 1;

    if (seq > engine->batches ||
        seq > atomic_load_explicit(&engine->stop_at, memory_order_relaxed)) {
        return READAHEAD_END;
    }
    if (atomic_load_explicit(&engine->paused, memory_order_relaxed)) {
        return READAHEAD_WAIT;
    }
    return engine_sample_at(engine, seq, (uint32_t)(row % engine->plan->batch_size), sample_out)
               ? READAHEAD_SAMPLE
               : READAHEAD_NOTHING;
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

/* ---- starting and stopping ------------------------------------------------------------------- */

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
