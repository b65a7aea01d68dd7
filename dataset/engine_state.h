/* SPDX-License-Identifier: Apache-2.0 */
/* A running engine, for the files that make it up. */
#ifndef SLUICE_ENGINE_STATE_H
#define SLUICE_ENGINE_STATE_H

#include "engine_int.h"
#include "error_samples.h"
#include "event_int.h"
#include "readahead.h"
#include "sample_run.h"

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

/*
 * Fills a row of a batch: by its place in the run, or with what a worker claimed of a stream. A
 * sample that fails is replaced, left zero or the end of the run, as the settings say
 * (engine_rows.c).
 */
void engine_fill_row(sli_engine *engine, sample_runner *runner, const sli_batch *batch,
                     uint64_t seq, uint32_t row);
void engine_fill_claimed(sli_engine *engine, sample_runner *runner, const sli_batch *batch,
                         const stream_claim *claim);

/* The sample at a row of a batch; false: none, padding. */
bool engine_sample_at(const sli_engine *engine, uint64_t seq, uint32_t row, uint64_t *sample_out);

#endif
