/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed set of pinned threads that run one function each. */
#ifndef SLUICE_WORKER_POOL_INT_H
#define SLUICE_WORKER_POOL_INT_H

#include "placement_int.h"

typedef struct sli_worker_pool sli_worker_pool;

/*
 * Starts placement->worker_count threads, each run(arg, worker), named "NAME/worker" (of NAME the
 * first 9 characters). When not all can be started, none runs anything. The placement is copied.
 */
sluice_status sli_worker_pool_start(const sli_placement *placement, const char *name,
                                    void (*run)(void *arg, uint32_t worker), void *arg,
                                    sli_worker_pool **pool_out);

/* Waits until every run() has returned; the pool can still be asked where they ran. */
void sli_worker_pool_wait(sli_worker_pool *pool);

/* Waits until every run() has returned, and frees the pool. NULL is fine. */
void sli_worker_pool_join(sli_worker_pool *pool);

uint32_t sli_worker_pool_count(const sli_worker_pool *pool);

/* Where a worker was to run and where it does (`got` is filled in); valid until join. */
const sli_thread *sli_worker_pool_thread(const sli_worker_pool *pool, uint32_t worker);

#endif
