/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: worker threads that bring samples into batches of a queue. A worker takes the next
 * row by one atomic addition; which sample stands there is a function of the plan, so nothing goes
 * between workers but the count of rows done.
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
    uint64_t batches;     /* to be made, then END; UINT64_MAX: without end */
    uint64_t passes;      /* of a stream, the same; 0: without end */
} sli_engine_config;

/* Starts the workers. Everything in the config is borrowed until sli_engine_stop(). */
sluice_status sli_engine_start(const sli_engine_config *config, sli_engine **engine_out);

/* Asks the workers to end after the rows they are at, and closes the queue. Any thread. */
void sli_engine_close(sli_engine *engine);

/* The same, and waits until they have ended. */
void sli_engine_stop(sli_engine *engine);

/*
 * Pauses the workers: each finishes the row it is at and begins no other until it is resumed
 * (paused false) or stopped. Changes nothing about which rows are made, or in what order. Any
 * thread.
 */
void sli_engine_pause(sli_engine *engine, bool paused);

/* Frees a stopped engine. NULL is fine. */
void sli_engine_destroy(sli_engine *engine);

typedef struct sli_engine_errors {
    uint64_t failed; /* under policy fail: 0 or 1 */
    uint64_t replaced;
    uint64_t zeroed;
    uint32_t count;                /* of first */
    const sli_error_sample *first; /* the engine's own; these do not change any more */
} sli_engine_errors;

void sli_engine_errors_get(const sli_engine *engine, sli_engine_errors *errors_out);

/* Bytes read from files so far. */
uint64_t sli_engine_bytes_read(const sli_engine *engine);

/* Samples, and their bytes, that the kernel was asked to read before a worker came to them. */
void sli_engine_read_ahead(const sli_engine *engine, uint64_t *samples_out, uint64_t *bytes_out);

/* What came of the indexes of images so far; samples that were replaced count like others. */
void sli_engine_indexes(const sli_engine *engine, sli_index_counts *counts_out);

/* Where worker i was to run and where it did; of a stopped engine. */
const sli_thread *sli_engine_thread(const sli_engine *engine, uint32_t worker);

/*
 * Says what stands between the consumer and batch seq: how many of its rows are done, and what each
 * worker is at, for how long.
 */
void sli_engine_describe_wait(const sli_engine *engine, uint64_t seq, sli_text *text);

#endif
