/* SPDX-License-Identifier: Apache-2.0 */
/* Making and taking apart the queue: memory, rings, tensors. */
#include "queue_state.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"

static bool has_staging(const sli_queue_config *config)
{
    return !config->device->caps.host_memory;
}

/* The tensor that a step sees of column i, its data left open. */
static void describe_output(const sli_queue_config *config, uint32_t i, sluice_tensor *tensor)
{
    const sluice_column *column = &config->layout->columns[i];
    const sli_conversion *conversion = config->conversion;

    memset(tensor, 0, sizeof(*tensor));
    tensor->name = column->name;
    tensor->dtype = column->dtype;
    tensor->rank = column->rank + 1;
    tensor->shape[0] = config->layout->batch_size;
    for (uint32_t d = 0; d < column->rank; d++) {
        tensor->shape[d + 1] = column->shape[d];
    }
    tensor->bytes = config->layout->row_bytes[i] * config->layout->batch_size;
    if (conversion != NULL && i == config->conversion_column) {
        uint64_t chw[] = {conversion->channels, conversion->height, conversion->width};
        uint64_t hwc[] = {conversion->height, conversion->width, conversion->channels};

        tensor->dtype = conversion->to;
        tensor->rank = 4;
        memcpy(tensor->shape + 1, conversion->to_chw ? chw : hwc, sizeof(chw));
        tensor->bytes = sli_conversion_out_bytes(conversion) * config->layout->batch_size;
    }
}

static size_t outputs_size(const sli_queue_config *config)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < config->layout->column_count; i++) {
        sluice_tensor tensor;

        describe_output(config, i, &tensor);
        bytes +=
            (tensor.bytes + SLI_COLUMN_ALIGNMENT - 1) / SLI_COLUMN_ALIGNMENT * SLI_COLUMN_ALIGNMENT;
    }
    return bytes;
}

void sli_queue_memory_of(const sli_queue_config *config, sli_queue_memory *memory_out)
{
    uint64_t ring = (uint64_t)config->slots * config->layout->slot_bytes;

    memory_out->staging_bytes = has_staging(config) ? ring : 0;
    memory_out->slot_bytes = ring + (config->conversion != NULL ? outputs_size(config) : 0);
}

static sluice_status ring_init(queue_ring *ring, uint32_t slots, uint8_t *memory)
{
    ring->words.slots = slots;
    ring->slots = memory;
    ring->words.ready = sli_calloc(slots, sizeof(uint64_t));
    ring->words.consumed = sli_aligned_alloc(64, 64);
    if (ring->words.ready == NULL || ring->words.consumed == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a ring of %u slots", slots);
    }
    *ring->words.consumed = 0;
    return SLUICE_OK;
}

static void ring_fini(queue_ring *ring)
{
    sli_free(ring->words.ready);
    sli_free(ring->words.consumed);
}

/* Staging, or the slots themselves where device memory is host memory; and the device's slots. */
static sluice_status take_memory(sli_queue *queue, const sli_queue_config *config)
{
    size_t bytes = (size_t)queue->slots * queue->layout.slot_bytes;
    sluice_status st = sli_node_alloc(bytes, config->node, &queue->front_memory);

    if (st == SLUICE_OK) {
        st = ring_init(&queue->front, queue->slots, queue->front_memory.data);
    }
    queue->back = &queue->front;
    if (st == SLUICE_OK && has_staging(config)) {
        queue->back = &queue->device_ring;
        sli_node_ask_huge(&queue->front_memory);
        st = sli_device_register(queue->device, queue->front_memory.data, bytes);
        if (st == SLUICE_OK) {
            queue->registered_bytes = bytes;
            st = sli_device_alloc(queue->device, bytes, &queue->device_memory);
        }
        if (st == SLUICE_OK) {
            st = ring_init(&queue->device_ring, queue->slots, queue->device_memory);
        }
    }
    return st;
}

