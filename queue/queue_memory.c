/* SPDX-License-Identifier: Apache-2.0 */
/* The queue's memory: staging, slots, rings, what steps see. */
#include <assert.h>
#include <string.h>

#include "alloc_int.h"
#include "queue_state.h"

/* Words that two sides poll lie in lines of their own. */
enum { WORDS_ALIGNMENT = 256 };

static bool has_staging(const sli_queue_config *config)
{
    return !config->device->caps.host_memory;
}

static bool has_kernels(const sli_queue_config *config)
{
    return config->device->caps.kernels;
}

/* Kernels read the workers' ring itself. */
static bool pulls(const sli_queue_config *config)
{
    return has_kernels(config) && config->device->caps.pull;
}

static size_t aligned(size_t bytes)
{
    return (bytes + WORDS_ALIGNMENT - 1) / WORDS_ALIGNMENT * WORDS_ALIGNMENT;
}

static size_t ready_bytes(const sli_queue_config *config)
{
    return aligned(config->slots * sizeof(uint64_t));
}

/* Words in page-locked memory behind staging: `consumed`, and for pull the ready words. */
static size_t host_words_bytes(const sli_queue_config *config)
{
    return !has_kernels(config) ? 0 : WORDS_ALIGNMENT + (pulls(config) ? ready_bytes(config) : 0);
}

