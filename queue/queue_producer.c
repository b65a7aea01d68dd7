/* SPDX-License-Identifier: Apache-2.0 */
/* The workers' side of the queue. */
#include <assert.h>
#include <stdio.h>

#include "clock_int.h"
#include "queue_state.h"

typedef struct room_wait {
    sli_queue *queue;
    uint64_t seq;
    uint64_t consumed; /* when it was last looked at */
} room_wait;

static bool room_or_closed(void *arg)
{
    room_wait *wait = arg;

    return sli_ring_may_fill(&wait->queue->front.words, wait->seq) || queue_closed(wait->queue);
}

static bool moved_or_closed(void *arg)
{
    const room_wait *wait = arg;

    return sli_ring_load_acquire(wait->queue->front.words.consumed) != wait->consumed ||
           queue_closed(wait->queue);
}

static bool room_or_nobody_polls(void *arg)
{
    const room_wait *wait = arg;

    return room_or_closed(arg) ||
           !atomic_load_explicit(&wait->queue->polling, memory_order_acquire);
}

/* Waits for room that kernels make, which notify nobody: one of the workers looks for all. */
static bool await_kernels(room_wait *wait, int64_t timeout_ns)
{
    sli_queue *queue = wait->queue;
    const int64_t start = sli_now_ns();
    int64_t left_ns = timeout_ns;

    while (!room_or_closed(wait)) {
        left_ns = timeout_ns < 0 ? -1 : timeout_ns - (sli_now_ns() - start);
        if (timeout_ns >= 0 && left_ns <= 0) {
            return false;
        }
        if (atomic_exchange_explicit(&queue->polling, true, memory_order_acq_rel)) {
            sli_event_await(&queue->front.room, room_or_nobody_polls, wait, left_ns);
            continue;
        }
        wait->consumed = sli_ring_load_acquire(queue->front.words.consumed);
        if (!room_or_closed(wait)) {
            queue_poll(&queue->front.room, moved_or_closed, wait, left_ns);
        }
        atomic_store_explicit(&queue->polling, false, memory_order_release);
        sli_event_notify(&queue->front.room);
    }
    return true;
}

static bool await_room(room_wait *wait, int64_t timeout_ns)
{
    return wait->queue->pull
               ? await_kernels(wait, timeout_ns)
               : sli_event_await(&wait->queue->front.room, room_or_closed, wait, timeout_ns);
}

sluice_status sli_queue_acquire(sli_queue *queue, uint64_t seq, int64_t timeout_ns,
                                sli_batch *batch_out)
{
    room_wait wait = {queue, seq, 0};
    uint8_t *slot;

    if (!sli_ring_may_fill(&queue->front.words, seq) && !await_room(&wait, timeout_ns)) {
        return SLUICE_TIMEOUT;
    }
    if (queue_closed(queue)) {
        return SLUICE_CLOSED;
    }
    slot = queue_slot(queue, &queue->front, seq);
    batch_out->header = (sli_batch_header *)(void *)slot;
    batch_out->row_flags = slot + queue->layout.row_flags_offset;
    batch_out->data = slot;
    batch_out->samples = queue_samples(queue, seq);
    return SLUICE_OK;
}

static queue_place *place_of(sli_queue *queue, uint64_t seq)
{
    return &queue->places[sli_ring_slot(&queue->front.words, seq)];
}

bool sli_queue_row_done(sli_queue *queue, uint64_t seq)
{
    /* Pairs with itself. Release: this worker's row; acquire: the last one sees all others' rows.
     */
    const uint32_t done =
        atomic_fetch_add_explicit(&place_of(queue, seq)->rows_done, 1, memory_order_acq_rel) + 1;

    assert(done <= queue->layout.batch_size);
    return done == queue->layout.batch_size;
}

bool sli_queue_begin_again(sli_queue *queue, uint64_t seq)
{
    queue_place *place = place_of(queue, seq);
    bool failed;

    pthread_mutex_lock(&place->lock);
    failed = place->error != SLUICE_OK;
    pthread_mutex_unlock(&place->lock);
    if (!failed) {
        /* Who fills them anew is told so by the caller, behind this. */
        atomic_store_explicit(&place->rows_done, 0, memory_order_relaxed);
    }
    return !failed;
}

uint32_t sli_queue_rows_done(sli_queue *queue, uint64_t seq)
{
    return atomic_load_explicit(&place_of(queue, seq)->rows_done, memory_order_relaxed);
}

void sli_queue_row_failed(sli_queue *queue, uint64_t seq, uint32_t row, sluice_status status,
                          const char *text)
{
    queue_place *place = place_of(queue, seq);

    pthread_mutex_lock(&place->lock);
    if (place->error == SLUICE_OK || row < place->error_row) {
        place->error = status;
        place->error_row = row;
        snprintf(place->error_text, sizeof(place->error_text), "%s", text);
    }
    pthread_mutex_unlock(&place->lock);
}

void sli_queue_publish(sli_queue *queue, uint64_t seq)
{
    queue_place *place = place_of(queue, seq);
    sli_batch_header *header = (sli_batch_header *)(void *)queue_slot(queue, &queue->front, seq);
    sli_ring_kind kind = SLI_RING_BATCH;

    header->seq = seq;
    *queue_header(queue, seq) = *header;
    pthread_mutex_lock(&place->lock);
    if (place->error != SLUICE_OK) {
        queue_keep_error(queue, seq, place->error, place->error_text);
        place->error = SLUICE_OK;
        kind = SLI_RING_ERROR;
    }
    pthread_mutex_unlock(&place->lock);
    /* Ordered before the next batch here by the words: its rows wait for the release of this one.
     */
    atomic_store_explicit(&place->rows_done, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&queue->produced, kind == SLI_RING_BATCH, memory_order_relaxed);
    queue_ring_publish(&queue->front, seq, kind);
}

void sli_queue_publish_end(sli_queue *queue, uint64_t seq)
{
    queue_ring_publish(&queue->front, seq, SLI_RING_END);
}
