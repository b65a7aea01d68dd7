/* SPDX-License-Identifier: Apache-2.0 */
/* The producer side of the queue, called by workers. */
#include <assert.h>

#include "clock_int.h"
#include "queue_state.h"

typedef struct room_wait {
    sli_queue *queue;
    uint64_t seq;
    const sli_room_request *request; /* NULL: waits for a free slot only */
    uint64_t consumed;               /* the ring's `consumed` at the last poll */
} room_wait;

static bool has_other_reason(const room_wait *wait)
{
    const sli_room_request *request = wait->request;

    return queue_closed(wait->queue) || (request != NULL && request->other(request->arg));
}

static bool room_or_closed(void *arg)
{
    const room_wait *wait = arg;

    return sli_ring_may_fill(&wait->queue->front.words, wait->seq) || has_other_reason(wait);
}

static bool consumed_or_closed(void *arg)
{
    const room_wait *wait = arg;

    return sli_ring_load_acquire(wait->queue->front.words.consumed) != wait->consumed ||
           has_other_reason(wait);
}

static bool room_or_no_poller(void *arg)
{
    const room_wait *wait = arg;

    return room_or_closed(arg) ||
           !atomic_load_explicit(&wait->queue->polling, memory_order_acquire);
}

/* Kernels release slots without notifying an event: one worker polls, and the others sleep. */
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
            sli_event_await(&queue->front.room, room_or_no_poller, wait, left_ns);
            continue;
        }
        wait->consumed = sli_ring_load_acquire(queue->front.words.consumed);
        if (!room_or_closed(wait)) {
            queue_poll(&queue->front.room, consumed_or_closed, wait, left_ns);
        }
        atomic_store_explicit(&queue->polling, false, memory_order_release);
        queue_made_room(queue); /* wakes a sleeping worker, which polls next */
    }
    return true;
}

static bool await_room(room_wait *wait, int64_t timeout_ns)
{
    return wait->queue->pull
               ? await_kernels(wait, timeout_ns)
               : sli_event_await(&wait->queue->front.room, room_or_closed, wait, timeout_ns);
}

uint64_t sli_queue_room(const sli_queue *queue)
{
    return sli_ring_room(&queue->front.words);
}

bool sli_queue_await_room(sli_queue *queue, const sli_room_request *request)
{
    const uint64_t half = queue->slots / 2;
    const uint64_t slots = request->slots < half ? request->slots : half;
    room_wait wait = {queue, request->seq, request, 0};

    /*
     * The first `slots` batches never wait. Waiting for up to half of the slots is safe: that many
     * are free by the time the consumer has released the last published batch, and a consumer that
     * holds batches calls sli_queue_starve().
     */
    if (!queue->pull && request->seq > queue->slots) {
        const uint64_t first = request->seq - queue->slots;

        atomic_store_explicit(&queue->room_first, first, memory_order_relaxed);
        atomic_store_explicit(&queue->room_at, first + (slots > 1 ? slots - 1 : 0),
                              memory_order_relaxed);
    }
    atomic_store_explicit(&queue->room_wakes, 1, memory_order_relaxed);
    await_room(&wait, -1);
    return !queue_closed(queue);
}

bool sli_queue_has_waiters(const sli_queue *queue)
{
    /* Workers call this for every claim; a relaxed load does not contend for the cache line. */
    return atomic_load_explicit(&queue->front.room.waiters, memory_order_relaxed) > 0;
}

void sli_queue_wake(sli_queue *queue, uint32_t most)
{
    if (sli_queue_has_waiters(queue)) {
        sli_event_notify_some(&queue->front.room, most);
    }
}

sluice_status sli_queue_acquire(sli_queue *queue, uint64_t seq, int64_t timeout_ns,
                                sli_batch *batch_out)
{
    room_wait wait = {queue, seq, NULL, 0};
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
    batch_out->extent = 0;
    return SLUICE_OK;
}

static queue_slot_state *slot_state(sli_queue *queue, uint64_t seq)
{
    return &queue->slot_states[sli_ring_slot(&queue->front.words, seq)];
}

bool sli_queue_add_rows(sli_queue *queue, uint64_t seq, uint32_t count)
{
    /*
     * Pairs with the same operation of other workers: release publishes this worker's rows, acquire
     * lets the last worker see the rows of all.
     */
    const uint32_t done =
        atomic_fetch_add_explicit(&slot_state(queue, seq)->rows_done, count, memory_order_acq_rel) +
        count;

    assert(done <= queue->layout.batch_size);
    return done == queue->layout.batch_size;
}

bool sli_queue_begin_again(sli_queue *queue, uint64_t seq)
{
    queue_slot_state *state = slot_state(queue, seq);
    bool failed;

    pthread_mutex_lock(&state->lock);
    failed = state->error.status != SLUICE_OK;
    pthread_mutex_unlock(&state->lock);
    if (!failed) {
        /* The caller notifies the workers that fill the rows again, after this store. */
        atomic_store_explicit(&state->rows_done, 0, memory_order_relaxed);
    }
    return !failed;
}

uint32_t sli_queue_rows_done(sli_queue *queue, uint64_t seq)
{
    return atomic_load_explicit(&slot_state(queue, seq)->rows_done, memory_order_relaxed);
}

void sli_queue_row_failed(sli_queue *queue, uint64_t seq, uint32_t row, sluice_status status,
                          const char *text)
{
    queue_slot_state *state = slot_state(queue, seq);

    pthread_mutex_lock(&state->lock);
    if (state->error.status == SLUICE_OK || row < state->error_row) {
        sli_error_set(status, text, &state->error);
        state->error_row = row;
    }
    pthread_mutex_unlock(&state->lock);
}

void sli_queue_publish(sli_queue *queue, uint64_t seq)
{
    queue_slot_state *state = slot_state(queue, seq);
    sli_batch_header *header = (sli_batch_header *)(void *)queue_slot(queue, &queue->front, seq);
    sli_ring_kind kind = SLI_RING_BATCH;

    header->seq = seq;
    *queue_header(queue, seq) = *header;
    pthread_mutex_lock(&state->lock);
    if (state->error.status != SLUICE_OK) {
        queue_keep_error(queue, seq, &state->error);
        state->error.status = SLUICE_OK;
        kind = SLI_RING_ERROR;
    }
    pthread_mutex_unlock(&state->lock);
    /*
     * Relaxed: the ring's words order this store before the next batch in this slot. Rows of that
     * batch are filled only after this batch is released.
     */
    atomic_store_explicit(&state->rows_done, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&queue->produced, kind == SLI_RING_BATCH, memory_order_relaxed);
    queue_ring_publish(&queue->front, seq, kind);
}

void sli_queue_publish_end(sli_queue *queue, uint64_t seq)
{
    queue_ring_publish(&queue->front, seq, SLI_RING_END);
}
