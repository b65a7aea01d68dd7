/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: worker threads that load samples into the batches of a queue. A worker claims the
 * next rows by one atomic operation. The plan determines their samples, so workers share nothing
 * but counts of rows.
 */
#ifndef SLUICE_ENGINE_INT_H
#define SLUICE_ENGINE_INT_H

#include "image_notes_int.h"
#include "index_counts_int.h"
#include "operation_counts_int.h"
#include "placement_int.h"
#include "plan_int.h"
#include "profiler_int.h"
#include "queue_int.h"
#include "slow_samples_int.h"
#include "worker_pool_int.h"

enum { SLI_ERROR_SAMPLES = 100 };

/* A sample that could not be used. */
typedef struct sli_error_sample {
    uint64_t sample;
    char stage[64];
    char name[256];
    char text[200];
} sli_error_sample;

typedef struct sli_engine sli_engine;

typedef struct sli_engine_config {
    const sli_plan *plan;
    sli_queue *queue;
    const sli_placement *placement;
    sli_profile *profile; /* has stages [0, plan->stage_count) and threads [0, worker_count) */
    uint64_t batches;     /* number of batches to make, followed by END; UINT64_MAX: unlimited */
    uint64_t passes;      /* limit on the passes of a stream; 0: unlimited */
    bool rewinds;         /* after `batches` batches workers wait for sli_engine_rewind() instead of
                             publishing END; the source must be readable more than once */
} sli_engine_config;

/* Starts the workers. Everything in the config is borrowed until sli_engine_stop(). */
sluice_status sli_engine_start(const sli_engine_config *config, sli_engine **engine_out);

/*
 * Requests a stop and closes the queue: workers end after their current rows. Callable from any
 * thread.
 */
void sli_engine_close(sli_engine *engine);

/* Calls sli_engine_close() and waits until all workers have ended. */
void sli_engine_stop(sli_engine *engine);

/*
 * Pauses the workers: each finishes its current row and begins no other until it is resumed (paused
 * false) or stopped. Neither the rows nor their order change. Callable from any thread.
 */
void sli_engine_pause(sli_engine *engine, bool paused);

/*
 * Rewinds the run to its first batch. The consumer must have released all batches up to `released`.
 * Returns base: batch base + 1 of the queue is the first of the run again, and as many batches are
 * made as after the start.
 *
 * Batches released + 1 to base are abandoned: they are published, complete or without rows, once
 * workers have finished their current rows, even if the engine is paused. The consumer must release
 * them. Call it on the consumer's thread.
 */
uint64_t sli_engine_rewind(sli_engine *engine, uint64_t released);

/*
 * A replay: if passes have unknown lengths, workers process the samples before the run again to
 * find its first one. All three are callable from any thread, and accept NULL: no replay.
 */

/* Number of samples replayed so far, of all ranks; it grows while a replay makes progress. */
uint64_t sli_engine_replayed(const sli_engine *engine);

/* Ticks of the interval [start, end] in which workers replayed. Consumers do not count them as
 * waits for data. */
uint64_t sli_engine_replay_overlap(const sli_engine *engine, uint64_t start, uint64_t end);

/* Ticks in which workers replayed, up to `now`. */
uint64_t sli_engine_replay_ticks(const sli_engine *engine, uint64_t now);

/* Frees a stopped engine. Accepts NULL. */
void sli_engine_destroy(sli_engine *engine);

typedef struct sli_engine_errors {
    uint64_t failed; /* 0 or 1; policy fail only */
    uint64_t replaced;
    uint64_t zeroed;
    uint32_t count;                /* number of entries in first */
    const sli_error_sample *first; /* owned by the engine; entries never change */
} sli_engine_errors;

void sli_engine_errors_get(const sli_engine *engine, sli_engine_errors *errors_out);

/* Bytes read from files so far. */
uint64_t sli_engine_bytes_read(const sli_engine *engine);

/* The number of samples that readahead requested, and their bytes. */
void sli_engine_read_ahead(const sli_engine *engine, uint64_t *samples_out, uint64_t *bytes_out);

/* Statistics of image indexes so far, including those of replaced samples. */
void sli_engine_indexes(const sli_engine *engine, sli_index_counts *counts_out);

/* Images so far of which decoding left something out, including those of replaced samples. */
void sli_engine_image_counts(const sli_engine *engine, sli_image_counts *counts_out);

/* The slowest samples so far, over all workers and stages. Callable from any thread. */
void sli_engine_slow_samples(const sli_engine *engine, sli_slow_samples *slow_out);

/* Times of operations so far. Operations of a stage follow each other, in the order of the
 * pipeline. */
void sli_engine_operations(const sli_engine *engine, sli_operation_counts *counts_out);

/* The cache of the dataset, and what the workers of this engine have found in it. */
typedef struct sli_cache_counts {
    uint64_t hits;    /* samples read from the cache */
    uint64_t misses;  /* samples read from the source */
    uint64_t entries; /* samples in the cache, of all ranks that share it */
    uint64_t bytes;   /* of its memory that are in use */
    uint64_t limit;   /* bound on its memory */
    uint32_t ranks;   /* ranks that share it; 1: it is private */
    bool is_full;     /* a sample found no room */
} sli_cache_counts;

/* False: the dataset has no cache. */
bool sli_engine_cache(const sli_engine *engine, sli_cache_counts *counts_out);

/* Memory of the host that the engine holds. */
typedef struct sli_engine_memory {
    uint64_t rows;    /* rows outside of batches: with filters, pack or bucket */
    uint64_t workers; /* everything else that workers have allocated: decoders, images between
                         operations, columns that are not in the batch. Not what libraries of image
                         formats and user code allocate */
} sli_engine_memory;

/* Callable from any thread. */
void sli_engine_memory_get(const sli_engine *engine, sli_engine_memory *memory_out);

/*
 * Returns the requested and actual placement of thread i: workers come first, then readahead
 * threads. The engine must be stopped. NULL: thread i does not exist.
 */
const sli_thread *sli_engine_thread(const sli_engine *engine, uint32_t i);

/*
 * What worker i does: the number of its thread, as in /proc, 0 before it runs; the index of its
 * stage in the profile, UINT32_MAX between samples; the ticks at which it entered the stage. False:
 * there is no such worker. Callable from any thread until the engine is destroyed.
 */
typedef struct sli_worker_stage {
    int32_t thread;
    uint32_t stage;
    uint64_t since_ticks;
} sli_worker_stage;

bool sli_engine_worker_stage(const sli_engine *engine, uint32_t i, sli_worker_stage *at_out);

/*
 * Adds stall diagnostics for batch seq as text: the number of its filled rows, and each worker's
 * current stage with the time spent in it.
 */
void sli_engine_describe_wait(const sli_engine *engine, uint64_t seq, sli_text *text);

#endif
