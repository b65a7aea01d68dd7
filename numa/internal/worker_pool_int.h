/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed set of pinned threads that run one function each. */
#ifndef SLUICE_WORKER_POOL_INT_H
#define SLUICE_WORKER_POOL_INT_H

#include "placement_int.h"

typedef struct sli_worker_pool sli_worker_pool;

/*
 * Starts placement->worker_count threads named "NAME/worker" (the first 9 characters of NAME). Each
 * thread calls run(arg, worker). If a thread cannot be started, none calls run(). The placement is
 * copied.
 */
sluice_status sli_worker_pool_start(const sli_placement *placement, const char *name,
                                    void (*run)(void *arg, uint32_t worker), void *arg,
                                    sli_worker_pool **pool_out);

/* Waits until every run() has returned; sli_worker_pool_thread() can still be called. */
void sli_worker_pool_wait(sli_worker_pool *pool);

/* Waits until every run() has returned, and frees the pool. NULL is allowed. */
void sli_worker_pool_join(sli_worker_pool *pool);

uint32_t sli_worker_pool_count(const sli_worker_pool *pool);

/*
 * The thread of a worker, with its requested (`wanted`) and actual (`got`) CPUs; valid until join.
 */
const sli_thread *sli_worker_pool_thread(const sli_worker_pool *pool, uint32_t worker);

#endif
