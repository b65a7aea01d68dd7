/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a running engine, for the files of the engine only. */
#ifndef SLUICE_ENGINE_STATE_H
#define SLUICE_ENGINE_STATE_H

#include "engine_int.h"
#include "error_samples.h"
#include "event_int.h"
#include "readahead.h"
#include "row_claims.h"
#include "sample_loader.h"

struct sli_engine {
    const sli_plan *plan;
    sli_queue *queue;
    sli_profile *profile;
    sli_layout layout;
    uint64_t batches; /* number of batches to make, followed by END; UINT64_MAX: unlimited */
    uint64_t round;   /* number of batches to make after each rewind; UINT64_MAX: unlimited */
    uint64_t first_whole_pass; /* the first pass that this run processes from its beginning */
    uint32_t worker_count;
    sample_loader *loaders;
    sample_stream *stream; /* NULL: the source is not a stream */
    sli_worker_pool *pool;
    readahead *ahead;    /* NULL: no readahead */
    _Atomic bool paused; /* no row is begun while true; read for each row, so in a cache line that
                            rarely changes */
    sli_event resumed;   /* notified when paused, stop_at, base or limit has changed */
    error_samples errors;
    sli_interrupt closed;       /* cancels waits for a free file descriptor */
    row_claims claims;          /* which rows are claimed; unused for a stream */
    _Atomic uint64_t stop_at;   /* no row of a later batch is begun */
    _Atomic uint64_t base;      /* the run begins after this batch; earlier batches are abandoned */
    _Atomic uint64_t limit;     /* no row of a later batch is claimed until a rewind */
    _Atomic uint64_t run_ticks; /* target duration of a run of rows, in ticks; 0: not known yet */
};

/* The main loop of a worker. Returns when the engine stops or no rows are left (engine_work.c). */
void engine_work(sli_engine *engine, sample_loader *loader);

/* Returns the number of batch seq in the run, from 0. False: a rewind has abandoned the batch. */
static inline bool engine_batch(const sli_engine *engine, uint64_t seq, uint64_t *batch_out)
{
    /* Relaxed: a worker claims a batch after a new base only once it has seen the slot for it. The
     * consumer frees that slot after it has stored the base. */
    const uint64_t base = atomic_load_explicit(&engine->base, memory_order_relaxed);

    *batch_out = seq - 1 - base;
    return seq > base;
}

/* Was the engine stopped? arg is the engine. */
bool engine_is_closed(void *arg);

/*
 * Fill a row of a batch: by its number in the run, or with the sample of a stream's claim. If the
 * sample fails, it is replaced, or the row is zeroed, or the run ends, according to the error
 * policy (engine_rows.c).
 */
void engine_fill_row(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                     uint64_t seq, uint32_t row);
void engine_fill_claimed(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                         const stream_claim *claim);

/* Finds the sample of a row. False: the row is padding. */
bool engine_sample_at(const sli_engine *engine, uint64_t seq, uint32_t row, uint64_t *sample_out);

#endif
