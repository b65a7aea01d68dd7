/* SPDX-License-Identifier: Apache-2.0 */
/* The batches of an engine: acquires their slots, fills their headers, makes workers wait. */
#include <string.h>

#include "batch_maps.h"
#include "engine_state.h"
#include "loader_stage.h"
#include "status_int.h"

/* Fills a header that is all zero. The header of an abandoned batch is left zero: no valid rows. */
static void fill_header(const sli_engine *engine, const sli_batch *batch, uint64_t seq)
{
    const sli_plan *plan = engine->plan;
    uint64_t number;
    batch_span span;
    uint64_t rows;

    if (!engine_batch(engine, seq, &number)) {
        return;
    }
    plan_locate(plan, number, &span);
    rows = span.length > span.first ? span.length - span.first : 0;
    rows = rows < plan->batch_size ? rows : plan->batch_size;
    if (plan->details->bucket.count > 0) { /* several batches at the end of a pass may be padded */
        for (rows = 0; rows < plan->batch_size && batch->samples[rows] != ENGINE_NO_SAMPLE;) {
            rows++;
        }
    }
    batch->header->position = span.done + span.first * plan->settings.world;
    batch->header->pass = span.pass;
    batch->header->first_sample = batch->samples[0];
    batch->header->valid_rows = (uint32_t)rows;
    batch->header->extent = batch->extent;
}

/* Finds the next row of a batch, cyclically, that is not zeroed. False: all rows are. */
static bool find_good_row(const sli_batch *batch, uint32_t row, uint32_t *good_out)
{
    const uint32_t rows = batch->header->valid_rows;

    for (uint32_t i = 1; i < rows; i++) {
        *good_out = (row + i) % rows;
        if ((batch->row_flags[*good_out] & SLI_ROW_ZERO) == 0) {
            return true;
        }
    }
    return false;
}

static void copy_row(const sli_engine *engine, const sli_batch *batch, uint32_t from, uint32_t to)
{
    sample_row source;
    sample_row target;

    engine_row_of(engine, batch, from, &source);
    engine_row_of(engine, batch, to, &target);
    for (uint32_t i = 0; i < engine->layout.column_count; i++) {
        memcpy(target.columns[i], source.columns[i],
               sli_layout_row(&engine->layout, i, batch->extent));
    }
    *target.flags = *source.flags;
    batch->samples[to] = batch->samples[from];
}

/*
 * Replaces the bad rows of a batch of a stream, which engine_bad_sample() has zeroed, by the next
 * good row, cyclically. The samples of a stream cannot be read again, so one of the same batch is
 * taken: the result depends on the batch alone, neither on the workers nor on where the run ends.
 * If no row is good, all remain zero.
 */
static void replace_bad_rows(sli_engine *engine, const sli_batch *batch)
{
    error_samples *errors = &engine->errors;
    uint32_t good;

    for (uint32_t row = 0; row < batch->header->valid_rows; row++) {
        if ((batch->row_flags[row] & SLI_ROW_ZERO) == 0) {
            continue;
        }
        if (find_good_row(batch, row, &good)) {
            copy_row(engine, batch, good, row);
            atomic_fetch_add_explicit(&errors->replaced, 1, memory_order_relaxed);
        } else {
            atomic_fetch_add_explicit(&errors->zeroed, 1, memory_order_relaxed);
        }
    }
    batch->header->first_sample = batch->samples[0];
}

/* False: the batch is abandoned, or has failed already. */
static bool has_samples(const sli_engine *engine, const sli_batch *batch, uint64_t seq)
{
    return batch->header->valid_rows > 0 &&
           seq < atomic_load_explicit(&engine->control.stop_at, memory_order_relaxed);
}

