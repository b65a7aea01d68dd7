/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_pool_int.h"

#include <stdio.h>

#include "alloc_int.h"
#include "status_int.h"

typedef struct pool_worker {
    sli_thread thread;
    sli_worker_pool *pool;
    uint32_t index;
} pool_worker;

/*
 * A start barrier: workers wait until all threads exist. If a thread cannot be started, none runs
 * its function. After a successful start the `got` of each worker is valid.
 */
typedef enum gate { GATE_SHUT = 0, GATE_OPEN, GATE_LEAVE } gate;

struct sli_worker_pool {
    void (*run)(void *arg, uint32_t worker);
    void *arg;
    uint32_t count;
    uint32_t fork_generation;
    pool_worker *workers;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signals a change of the two fields below, which the lock guards */
    uint32_t arrived;
    gate gate;
};

static void worker_main(void *arg)
{
    pool_worker *self = arg;
    sli_worker_pool *pool = self->pool;
    bool run;

    pthread_mutex_lock(&pool->lock);
    pool->arrived++;
    pthread_cond_broadcast(&pool->changed);
    while (pool->gate == GATE_SHUT) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    run = pool->gate == GATE_OPEN;
    pthread_mutex_unlock(&pool->lock);
    if (run) {
        pool->run(pool->arg, self->index);
    }
}

/* Sets the gate: GATE_OPEN once all threads have arrived, GATE_LEAVE immediately. */
static void set_gate(sli_worker_pool *pool, gate to)
{
    pthread_mutex_lock(&pool->lock);
    while (to == GATE_OPEN && pool->arrived < pool->count) {
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    pool->gate = to;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

static sluice_status start_threads(sli_worker_pool *pool, const sli_placement *placement,
                                   const char *name)
{
    for (uint32_t i = 0; i < pool->count; i++) {
        pool_worker *self = &pool->workers[i];
        char full[32];
        sluice_status st;

        self->pool = pool;
        self->index = i;
        snprintf(full, sizeof(full), "%.9s/%u", name, i); /* the number is never truncated */
        st = sli_thread_start(&self->thread, full, &placement->worker_cpus[i], worker_main, self);
        if (st != SLUICE_OK) {
            return st;
        }
    }
    return SLUICE_OK;
}

sluice_status sli_worker_pool_start(const sli_placement *placement, const char *name,
                                    void (*run)(void *arg, uint32_t worker), void *arg,
                                    sli_worker_pool **pool_out)
{
    sli_worker_pool *pool = sli_calloc(1, sizeof(*pool));
    sluice_status st;

    if (pool == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "workers %s", name);
    }
    pool->run = run;
    pool->arg = arg;
    pool->count = placement->worker_count;
    pool->fork_generation = sli_fork_generation();
    pool->workers = sli_calloc(pool->count, sizeof(*pool->workers));
    if (pool->workers == NULL) {
        st = sli_fail(SLUICE_E_NO_MEMORY, "%u workers %s", pool->count, name);
        goto err_free_pool;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->changed, NULL);
    st = start_threads(pool, placement, name);
    if (st != SLUICE_OK) {
        goto err_join;
    }
    set_gate(pool, GATE_OPEN);
    *pool_out = pool;
    return SLUICE_OK;

err_join:
    set_gate(pool, GATE_LEAVE);
    sli_worker_pool_join(pool);
    return st;
err_free_pool:
    sli_free(pool);
    return st;
}

/* True if this process created the pool. A forked child has no threads to wait for. */
static bool is_of_process(const sli_worker_pool *pool)
{
    return pool->fork_generation == sli_fork_generation();
}

void sli_worker_pool_wait(sli_worker_pool *pool)
{
    for (uint32_t i = 0; i < pool->count && is_of_process(pool); i++) {
        sli_thread_join(&pool->workers[i].thread);
    }
}

void sli_worker_pool_join(sli_worker_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    sli_worker_pool_wait(pool);
    if (is_of_process(pool)) {
        pthread_cond_destroy(&pool->changed);
        pthread_mutex_destroy(&pool->lock);
    }
    sli_free(pool->workers);
    sli_free(pool);
}

uint32_t sli_worker_pool_count(const sli_worker_pool *pool)
{
    return pool->count;
}

const sli_thread *sli_worker_pool_thread(const sli_worker_pool *pool, uint32_t worker)
{
    return &pool->workers[worker].thread;
}
