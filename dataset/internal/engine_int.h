/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: worker threads that load samples into the batches of a queue. A worker claims the
 * next rows by one atomic operation. Their samples are a function of the plan, so workers share
 * only the counts of rows.
 */
#ifndef SLUICE_ENGINE_INT_H
#define SLUICE_ENGINE_INT_H

#include "index_counts_int.h"
#include "placement_int.h"
#include "plan_int.h"
#include "profiler_int.h"
#include "queue_int.h"
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
    sli_profile *profile; /* stages [0, plan->stage_count), threads [0, worker_count) */
    uint64_t batches;     /* then END; UINT64_MAX: unlimited */
    uint64_t passes;      /* bound on the passes of a stream; 0: unlimited */
    bool rewinds; /* behind `batches` workers wait for sli_engine_rewind(), without an END; of a
                     source that is read more than once */
} sli_engine_config;

/* Starts the workers. Everything in the config is borrowed until sli_engine_stop(). */
sluice_status sli_engine_start(const sli_engine_config *config, sli_engine **engine_out);

/* Requests a stop: workers end after their current rows; closes the queue. Any thread. */
void sli_engine_close(sli_engine *engine);

/* sli_engine_close(), and waits until all workers have ended. */
void sli_engine_stop(sli_engine *engine);

/*
 * Pauses the workers: each finishes its current row and begins no other until it is resumed (paused
 * false) or stopped. The rows and their order stay the same. Any thread.
 */
void sli_engine_pause(sli_engine *engine, bool paused);

/*
 * Rewinds, after the consumer has released all batches up to `released`. Returns base: batch base +
 * 1 of the queue is the first of the run once more, and as many batches as at the start are made.
 * Those from released + 1 to base are abandoned: they come, complete or without a row, as soon as
 * workers have done the rows they are at, also in an engine that is paused, and the consumer
 * releases them. The consumer's thread.
 */
uint64_t sli_engine_rewind(sli_engine *engine, uint64_t released);

/* Frees a stopped engine. NULL is fine. */
void sli_engine_destroy(sli_engine *engine);

typedef struct sli_engine_errors {
    uint64_t failed; /* 0 or 1, under policy fail */
    uint64_t replaced;
    uint64_t zeroed;
    uint32_t count;                /* of first */
    const sli_error_sample *first; /* owned by the engine; entries never change */
} sli_engine_errors;

void sli_engine_errors_get(const sli_engine *engine, sli_engine_errors *errors_out);

/* Bytes read from files so far. */
uint64_t sli_engine_bytes_read(const sli_engine *engine);

/* Samples that readahead requested, and their bytes. */
void sli_engine_read_ahead(const sli_engine *engine, uint64_t *samples_out, uint64_t *bytes_out);

/* Outcomes of image indexes so far, including those of replaced samples. */
void sli_engine_indexes(const sli_engine *engine, sli_index_counts *counts_out);

/* The placement of thread i, requested and actual, workers first, then readahead; of a stopped
 * engine. NULL past the last. */
const sli_thread *sli_engine_thread(const sli_engine *engine, uint32_t i);

/*
 * Adds stall diagnostics of batch seq as text: its filled rows, and each worker's stage and time in
 * it.
 */
void sli_engine_describe_wait(const sli_engine *engine, uint64_t seq, sli_text *text);

#endif
