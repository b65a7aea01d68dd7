/* SPDX-License-Identifier: Apache-2.0 */
/* Making and taking apart the queue, its rings and what it counts. */
#include "queue_state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "clock_int.h"

/* How long queue_poll() looks without a pause, and its first and its longest nap. */
enum { POLL_NS = 10000, FIRST_NAP_NS = 20000, LAST_NAP_NS = 500000 };

/* Is the conversion one of a column's rows? Its caller made both. */
static bool conversion_fits(const sli_queue_config *config)
{
    const sli_conversion *conversion = config->conversion;

    return conversion == NULL ||
           (config->conversion_column < config->layout->column_count &&
            config->layout->row_bytes[config->conversion_column] ==
                (size_t)conversion->height * conversion->width * conversion->channels *
                    sluice_dtype_size(conversion->from));
}

sluice_status sli_queue_create(const sli_queue_config *config, sli_queue **queue_out)
{
    sli_queue *queue;
    sluice_status st;

    assert(config->slots >= 2 && config->slots <= SLI_MAX_SLOTS);
    if (!conversion_fits(config)) {
        return sli_fail(SLUICE_E_INVALID, "the conversion does not fit column %u of the batch",
                        config->conversion_column);
    }
    queue = sli_calloc(1, sizeof(*queue));
    if (queue == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a queue of %u slots", config->slots);
    }
    pthread_mutex_init(&queue->error_lock, NULL);
    queue->device = config->device;
    queue->layout = *config->layout;
    queue->slots = config->slots;
    queue->kernels = config->device->caps.kernels;
    queue->pull = queue->kernels && config->device->caps.pull;
    queue->copy_counters = config->copy_counters;
    if (config->conversion != NULL) {
        queue->converts = true;
        queue->conversion = *config->conversion;
        queue->conversion_column = config->conversion_column;
    }
    st = queue_take_memory(queue, config);
    if (st != SLUICE_OK) {
        sli_queue_destroy(queue);
        return st;
    }
    *queue_out = queue;
    return SLUICE_OK;
}

sluice_status sli_queue_start(sli_queue *queue, const sli_cpus *copier_cpus)
{
    return queue->back == &queue->device_ring ? queue_copier_start(queue, copier_cpus) : SLUICE_OK;
}

void sli_queue_destroy(sli_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    sli_queue_stop(queue);
    queue_free_memory(queue);
    pthread_mutex_destroy(&queue->error_lock);
    sli_free(queue);
}

void sli_queue_stop(sli_queue *queue)
{
    sli_queue_close(queue);
    queue_copier_stop(queue);
}

void sli_queue_close(sli_queue *queue)
{
    /* Pairs with the acquire load in queue_closed(). */
    atomic_store_explicit(&queue->closed, true, memory_order_release);
    sli_event_notify(&queue->front.ready);
    sli_event_notify(&queue->front.room);
    sli_event_notify(&queue->device_ring.ready);
    sli_event_notify(&queue->device_ring.room);
}

bool queue_poll(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns)
{
    const int64_t start = sli_now_ns();
    int64_t slice_ns = FIRST_NAP_NS;
    int64_t waited_ns = 0;

    while (waited_ns < POLL_NS && (timeout_ns < 0 || waited_ns < timeout_ns)) {
        if (ready(arg)) {
            return true;
        }
        sli_relax();
        waited_ns = sli_now_ns() - start;
    }
    while (timeout_ns < 0 || waited_ns < timeout_ns) {
        const bool last = timeout_ns >= 0 && timeout_ns - waited_ns < slice_ns;

        if (sli_event_await(event, ready, arg, last ? timeout_ns - waited_ns : slice_ns)) {
            return true;
        }
        slice_ns = 2 * slice_ns < LAST_NAP_NS ? 2 * slice_ns : LAST_NAP_NS;
        waited_ns = sli_now_ns() - start;
    }
    return ready(arg);
}

void queue_ring_publish(queue_ring *ring, uint64_t seq, sli_ring_kind kind)
{
    sli_ring_publish(&ring->words, seq, kind);
    sli_event_notify(&ring->ready);
}

void queue_ring_release(queue_ring *ring, uint64_t seq)
{
    sli_ring_release(&ring->words, seq);
    sli_event_notify(&ring->room);
}

