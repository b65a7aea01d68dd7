/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a running engine, private to the engine's files. */
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
    uint64_t batches; /* made in all, then END; UINT64_MAX: without end */
    uint64_t round;   /* batches that are made after each rewind; UINT64_MAX: without end */
    uint64_t first_whole_pass; /* the first pass that this run covers from its beginning */
    uint32_t worker_count;
    sample_loader *loaders;
    sample_stream *stream; /* NULL: samples are read by number */
    sli_worker_pool *pool;
    readahead *ahead;    /* NULL: none */
    _Atomic bool paused; /* no row is begun; read for each row, so in a cache line that rarely
                            changes */
    sli_event resumed;   /* paused, stop_at, base or limit has changed */
    error_samples errors;
    sli_interrupt closed;       /* cancels reads that wait for a file descriptor */
    row_claims claims;          /* claimed rows; unused for a stream */
    _Atomic uint64_t stop_at;   /* no row of a later batch is begun */
    _Atomic uint64_t base;      /* the run begins behind this batch; those before are abandoned */
    _Atomic uint64_t limit;     /* no row of a later batch is claimed before a rewind */
    _Atomic uint64_t run_ticks; /* duration of a run of rows in ticks; 0: not known yet */
};

/* The main loop of a worker, until the engine stops or no rows are left (engine_work.c). */
void engine_work(sli_engine *engine, sample_loader *loader);

/* The number in the run, from 0, of batch seq; false: it was abandoned by a rewind. */
static inline bool engine_batch(const sli_engine *engine, uint64_t seq, uint64_t *batch_out)
{
    /* The worker that claims a batch behind a new base has seen a slot freed that the consumer
     * frees after it has stored the base. */
    const uint64_t base = atomic_load_explicit(&engine->base, memory_order_relaxed);

    *batch_out = seq - 1 - base;
    return seq > base;
}

/* Is the engine stopped? arg is the engine. */
bool engine_is_closed(void *arg);

/*
 * Fills a row of a batch: by its number in the run, or from the claim of a stream. A sample that
 * fails is replaced or zeroed, or ends the run, as the settings say (engine_rows.c).
 */
void engine_fill_row(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                     uint64_t seq, uint32_t row);
void engine_fill_claimed(sli_engine *engine, sample_loader *loader, const sli_batch *batch,
                         const stream_claim *claim);

/* The sample of a row; false: padding. */
bool engine_sample_at(const sli_engine *engine, uint64_t seq, uint32_t row, uint64_t *sample_out);

#endif
