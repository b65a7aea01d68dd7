/* SPDX-License-Identifier: Apache-2.0 */
/* The main loop of a worker: claims rows, waits for room, fills rows, publishes batches. */
#include <string.h>

#include "engine_state.h"
#include "nvtx_ranges_int.h"
#include "thread_interrupt_int.h"

/*
 * Target duration of a run of rows: a claim costs about 100 ns if workers share a cache line. If a
 * sample takes longer than SLOW_RUNS such durations, the remaining rows of the run are released.
 */
enum { RUN_NS = 10000, SLOW_RUNS = 4 };

/*
 * Sleeping and waking take about 5 us, so a worker is woken only if there is work for WAKE_RUNS
 * runs. If there is more, it wakes up to WAKE_MOST others, each of which does the same.
 */
enum { WAKE_RUNS = 5, WAKE_MOST = 2 };

/* ---- rows by number -------------------------------------------------------------------------- */

/* The state of a worker: its loader, and the pace of its samples. */
typedef struct worker {
    sli_engine *engine;
    sample_loader *loader;
    row_pace pace;
} worker;

static uint64_t run_ticks_of(sli_engine *engine)
{
    return engine_run_ticks(engine, RUN_NS);
}

/* The number of rows that justify waking a worker. */
static uint64_t rows_to_wake_for(const worker *w)
{
    const uint64_t enough = WAKE_RUNS * run_ticks_of(w->engine);

    return enough > w->pace.row_ticks && w->pace.row_ticks > 0 ? enough / w->pace.row_ticks : 1;
}

/*
 * Waits until rows can be claimed; the time counts as wait_room of the read stage. False: the queue
 * was closed.
 */
static bool await_room(worker *w)
{
    const uint32_t batch_size = w->engine->plan->batch_size;
    const sli_room_request request = {
        .seq = row_claims_next_batch(&w->engine->claims),
        .slots = (rows_to_wake_for(w) + batch_size - 1) / batch_size,
        .other = engine_needs_no_room,
        .arg = w->engine,
    };
    const uint64_t start = sli_ticks();
    const bool open = sli_queue_await_room(w->engine->queue, &request);

    sli_counter_add(&w->loader->report.counters[PLAN_READ]->wait_room_ticks, sli_ticks() - start);
    return open;
}

/* Wakes other workers if enough rows are left to claim. */
static void share_work(const worker *w, uint64_t room)
{
    sli_queue *queue = w->engine->queue;
    uint64_t others;

    if (!sli_queue_has_waiters(queue)) {
        return;
    }
    others = row_claims_left(&w->engine->claims, room) / rows_to_wake_for(w);
    if (others > 0) {
        sli_queue_wake(queue, others < WAKE_MOST ? (uint32_t)others : WAKE_MOST);
    }
}

/* Claims a run of rows. False: none are left, or the engine stops. */
static bool claim_run(worker *w, row_run *run_out)
{
    sli_engine *engine = w->engine;

    for (;;) {
        const uint64_t limit = atomic_load_explicit(&engine->control.limit, memory_order_relaxed);
        const uint64_t slots = sli_queue_room(engine->queue);
        const uint64_t room = slots < limit ? slots : limit;
        const uint32_t most = row_pace_rows(&w->pace, run_ticks_of(engine));
        uint64_t next;

        switch (row_claims_take(&engine->claims, room, most, run_out)) {
        case ROW_CLAIM_RUN:
            share_work(w, room);
            return run_out->seq <=
                   atomic_load_explicit(&engine->control.stop_at, memory_order_relaxed);
        case ROW_CLAIM_NO_ROOM:
            next = row_claims_next_batch(&engine->claims);
            if (!(engine_is_past_limit(engine, next) ? engine_await_rewind(engine, next)
                                                     : await_room(w))) {
                return false;
            }
            break;
        case ROW_CLAIM_NOTHING:
            return false;
        }
    }
}

/* True if a row of batch seq may be begun. Sleeps while the engine is paused. */
static bool may_begin(sli_engine *engine, uint64_t seq)
{
    return seq <= atomic_load_explicit(&engine->control.stop_at, memory_order_relaxed) &&
           (!atomic_load_explicit(&engine->control.paused, memory_order_relaxed) ||
            engine_wait_while_paused(engine, seq));
}

/* Releases the rows of a run after the first `done`, for other workers to claim. */
static bool give_back(worker *w, const row_run *run, uint32_t done)
{
    const row_run rest = {run->seq, run->first + done, run->count - done};
    const bool given = rest.count > 0 && row_claims_give_back(&w->engine->claims, &rest);

    if (given) {
        sli_queue_wake(w->engine->queue, WAKE_MOST);
        sli_event_notify(
            &w->engine->control.resumed); /* wake workers that wait for a rewind, too */
    }
    return given;
}

/*
 * Fills the rows of a run. Returns how many: all of them, or those up to a slow one; 0: the engine
 * stops.
 */
static uint32_t fill_run(worker *w, const row_run *run, const sli_batch *batch)
{
    const uint64_t slow_ticks = SLOW_RUNS * run_ticks_of(w->engine);
    const uint64_t start = sli_ticks();
    worker_state *state = &w->loader->report.state;
    uint64_t now = start;
    uint32_t done = 0;

    atomic_store_explicit(&state->seq, run->seq, memory_order_relaxed);
    while (done < run->count) {
        const uint64_t row_start = now;

        if (!may_begin(w->engine, run->seq)) {
            return 0;
        }
        engine_fill_row(w->engine, w->loader, batch, run->seq, run->first + done);
        atomic_store_explicit(&state->rows, ++done, memory_order_relaxed);
        now = sli_ticks();
        if (now - row_start > slow_ticks && give_back(w, run, done)) {
            break;
        }
    }
    atomic_store_explicit(&state->rows, 0, memory_order_relaxed);
    row_pace_note(&w->pace, now - start, done);
    return done;
}

/* Claims and fills one run of rows. False: no work is left. */
static bool work_once(worker *w)
{
    sli_engine *engine = w->engine;
    sli_batch batch;
    row_run run;
    uint32_t done;

    if (!claim_run(w, &run) || sli_queue_acquire(engine->queue, run.seq, 0, &batch) != SLUICE_OK) {
        return false;
    }
    if (run.seq > engine->batches) {
        sli_queue_publish_end(engine->queue, run.seq);
        return false;
    }
    readahead_claimed(engine->ahead,
                      (run.seq - 1) * engine->plan->batch_size + run.first + run.count - 1);
    done = fill_run(w, &run, &batch);
    if (done > 0 && sli_queue_add_rows(engine->queue, run.seq, done)) {
        engine_publish_batch(engine, w->loader, &batch, run.seq);
    }
    return done > 0;
}

void engine_work(sli_engine *engine, sample_loader *loader)
{
    worker w = {engine, loader, {0}};

    sli_thread_interrupt(&engine->closed);
    if (engine->collected != NULL) {
        engine_work_collected(engine, loader);
    } else {
        while (work_once(&w)) {
        }
    }
    sli_thread_interrupt(NULL);
}
