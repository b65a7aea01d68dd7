/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copier: takes batches in order from staging, issues one copy for each into its slot, and lets
 * the copy stream publish them. Staging is free again as soon as its copy is done.
 */
#include "queue_state.h"

typedef struct copier_wait {
    sli_queue *queue;
    uint64_t seq;
} copier_wait;

static bool staged_or_closed(void *arg)
{
    copier_wait *wait = arg;

    return sli_ring_peek(&wait->queue->front.words, wait->seq) != SLI_RING_EMPTY ||
           queue_closed(wait->queue);
}

static bool slot_free_or_closed(void *arg)
{
    copier_wait *wait = arg;

    return sli_ring_may_fill(&wait->queue->device_ring.words, wait->seq) ||
           queue_closed(wait->queue);
}

/* Publishes an error at seq, which ends the queue's life as far as the consumer is concerned. */
static void publish_error(sli_queue *queue, uint64_t seq, sluice_status status)
{
    queue_keep_error(queue, seq, status, sluice_last_error());
    queue_ring_publish(&queue->device_ring, seq, SLI_RING_ERROR);
}

/* One batch into its slot; the stream then says so to the consumer and to the workers. */
static sluice_status copy_batch(sli_queue *queue, uint64_t seq)
{
    queue_ring *device = &queue->device_ring;
    uint64_t slot = sli_ring_slot(&device->words, seq);
    uint64_t start = sli_ticks();
    sluice_status st;

    st = sli_stream_copy(&queue->copy_stream, queue_slot(queue, device, seq),
                         queue_slot(queue, &queue->front, seq), queue->layout.slot_bytes);
    if (st == SLUICE_OK) {
        st = sli_stream_write(&queue->copy_stream, queue->front.words.consumed, seq,
                              &queue->front.room);
    }
    if (st == SLUICE_OK) {
        st = sli_stream_write(&queue->copy_stream, &device->words.ready[slot],
                              sli_ring_word(seq, SLI_RING_BATCH), &device->ready);
    }
    if (st == SLUICE_OK) {
        st = sli_stream_wait(&queue->copy_stream, -1);
    }
    if (st == SLUICE_OK) {
        atomic_fetch_add_explicit(&queue->bytes_copied, queue->layout.slot_bytes,
                                  memory_order_relaxed);
        if (queue->copy_counters != NULL) {
            sli_counters_item(queue->copy_counters, sli_ticks() - start, queue->layout.slot_bytes);
        }
    }
    return st;
}

/* Carries seq over; false when nothing follows. */
static bool carry(sli_queue *queue, uint64_t seq)
{
    copier_wait wait = {queue, seq};
    uint64_t start = sli_ticks();
    sli_ring_kind kind;
    sluice_status st = SLUICE_OK;

    queue_ring_look(&queue->front);
    sli_event_await(&queue->front.ready, staged_or_closed, &wait, -1);
    if (queue->copy_counters != NULL) {
        sli_counter_add(&queue->copy_counters->wait_input_ticks, sli_ticks() - start);
    }
    start = sli_ticks();
    sli_event_await(&queue->device_ring.room, slot_free_or_closed, &wait, -1);
    if (queue->copy_counters != NULL) {
        sli_counter_add(&queue->copy_counters->wait_room_ticks, sli_ticks() - start);
    }
    if (queue_closed(queue)) {
        return false;
    }
    kind = sli_ring_peek(&queue->front.words, seq);
    if (kind == SLI_RING_BATCH) {
        st = copy_batch(queue, seq);
        if (st == SLUICE_OK) {
            return true;
        }
        publish_error(queue, seq, st);
        return false;
    }
    queue_ring_publish(&queue->device_ring, seq, kind);
    return false;
}

static void copier_main(void *arg)
{
    sli_queue *queue = arg;
    uint64_t seq = 1;

    while (carry(queue, seq)) {
        seq++;
    }
}

sluice_status queue_copier_start(sli_queue *queue, const sli_cpus *cpus)
{
    sluice_status st = sli_stream_open(queue->device, "sluice/copy", cpus, &queue->copy_stream);

    if (st == SLUICE_OK) {
        st = sli_thread_start(&queue->copier, "sluice/copier", cpus, copier_main, queue);
    }
    return st;
}

void queue_copier_stop(sli_queue *queue)
{
    sli_thread_join(&queue->copier);
    sli_stream_close(&queue->copy_stream);
}
