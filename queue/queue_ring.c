/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of the queue: publishing, waking workers, polling, occupancy. */
#include "clock_int.h"
#include "queue_state.h"

/* Duration of queue_poll()'s spin, and its first and longest back-off. */
enum { SPIN_NS = 10000, FIRST_BACKOFF_NS = 20000, LAST_BACKOFF_NS = 500000 };

bool queue_poll(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns)
{
    const int64_t start = sli_now_ns();
    int64_t backoff_ns = FIRST_BACKOFF_NS;
    int64_t waited_ns = 0;

    while (waited_ns < SPIN_NS && (timeout_ns < 0 || waited_ns < timeout_ns)) {
        if (ready(arg)) {
            return true;
        }
        sli_relax();
        waited_ns = sli_now_ns() - start;
    }
    while (timeout_ns < 0 || waited_ns < timeout_ns) {
        const bool last = timeout_ns >= 0 && timeout_ns - waited_ns < backoff_ns;

        if (sli_event_await(event, ready, arg, last ? timeout_ns - waited_ns : backoff_ns)) {
            return true;
        }
        backoff_ns = 2 * backoff_ns < LAST_BACKOFF_NS ? 2 * backoff_ns : LAST_BACKOFF_NS;
        waited_ns = sli_now_ns() - start;
    }
    return ready(arg);
}

void queue_ring_publish(queue_ring *ring, uint64_t seq, sli_ring_kind kind)
{
    sli_ring_publish(&ring->words, seq, kind);
    sli_event_notify(&ring->ready);
}

void queue_made_room(sli_queue *queue)
{
    sli_event *room = &queue->front.room;

    /* Relaxed loads suffice: either room_at and room_wakes are the values of a waiting worker, or
     * that worker sees the free slot before it sleeps. */
    if (sli_event_has_waiters(room) &&
        sli_ring_load_acquire(queue->front.words.consumed) >=
            atomic_load_explicit(&queue->room_at, memory_order_relaxed)) {
        sli_event_notify_some(room, atomic_load_explicit(&queue->room_wakes, memory_order_relaxed));
    }
}

void sli_queue_starve(sli_queue *queue)
{
    const uint64_t consumed = sli_ring_load_acquire(queue->front.words.consumed);

    /* Relaxed loads suffice, as in queue_made_room(): the last release came before. */
    if (sli_event_has_waiters(&queue->front.room) &&
        consumed >= atomic_load_explicit(&queue->room_first, memory_order_relaxed) &&
        consumed < atomic_load_explicit(&queue->room_at, memory_order_relaxed)) {
        sli_event_notify_some(&queue->front.room, 1);
    }
}

/* The number of consecutive filled slots, starting with the oldest unreleased one. */
static uint64_t ring_depth(const sli_ring *ring)
{
    const uint64_t first = sli_ring_load_acquire(ring->consumed) + 1;
    uint64_t depth = 0;

    /*
     * Not sli_ring_peek(): in graph mode the device releases slots while the host samples. A slot
     * that has been refilled meanwhile (larger seq) counts as filled.
     */
    while (depth < ring->slots &&
           sli_ring_seq(sli_ring_load_acquire(&ring->ready[sli_ring_slot(ring, first + depth)])) >=
               first + depth) {
        depth++;
    }
    return depth;
}

void queue_ring_sample_depth(queue_ring *ring)
{
    const uint64_t filled = ring_depth(&ring->words);

    sli_counter_add(&ring->depth_samples, 1);
    sli_counter_add(&ring->depth_sum, filled);
    sli_counter_add(&ring->empty, filled == 0);
    sli_counter_add(&ring->full, filled >= ring->words.slots);
}

void queue_ring_stats(const queue_ring *ring, sli_ring_stats *stats_out)
{
    stats_out->capacity = ring->words.slots;
    stats_out->depth_samples = atomic_load_explicit(&ring->depth_samples, memory_order_relaxed);
    stats_out->depth_sum = atomic_load_explicit(&ring->depth_sum, memory_order_relaxed);
    stats_out->empty = atomic_load_explicit(&ring->empty, memory_order_relaxed);
    stats_out->full = atomic_load_explicit(&ring->full, memory_order_relaxed);
}
