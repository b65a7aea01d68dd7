/* SPDX-License-Identifier: Apache-2.0 */
#include "ordered_run.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "alloc_int.h"
#include "error_int.h"
#include "placement_int.h"
#include "status_int.h"
#include "stop_int.h"
#include "thread_interrupt_int.h"
#include "worker_pool_int.h"

/*
 * Limit on items that were begun but not yet taken: high enough that workers can continue during a
 * slow item.
 */
enum { WINDOW = 256 };

/* Interval at which stop requests are polled while no item is ready. */
static const long STOP_POLL_NS = 50000000;

typedef struct ordered_item {
    bool is_made;
    void *made;
    size_t bytes;
    sluice_status status;
    sli_error *error; /* error if status is not OK; NULL: its allocation failed */
} ordered_item;

typedef struct ordered_state {
    const ordered_job *job;
    pthread_mutex_t lock;       /* guards the fields below */
    pthread_cond_t room;        /* signalled when an item was taken, and when the run ends */
    pthread_cond_t made;        /* signalled when the next item to take is ready */
    uint64_t next;              /* number of the next item to begin */
    uint64_t taken;             /* number of the next item to take */
    size_t bytes;               /* bytes of the items that are ready but not taken */
    atomic_bool over;           /* workers read it without the lock, too */
    ordered_item items[WINDOW]; /* indexed by item modulo WINDOW */
} ordered_state;

/* ---- workers -------------------------------------------------------------------------------- */

/* The interrupt of the workers: nothing that they make now will be taken. */
static bool is_over(void *arg)
{
    const ordered_state *s = arg;

    return atomic_load_explicit(&s->over, memory_order_relaxed) ||
           sli_stop_is_requested(s->job->stop);
}

static bool has_work(const ordered_state *s)
{
    return !atomic_load_explicit(&s->over, memory_order_relaxed) && s->next < s->job->end;
}

/*
 * True if another item can be begun. The next item to take can always be begun; otherwise the run
 * could not progress.
 */
static bool has_room(const ordered_state *s)
{
    return s->next == s->taken || (s->next < s->taken + WINDOW && s->bytes < s->job->budget);
}

static void make_items(void *arg, uint32_t worker)
{
    ordered_state *s = arg;
    const sli_interrupt interrupt = {is_over, s};

    sli_thread_interrupt(&interrupt);
    pthread_mutex_lock(&s->lock);
    for (;;) {
        ordered_item made = {.is_made = true};
        uint64_t item;

        while (has_work(s) && !has_room(s)) {
            pthread_cond_wait(&s->room, &s->lock);
        }
        if (!has_work(s)) {
            break;
        }
        item = s->next++;
        pthread_mutex_unlock(&s->lock);
        made.status = s->job->make(s->job->arg, worker, item, &made.made, &made.bytes);
        if (made.status != SLUICE_OK) {
            made.error = sli_calloc(1, sizeof(*made.error));
            if (made.error != NULL) {
                sli_error_take(made.status, made.error);
            }
        }
        pthread_mutex_lock(&s->lock);
        s->items[item % WINDOW] = made;
        s->bytes += made.bytes;
        if (item == s->taken) {
            pthread_cond_signal(&s->made);
        }
    }
    pthread_mutex_unlock(&s->lock);
    sli_thread_interrupt(NULL);
    if (s->job->leave != NULL) {
        s->job->leave(s->job->arg, worker);
    }
}

/* ---- the caller ----------------------------------------------------------------------------- */

/* Waits for the next item. Returns STOPPED if a stop was requested. */
static sluice_status await_item(ordered_state *s, ordered_item *item_out)
{
    ordered_item *item = &s->items[s->taken % WINDOW];
    sluice_status st = SLUICE_OK;

    pthread_mutex_lock(&s->lock);
    while (!item->is_made && !sli_stop_is_requested(s->job->stop)) {
        struct timespec until;

        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += STOP_POLL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&s->made, &s->lock, &until);
    }
    if (sli_stop_is_requested(s->job->stop)) {
        st = SLUICE_STOPPED;
    } else {
        *item_out = *item;
        *item = (ordered_item){.is_made = false};
        s->taken++;
        s->bytes -= item_out->bytes;
        pthread_cond_broadcast(&s->room);
    }
    pthread_mutex_unlock(&s->lock);
    return st;
}

/* Sets an item's error as the last error of the caller's thread. */
static sluice_status raise_error(const ordered_item *item)
{
    sli_error error;

    if (item->error != NULL) {
        return sli_error_raise(item->error);
    }
    sli_error_set(item->status, NULL, &error);
    return sli_error_raise(&error);
}

static sluice_status take_items(ordered_state *s)
{
    sluice_status st = SLUICE_OK;

    for (uint64_t i = s->job->first; st == SLUICE_OK && i < s->job->end; i++) {
        ordered_item item = {.is_made = false};

        st = await_item(s, &item);
        if (st != SLUICE_OK) {
            return st;
        }
        if (item.status == SLUICE_OK) {
            st = s->job->take(s->job->arg, i, item.made);
        } else if (item.status == SLUICE_CLOSED) {
            st = SLUICE_STOPPED; /* a stop request that has been cleared meanwhile */
        } else {
            st = raise_error(&item);
        }
        sli_free(item.error);
    }
    return st;
}

static void end_run(ordered_state *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_store_explicit(&s->over, true, memory_order_relaxed);
    pthread_cond_broadcast(&s->room);
    pthread_mutex_unlock(&s->lock);
    if (s->job->cancel != NULL) {
        s->job->cancel(s->job->arg);
    }
}

static void drop_items(ordered_state *s)
{
    for (size_t i = 0; i < WINDOW; i++) {
        if (s->items[i].made != NULL) {
            s->job->drop(s->items[i].made);
        }
        sli_free(s->items[i].error);
    }
}

/* Starts the workers and places them according to this machine's topology. */
static sluice_status start_workers(ordered_state *s, sli_worker_pool **pool_out)
{
    const sli_placement_request request = {.workers = s->job->workers, .node = -1};
    sli_topology *topology = NULL;
    sli_placement *placement = NULL;
    sluice_status st = sli_topology_open(NULL, &topology);

    if (st == SLUICE_OK) {
        st = sli_placement_plan(topology, &request, &placement);
    }
    if (st == SLUICE_OK) {
        st = sli_worker_pool_start(placement, "sluice/o", make_items, s, pool_out);
    }
    sli_placement_free(placement);
    sli_topology_close(topology);
    return st;
}

sluice_status ordered_run(const ordered_job *job)
{
    ordered_state *s = sli_calloc(1, sizeof(*s));
    sli_worker_pool *pool = NULL;
    sluice_status st;

    if (s == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a run of workers");
    }
    s->job = job;
    s->next = job->first;
    s->taken = job->first;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->room, NULL);
    sli_cond_init(&s->made);
    st = start_workers(s, &pool);
    if (st == SLUICE_OK) {
        st = take_items(s);
    }
    end_run(s);
    sli_worker_pool_join(pool);
    drop_items(s);
    pthread_cond_destroy(&s->made);
    pthread_cond_destroy(&s->room);
    pthread_mutex_destroy(&s->lock);
    sli_free(s);
    return st;
}
