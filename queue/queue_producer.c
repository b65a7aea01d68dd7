/* SPDX-License-Identifier: Apache-2.0 */
/* The workers' side of the queue. */
#include <assert.h>
#include <stdio.h>

#include "queue_state.h"

typedef struct room_wait {
    sli_queue *queue;
    uint64_t seq;
} room_wait;

static bool room_or_closed(void *arg)
{
    room_wait *wait = arg;

    return sli_ring_may_fill(&wait->queue->front.words, wait->seq) || queue_closed(wait->queue);
}

sluice_status sli_queue_acquire(sli_queue *queue, uint64_t seq, int64_t timeout_ns,
                                sli_batch *batch_out)
{
    room_wait wait = {queue, seq};
    uint8_t *slot;

    if (!sli_ring_may_fill(&queue->front.words, seq) &&
        !sli_event_await(&queue->front.room, room_or_closed, &wait, timeout_ns)) {
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