/* Calls the maps of batches. An error fails the batch under every error policy. */
static void map_batch(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                      uint64_t seq)
{
    const row_task task = {.seq = seq};
    sluice_status st;

    st = batch_maps_run(loader, &engine->layout, batch);
    if (st != SLUICE_OK) {
        st = sli_fail_quoting(st, "%s: the batch at position %llu of pass %llu: %.700s",
                              loader->last.stage, (unsigned long long)batch->header->position,
                              (unsigned long long)batch->header->pass, sluice_last_error());
        engine_fail_row(engine, &task, st, sluice_last_error());
    }
}

void engine_publish_batch(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                          uint64_t seq)
{
    const sli_plan *plan = engine->plan;
    uint64_t start;

    memset(batch->header, 0, sizeof(*batch->header));
    fill_header(engine, batch, seq);
    if (has_samples(engine, batch, seq)) {
        if (plan->details->dealing.replaces_in_batch) {
            replace_bad_rows(engine, batch);
        }
        if (plan->details->work.batch_map_count > 0) {
            map_batch(engine, loader, batch, seq);
        }
    }
    sli_stage_clock_begin(&loader->report.clock, plan->batch_size,
                          loader->report.counters[PLAN_BATCH]);
    start = stage_ticks(loader);
    sli_range_begin(plan->stage_names[PLAN_BATCH]);
    sli_queue_publish(engine->queue, seq);
    sli_range_end();
    sli_stage_clock_enter(&loader->report.clock, NULL);
    sli_counters_item(loader->report.counters[PLAN_BATCH], stage_ticks(loader) - start,
                      sli_layout_used(&engine->layout, batch->extent));
}

/* Argument of is_resumed() and may_claim(): the batch that a sleeping worker waits for. */
typedef struct batch_sleep {
    sli_engine *engine;
    uint64_t seq;
} batch_sleep;

static bool is_resumed(void *arg)
{
    const batch_sleep *sleep = arg;
    uint64_t number;

    return !atomic_load_explicit(&sleep->engine->control.paused, memory_order_relaxed) ||
           engine_is_closed(sleep->engine) || !engine_batch(sleep->engine, sleep->seq, &number);
}

/* Sleeps while the engine is paused, unless a rewind abandons the batch. False: the engine was
 * stopped. */
bool engine_wait_while_paused(sli_engine *engine, uint64_t seq)
{
    batch_sleep sleep = {engine, seq};

    sli_event_await(&engine->control.resumed, is_resumed, &sleep, -1);
    return !engine_is_closed(engine);
}

bool engine_is_past_limit(const sli_engine *engine, uint64_t seq)
{
    return seq > atomic_load_explicit(&engine->control.limit, memory_order_relaxed);
}

bool engine_needs_no_room(void *arg)
{
    const sli_engine *engine = arg;

    return row_claims_need_no_room(&engine->claims);
}

static bool may_claim(void *arg)
{
    const batch_sleep *sleep = arg;

    return !engine_is_past_limit(sleep->engine, sleep->seq) ||
           engine_needs_no_room(sleep->engine) || engine_is_closed(sleep->engine);
}

/* Called once all batches up to the limit are claimed: sleeps until a rewind raises the limit.
 * False: the engine was stopped. */
bool engine_await_rewind(sli_engine *engine, uint64_t seq)
{
    batch_sleep sleep = {engine, seq};

    sli_event_await(&engine->control.resumed, may_claim, &sleep, -1);
    return !engine_is_closed(engine);
}

/* Waits for the slot of a claimed row; the time is counted as wait_room of the read stage. */
sluice_status engine_acquire_batch(sli_engine *engine, sample_loader *loader, uint64_t seq,
                                   sli_batch *batch)
{
    sluice_status st = sli_queue_acquire(engine->queue, seq, 0, batch);

    if (st == SLUICE_TIMEOUT) {
        uint64_t start = sli_ticks();

        st = sli_queue_acquire(engine->queue, seq, -1, batch);
        sli_counter_add(&loader->report.counters[PLAN_READ]->wait_room_ticks, sli_ticks() - start);
    }
    return st;
}
