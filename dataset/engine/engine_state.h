/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a running engine; private to the engine's files. */
#ifndef SLUICE_ENGINE_STATE_H
#define SLUICE_ENGINE_STATE_H

#include "collected_rows.h"
#include "engine_int.h"
#include "error_samples.h"
#include "event_int.h"
#include "packed_rows.h"
#include "readahead.h"
#include "row_claims.h"
#include "sample_loader.h"

typedef struct collected_worker collected_worker; /* collected_worker.h */

/* What stops or interrupts the work on rows: read for each row, so it is in cache lines that rarely
 * change. */
typedef struct engine_control {
    _Atomic bool paused;      /* while true, no row is begun */
    _Atomic uint64_t stop_at; /* seq of the last batch whose rows may be begun; 0: stopped */
    _Atomic uint64_t base;    /* seq of the last batch that a rewind abandoned */
    _Atomic uint64_t limit;   /* seq of the last batch to claim before a rewind */
    sli_event resumed;        /* notified when one of these has changed */
} engine_control;

struct sli_engine {
    const sli_plan *plan;
    sli_queue *queue;
    sli_profile *profile;
    sli_layout layout;
    uint64_t batches; /* number of batches to make before END; UINT64_MAX: unlimited */
    uint64_t round;   /* number of batches to make after each rewind; UINT64_MAX: unlimited */
    uint64_t first_whole_pass; /* the first pass that this run processes from its beginning */
    uint32_t worker_count;
    sample_loader *loaders;
    collected_rows *collected;           /* NULL: rows are direct */
    collected_worker *collected_workers; /* (worker_count); NULL: rows are direct */
    packed_rows *packed;                 /* NULL: there is no pack */
    sli_worker_pool *pool;
    readahead *ahead; /* NULL: no readahead */
    engine_control control;
    error_samples errors;
    sli_interrupt closed;       /* cancels waits for a free file descriptor */
    row_claims claims;          /* the rows that workers have claimed; unused for collected ones */
    _Atomic uint64_t run_ticks; /* target duration of a range of rows, in ticks; 0: unknown */
};

/* The main loop of a worker. Returns when the engine stops or no rows are left (engine_work.c). */
void engine_work(sli_engine *engine, sample_loader *loader);

/* The main loop of a worker for collected rows (engine_collected.c). */
void engine_work_collected(sli_engine *engine, sample_loader *loader);

/*
 * Returns the target duration of a claim, in ticks; 0 in the first millisecond of the run, in which
 * the rate of ticks is not known. All calls for an engine have the same run_ns.
 */
static inline uint64_t engine_run_ticks(sli_engine *engine, int64_t run_ns)
{
    uint64_t ticks = atomic_load_explicit(&engine->run_ticks, memory_order_relaxed);

    if (ticks == 0) {
        ticks = sli_ticks_in(run_ns, engine->profile->start_ticks, engine->profile->start_ns);
        atomic_store_explicit(&engine->run_ticks, ticks, memory_order_relaxed);
    }
    return ticks;
}

/*
 * Returns the number, from 0, of batch `seq` within the run. False: a rewind has abandoned the
 * batch.
 */
static inline bool engine_batch(const sli_engine *engine, uint64_t seq, uint64_t *batch_out)
{
    /*
     * Relaxed is sufficient: a worker claims a batch after a new base only once it has seen the
     * batch's slot. The consumer frees that slot after it has stored the base.
     */
    const uint64_t base = atomic_load_explicit(&engine->control.base, memory_order_relaxed);

    *batch_out = seq - 1 - base;
    return seq > base;
}

/* True if the engine was stopped. arg is the engine. */
static inline bool engine_is_closed(void *arg)
{
    const sli_engine *engine = arg;

    return atomic_load_explicit(&engine->control.stop_at, memory_order_relaxed) == 0;
}

/* ---- batches (engine_batches.c) -------------------------------------------------------------- */

/* Publishes a batch, all rows of which are done. With a stream and policy replace, replaces its bad
 * rows. */
void engine_publish_batch(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                          uint64_t seq);

/* Waits for the slot of a claimed row; the wait counts as wait_room of the read stage. */
sluice_status engine_acquire_batch(sli_engine *engine, sample_loader *loader, uint64_t seq,
                                   sli_batch *batch);

/* Sleeps while the engine is paused, unless a rewind abandons the batch. False: the engine was
 * stopped. */
bool engine_wait_while_paused(sli_engine *engine, uint64_t seq);

bool engine_is_past_limit(const sli_engine *engine, uint64_t seq);

/* True if a claim needs no further free slot (row_claims_need_no_room()). arg is the engine. */
bool engine_needs_no_room(void *arg);

/* Called once all batches up to the limit are claimed: sleeps until a rewind raises the limit.
 * False: the engine was stopped. */
bool engine_await_rewind(sli_engine *engine, uint64_t seq);

/* ---- rows (engine_rows.c) -------------------------------------------------------------------- */

/* Marks a row without a sample. */
#define ENGINE_NO_SAMPLE UINT64_MAX

/* A row to fill, and the sample to fill it with. */
typedef struct row_task {
    uint64_t seq;
    uint32_t number; /* number of the row in its batch */
    uint64_t pass;
    uint64_t global_position; /* position in the pass over all ranks, before filtering */
    uint64_t sample;          /* ENGINE_NO_SAMPLE: padding */
    uint32_t bucket;          /* with bucket: that of the row, which a replacement must be in */
    sample_row row;
} row_task;

/* Finds the memory of a row's columns and flags. */
void engine_row_of(const sli_engine *engine, const sli_batch *batch, uint32_t row,
                   sample_row *row_out);

/* Zeroes a row without a sample, and marks it so that the device's conversion leaves it zero. */
void engine_zero_row(const sli_engine *engine, const sample_row *row);

/* Fails the batch, and so the run: rows of later batches are not begun. */
void engine_fail_row(sli_engine *engine, const row_task *task, sluice_status status,
                     const char *text);

/* Adds a sample that has just failed to the list of bad samples, unless it is in it. */
void engine_note_failure(sli_engine *engine, sample_loader *loader, uint64_t sample);

/*
 * Applies the error policy to a sample that has just failed: replaces it, zeroes its row, or ends
 * the run.
 */
void engine_bad_sample(sli_engine *engine, sample_loader *loader, row_task *task,
                       sluice_status status);

/*
 * Applies the error policy to a sample with pack that has just failed to load. OK: task->sample
 * replaces it, and its document is loaded, or it is left out (*is_left_out). Otherwise returns the
 * error that ends the run.
 */
sluice_status engine_bad_document(sli_engine *engine, sample_loader *loader, row_task *task,
                                  sluice_status status, bool *is_left_out);

/*
 * Applies the error policy to a sample of a stream with bucket that has just failed to load. OK: it
 * is a zeroed row. Otherwise returns the error that ends the run.
 */
sluice_status engine_bad_item(sli_engine *engine, sample_loader *loader, const row_task *task,
                              sluice_status status);

/*
 * Fills a row of a batch. If the sample fails, it is replaced, its row is zeroed, or the run ends,
 * according to the error policy (engine_rows.c).
 */
void engine_fill_row(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                     uint64_t seq, uint32_t row);

/* Finds the sample of a row, or that of a tile with mosaic (tile 0: the row's). False: the row is
 * padding, or the tile is not shown. */
bool engine_sample_at(const sli_engine *engine, uint64_t seq, uint32_t row, uint32_t tile,
                      uint64_t *sample_out);

#endif