/* Words in device memory behind the slots. */
static size_t device_words_bytes(const sli_queue_config *config)
{
    return has_kernels(config) && !pulls(config) ? ready_bytes(config) : 0;
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

/* Steps see the slots themselves where GetNext neither converts nor is a kernel. */
static size_t outputs_size(const sli_queue_config *config)
{
    size_t bytes = has_kernels(config) ? aligned(sizeof(sli_batch_header)) : 0;

    if (config->conversion == NULL && !has_kernels(config)) {
        return 0;
    }
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

    memory_out->staging_bytes = has_staging(config) ? ring + host_words_bytes(config) : 0;
    memory_out->slot_bytes =
        (pulls(config) ? 0 : ring + device_words_bytes(config)) + outputs_size(config);
}

/* Words of the ring's own, unless they lie in registered memory: then the two are given. */
static sluice_status ring_init(queue_ring *ring, uint32_t slots, uint8_t *memory, uint64_t *ready,
                               uint64_t *consumed)
{
    ring->words.slots = slots;
    ring->slots = memory;
    if (ready == NULL) {
        ready = ring->own_ready = sli_calloc(slots, sizeof(uint64_t));
    }
    if (consumed == NULL) {
        consumed = ring->own_consumed = sli_aligned_alloc(64, 64);
    }
    if (ready == NULL || consumed == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a ring of %u slots", slots);
    }
    *consumed = 0;
    ring->words.ready = ready;
    ring->words.consumed = consumed;
    return SLUICE_OK;
}

static void ring_fini(queue_ring *ring)
{
    sli_free(ring->own_ready);
    sli_free(ring->own_consumed);
}

/* Staging, or the slots themselves where device memory is host memory. */
static sluice_status take_front(sli_queue *queue, const sli_queue_config *config)
{
    const size_t ring = (size_t)queue->slots * queue->layout.slot_bytes;
    const size_t bytes = ring + host_words_bytes(config);
    sluice_status st = sli_node_alloc(bytes, config->node, &queue->front_memory);

    if (st != SLUICE_OK) {
        return st;
    }
    if (has_kernels(config)) { /* a new block is zero */
        queue->host_words = (uint64_t *)(void *)((uint8_t *)queue->front_memory.data + ring);
    }
    st = ring_init(&queue->front, queue->slots, queue->front_memory.data,
                   queue->pull ? queue->host_words + WORDS_ALIGNMENT / sizeof(uint64_t) : NULL,
                   queue->pull ? queue->host_words : NULL);
    if (st == SLUICE_OK && has_staging(config)) {
        sli_node_ask_huge(&queue->front_memory);
        st = sli_device_register(queue->device, queue->front_memory.data, bytes);
        queue->registered_bytes = st == SLUICE_OK ? bytes : 0;
    }
    if (st == SLUICE_OK && has_kernels(config)) {
        st = sli_device_address(queue->device, queue->front_memory.data, &queue->front_on_device);
    }
    return st;
}

/* The device's slots, where batches are copied, and its words, where kernels look at them. */
static sluice_status take_slots(sli_queue *queue, const sli_queue_config *config)
{
    const size_t ring = (size_t)queue->slots * queue->layout.slot_bytes;
    const size_t words = device_words_bytes(config);
    sluice_status st = sli_device_alloc(queue->device, ring + words, &queue->device_memory);

    if (st != SLUICE_OK) {
        return st;
    }
    queue->device_bytes = ring + words;
    if (words > 0) {
        queue->device_words = (uint64_t *)(void *)((uint8_t *)queue->device_memory + ring);
        st = sli_device_clear(queue->device, queue->device_words, words);
    }
    return st == SLUICE_OK ? ring_init(&queue->device_ring, queue->slots, queue->device_memory,
                                       NULL, queue->kernels ? queue->host_words : NULL)
                           : st;
}

static sluice_status make_places(sli_queue *queue, uint64_t history)
{
    queue->places = sli_aligned_alloc(64, queue->slots * sizeof(*queue->places));
    /* A list of samples lives until the step is done, longer than staging and, when GetNext
     * converts, longer than the slot: workers may be this far ahead of the batch in the step. */
    queue->sample_rows = 2 * (uint64_t)queue->slots + 1 + history;
    queue->samples = sli_calloc(queue->sample_rows * queue->layout.batch_size, sizeof(uint64_t));
    queue->headers = sli_calloc(queue->sample_rows, sizeof(*queue->headers));
    if (queue->places == NULL || queue->samples == NULL || queue->headers == NULL) {
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

/* What steps see: fixed tensors when GetNext converts or is a kernel, else one set for each slot.
 */
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
    queue->outputs_bytes = outputs_size(config);
    if (queue->outputs_bytes > 0) {
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
        if (queue->outputs_bytes > 0) {
            tensor->data = (uint8_t *)queue->outputs_memory + offset;
            offset += (tensor->bytes + SLI_COLUMN_ALIGNMENT - 1) / SLI_COLUMN_ALIGNMENT *
                      SLI_COLUMN_ALIGNMENT;
        }
    }
    return st;
}

sluice_status queue_take_memory(sli_queue *queue, const sli_queue_config *config)
{
    sluice_status st = take_front(queue, config);

    queue->back = &queue->front;
    if (st == SLUICE_OK && has_staging(config) && !queue->pull) {
        queue->back = &queue->device_ring;
        st = take_slots(queue, config);
    }
    if (st == SLUICE_OK) {
        st = make_places(queue, config->history);
    }
    return st == SLUICE_OK ? make_tensors(queue, config) : st;
}

void queue_free_memory(sli_queue *queue)
{
    if (queue->registered_bytes > 0) {
        sli_device_unregister(queue->device, queue->front_memory.data, queue->registered_bytes);
    }
    sli_device_free(queue->device, queue->device_memory, queue->device_bytes);
    sli_device_free(queue->device, queue->outputs_memory, queue->outputs_bytes);
    sli_node_free(&queue->front_memory);
    for (uint32_t i = 0; queue->places != NULL && i < queue->slots; i++) {
        pthread_mutex_destroy(&queue->places[i].lock);
    }
    ring_fini(&queue->front);
    ring_fini(&queue->device_ring);
    sli_free(queue->places);
    sli_free(queue->samples);
    sli_free(queue->headers);
    sli_free(queue->outputs);
    sli_free(queue->slot_tensors);
}

/* ---- what kernels are given ------------------------------------------------------------------ */

void sli_queue_getnext(const sli_queue *queue, sli_getnext *getnext)
{
    const size_t ring = (size_t)queue->slots * queue->layout.slot_bytes;
    uint8_t *front = queue->front_on_device;

    assert(queue->kernels);
    getnext->ring.slots = queue->slots;
    getnext->ring.consumed = (uint64_t *)(void *)(front + ring);
    getnext->slot_bytes = queue->layout.slot_bytes;
    if (queue->pull) {
        getnext->ring.ready = (uint64_t *)(void *)(front + ring + WORDS_ALIGNMENT);
        getnext->slots = front;
    } else {
        getnext->ring.ready = queue->device_words;
        getnext->slots = queue->device_memory;
    }
}

/* Behind the outputs. */
static sli_batch_header *device_header(const sli_queue *queue)
{
    uint8_t *end = (uint8_t *)queue->outputs_memory + queue->outputs_bytes;

    assert(queue->kernels);
    return (sli_batch_header *)(void *)(end - aligned(sizeof(sli_batch_header)));
}

const sli_batch_header *sli_queue_device_header(const sli_queue *queue)
{
    return device_header(queue);
}

sluice_status sli_queue_gather(const sli_queue *queue, sli_gather *gather_out)
{
    return sli_gather_plan(&queue->layout, queue->converts ? &queue->conversion : NULL,
                           queue->conversion_column, queue->outputs, device_header(queue),
                           gather_out);
}