static sluice_status make_places(sli_queue *queue)
{
    queue->places = sli_aligned_alloc(64, queue->slots * sizeof(*queue->places));
    /* A list of samples lives until the step is done, longer than staging and, when GetNext
     * converts, longer than the slot: workers may be this far ahead of the batch in the step. */
    queue->sample_rows = 2 * (uint64_t)queue->slots + 1;
    queue->samples = sli_calloc(queue->sample_rows * queue->layout.batch_size, sizeof(uint64_t));
    if (queue->places == NULL || queue->samples == NULL) {
        sli_free(queue->places);
        queue->places = NULL;
        return sli_fail(SLUICE_E_NO_MEMORY, "a queue of %u slots", queue->slots);
    }
    memset((void *)queue->places, 0, queue->slots * sizeof(*queue->places));
    for (uint32_t i = 0; i < queue->slots; i++) {
        pthread_mutex_init(&queue->places[i].lock, NULL);
    }
    return SLUICE_OK;
}

/* What steps see: fixed tensors when GetNext converts, else one set for each slot. */
static sluice_status make_tensors(sli_queue *queue, const sli_queue_config *config)
{
    const uint32_t columns = queue->layout.column_count;
    sluice_status st = SLUICE_OK;
    size_t offset = 0;

    queue->outputs = sli_calloc(columns, sizeof(*queue->outputs));
    queue->slot_tensors = sli_calloc((size_t)queue->slots * columns, sizeof(*queue->outputs));
    if (queue->outputs == NULL || queue->slot_tensors == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the tensors of a queue");
    }
    if (queue->converts) {
        queue->outputs_bytes = outputs_size(config);
        st = sli_device_alloc(queue->device, queue->outputs_bytes, &queue->outputs_memory);
    }
    for (uint32_t i = 0; i < columns && st == SLUICE_OK; i++) {
        sluice_tensor *tensor = &queue->outputs[i];

        describe_output(config, i, tensor);
        tensor->name = queue->layout.columns[i].name;
        for (uint32_t slot = 0; slot < queue->slots; slot++) {
            sluice_tensor *lent = &queue->slot_tensors[(size_t)slot * columns + i];

            *lent = *tensor;
            lent->data =
                queue->back->slots + slot * queue->layout.slot_bytes + queue->layout.offsets[i];
        }
        if (queue->converts) {
            tensor->data = (uint8_t *)queue->outputs_memory + offset;
            offset += (tensor->bytes + SLI_COLUMN_ALIGNMENT - 1) / SLI_COLUMN_ALIGNMENT *
                      SLI_COLUMN_ALIGNMENT;
        }
    }
    return st;
}

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
    queue->copy_counters = config->copy_counters;
    if (config->conversion != NULL) {
        queue->converts = true;
        queue->conversion = *config->conversion;
        queue->conversion_column = config->conversion_column;
    }
    st = take_memory(queue, config);
    if (st == SLUICE_OK) {
        st = make_places(queue);
    }
    if (st == SLUICE_OK) {
        st = make_tensors(queue, config);
    }
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
    if (queue->registered_bytes > 0) {
        sli_device_unregister(queue->device, queue->front_memory.data, queue->registered_bytes);
    }
    sli_device_free(queue->device, queue->device_memory,
                    (size_t)queue->slots * queue->layout.slot_bytes);
    sli_device_free(queue->device, queue->outputs_memory, queue->outputs_bytes);
    sli_node_free(&queue->front_memory);
    for (uint32_t i = 0; queue->places != NULL && i < queue->slots; i++) {
        pthread_mutex_destroy(&queue->places[i].lock);
    }
    pthread_mutex_destroy(&queue->error_lock);
    ring_fini(&queue->front);
    ring_fini(&queue->device_ring);
    sli_free(queue->places);
    sli_free(queue->samples);
    sli_free(queue->outputs);
    sli_free(queue->slot_tensors);
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
    stats_out->consumed = atomic_load_explicit(&queue->consumed_count, memory_order_relaxed);
    stats_out->bytes_copied = atomic_load_explicit(&queue->bytes_copied, memory_order_relaxed);
    stats_out->has_staging = queue->back != &queue->front;
    ring_stats(&queue->front, &stats_out->staging);
    ring_stats(queue->back, &stats_out->slots);
}

const sluice_tensor *sli_queue_outputs(const sli_queue *queue, uint32_t *count_out)
{
    *count_out = queue->layout.column_count;
    return queue->outputs;
}

int32_t sli_queue_memory_node(const sli_queue *queue)
{
    return sli_node_of_block(&queue->front_memory);
}
