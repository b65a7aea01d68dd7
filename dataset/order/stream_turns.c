/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_turns.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "alloc_int.h"
#include "rng_int.h"
#include "stream_hold.h"
#include "stream_order.h"

struct stream_turns {
    const sluice_dataset *dataset;
    int stop_fd;
    atomic_bool stopped;
    stream_hold hold;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t turn;
    stream_order *order;
    uint64_t first;
    uint64_t names;    /* hash of the names of the samples before `first` */
    uint64_t next;     /* number of the next sample to take */
    sluice_status end; /* status for all later requests; OK: the stream continues */
};

sluice_status stream_turns_create(const sluice_dataset *dataset, uint64_t seed, uint64_t first,
                                  uint64_t names, stream_turns **turns_out)
{
    sluice_status st = stream_order_check(dataset);
    stream_turns *turns = sli_calloc(1, sizeof(*turns));

    if (st != SLUICE_OK || turns == NULL) {
        sli_free(turns);
        return st != SLUICE_OK ? st : sli_fail(SLUICE_E_NO_MEMORY, "a stream");
    }
    stream_hold_init(&turns->hold, dataset_source(dataset)->largest(dataset->source));
    turns->dataset = dataset;
    turns->first = first;
    turns->names = names;
    turns->next = first;
    pthread_mutex_init(&turns->lock, NULL);
    pthread_cond_init(&turns->turn, NULL);
    turns->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    st = turns->stop_fd >= 0
             ? stream_order_create(dataset, seed, &turns->order)
             : sli_fail_errno(SLUICE_E_IO, errno, "cannot create an eventfd for a stream");
    if (st != SLUICE_OK) {
        stream_turns_destroy(turns);
        return st;
    }
    *turns_out = turns;
    return SLUICE_OK;
}

void stream_turns_destroy(stream_turns *turns)
{
    if (turns == NULL) {
        return;
    }
    stream_order_destroy(turns->order);
    if (turns->stop_fd >= 0) {
        close(turns->stop_fd);
    }
    pthread_cond_destroy(&turns->turn);
    pthread_mutex_destroy(&turns->lock);
    sli_free(turns);
}

uint64_t stream_turns_add_name(uint64_t names, const char *name)
{
    return sli_mix_in(names, sli_hash_text(name));
}

/* Begins the pass, and skips the samples before the first requested one. */
static sluice_status begin_turn(stream_turns *turns, stream_item *item)
{
    sluice_status st = stream_order_begin(turns->order, &(stream_start){.stop_fd = turns->stop_fd});
    uint64_t names = 0;

    for (uint64_t i = 0; st == SLUICE_OK && i < turns->first; i++) {
        st = stream_order_next(turns->order, item);
        stream_hold_give_back(&turns->hold, item);
        if (st == SLUICE_END_OF_DATA) {
            st = sli_fail(SLUICE_E_INVALID,
                          "the stream ends after %llu samples, and the run continues after %llu",
                          (unsigned long long)i, (unsigned long long)turns->first);
        } else if (st == SLUICE_OK) {
            names = stream_turns_add_name(names, source_item_name(dataset_source(turns->dataset),
                                                                  turns->dataset->source, item));
        }
    }
    if (st == SLUICE_OK && names != turns->names) {
        st = sli_fail(SLUICE_E_INVALID,
                      "it is another stream: the names of its first %llu samples are not those "
                      "that are packed; give the one that was begun with, or name another folder",
                      (unsigned long long)turns->first);
    }
    return st;
}

static sluice_status take_next(stream_turns *turns, stream_item *item)
{
    sluice_status st = SLUICE_OK;

    if (!stream_order_in_pass(turns->order)) {
        st = begin_turn(turns, item);
    }
    if (st == SLUICE_OK) {
        st = stream_order_next(turns->order, item);
    }
    if (st == SLUICE_OK) {
        (void)stream_hold_take(&turns->hold, item); /* none is abandoned */
    }
    return st;
}

static bool is_stopped(stream_turns *turns)
{
    return atomic_load_explicit(&turns->stopped, memory_order_relaxed);
}

sluice_status stream_turns_take(stream_turns *turns, uint64_t sample, stream_item *item)
{
    sluice_status st = SLUICE_CLOSED;

    stream_hold_give_back(&turns->hold, item);
    pthread_mutex_lock(&turns->lock);
    while (turns->next < sample && turns->end == SLUICE_OK && !is_stopped(turns)) {
        pthread_cond_wait(&turns->turn, &turns->lock);
    }
    if (turns->end == SLUICE_OK && !is_stopped(turns)) {
        st = take_next(turns, item);
        turns->next++;
        turns->end = st == SLUICE_OK || st == SLUICE_END_OF_DATA ? st : SLUICE_CLOSED;
        pthread_cond_broadcast(&turns->turn);
    } else if (turns->end != SLUICE_OK) {
        st = turns->end;
    }
    pthread_mutex_unlock(&turns->lock);
    return st;
}

void stream_turns_done(stream_turns *turns, stream_item *item)
{
    stream_hold_give_back(&turns->hold, item);
}

void stream_turns_stop(stream_turns *turns)
{
    atomic_store_explicit(&turns->stopped, true, memory_order_relaxed);
    stream_hold_stop(&turns->hold);
    eventfd_write(turns->stop_fd, 1);
    pthread_mutex_lock(&turns->lock); /* another thread may hold the lock while it waits for bytes;
                                         stop_fd has woken it */
    pthread_cond_broadcast(&turns->turn);
    pthread_mutex_unlock(&turns->lock);
}