/* Places in a row that hold something, from the oldest that is not yet released. */
static uint64_t ring_depth(const sli_ring *ring)
{
    const uint64_t first = sli_ring_load_acquire(ring->consumed) + 1;
    uint64_t depth = 0;

    /* Not peek: in graph mode the host looks while the device releases, and a place that was filled
     * anew meanwhile counts as filled. */
    while (depth < ring->slots &&
           sli_ring_seq(sli_ring_load_acquire(&ring->ready[sli_ring_slot(ring, first + depth)])) >=
               first + depth) {
        depth++;
    }
    return depth;
}

void queue_ring_look(queue_ring *ring)
{
    const uint64_t filled = ring_depth(&ring->words);

    sli_counter_add(&ring->looks, 1);
    sli_counter_add(&ring->depth_sum, filled);
    sli_counter_add(&ring->empty, filled == 0);
    sli_counter_add(&ring->full, filled >= ring->words.slots);
}

uint32_t sli_queue_ready(const sli_queue *queue, uint64_t seq)
{
    const sli_ring *ring = &queue->back->words;
    uint32_t count = 0;

    while (count < queue->slots && !queue_closed(queue)) {
        const uint64_t word = sli_ring_load_acquire(&ring->ready[sli_ring_slot(ring, seq + count)]);

        /* Larger: filled anew after the consumer has gone on. Flags are larger than any seq. */
        if (word < seq + count || word != sli_ring_seq(word)) {
            break;
        }
        count++;
    }
    return count;
}

void queue_keep_error(sli_queue *queue, uint64_t seq, sluice_status status, const char *text)
{
    pthread_mutex_lock(&queue->error_lock);
    if (queue->error == SLUICE_OK || seq < queue->error_seq) {
        queue->error = status;
        queue->error_seq = seq;
        snprintf(queue->error_text, sizeof(queue->error_text), "%s", text);
    }
    pthread_mutex_unlock(&queue->error_lock);
}

sluice_status queue_error(sli_queue *queue)
{
    sluice_status st;

    pthread_mutex_lock(&queue->error_lock);
    st = sli_fail_again(queue->error, queue->error_text);
    pthread_mutex_unlock(&queue->error_lock);
    return st;
}

static void ring_stats(const queue_ring *ring, sli_ring_stats *stats)
{
    stats->capacity = ring->words.slots;
    stats->looks = atomic_load_explicit(&ring->looks, memory_order_relaxed);
    stats->depth_sum = atomic_load_explicit(&ring->depth_sum, memory_order_relaxed);
    stats->empty = atomic_load_explicit(&ring->empty, memory_order_relaxed);
    stats->full = atomic_load_explicit(&ring->full, memory_order_relaxed);
}

void sli_queue_stats_get(const sli_queue *queue, sli_queue_stats *stats_out)
{
    memset(stats_out, 0, sizeof(*stats_out));
    stats_out->produced = atomic_load_explicit(&queue->produced, memory_order_relaxed);
    stats_out->consumed = queue->kernels
                              ? sli_ring_load_acquire(queue->back->words.consumed)
                              : atomic_load_explicit(&queue->consumed_count, memory_order_relaxed);
    stats_out->bytes_copied = atomic_load_explicit(&queue->bytes_copied, memory_order_relaxed);
    stats_out->copies = atomic_load_explicit(&queue->copies, memory_order_relaxed);
    stats_out->publishes = atomic_load_explicit(&queue->publishes, memory_order_relaxed);
    stats_out->has_staging = queue->back != &queue->front;
    stats_out->transport = queue->pull ? "pull" : stats_out->has_staging ? "push" : "none";
    ring_stats(&queue->front, &stats_out->staging);
    ring_stats(queue->back, &stats_out->slots);
}

const sluice_tensor *sli_queue_outputs(const sli_queue *queue, uint32_t *count_out)
{
    *count_out = queue->layout.column_count;
    return queue->outputs;
}

const uint64_t *sli_queue_samples(const sli_queue *queue, uint64_t seq)
{
    return queue_samples(queue, seq);
}

const sli_batch_header *sli_queue_header(const sli_queue *queue, uint64_t seq)
{
    return queue_header(queue, seq);
}

int32_t sli_queue_memory_node(const sli_queue *queue)
{
    return sli_node_of_block(&queue->front_memory);
}
