/* SPDX-License-Identifier: Apache-2.0 */
/* The queue's memory: staging, slots, rings, tensors of steps. */
#include <assert.h>
#include <string.h>

#include "alloc_int.h"
#include "queue_state.h"
#include "tensor_int.h"

/* Words that host and device both access are in separate cache lines. */
enum { WORDS_ALIGNMENT = 256 };

static bool has_staging(const sli_queue_config *config)
{
    return !config->device->caps.host_memory;
}

static bool has_kernels(const sli_queue_config *config)
{
    return config->device->caps.kernels;
}

/* True if kernels read the workers' ring directly. */
static bool uses_pull(const sli_queue_config *config)
{
    return has_kernels(config) && config->device->caps.pull;
}

static size_t align_up(size_t bytes)
{
    return (bytes + WORDS_ALIGNMENT - 1) / WORDS_ALIGNMENT * WORDS_ALIGNMENT;
}

static size_t ready_bytes(const sli_queue_config *config)
{
    return align_up(config->slots * sizeof(uint64_t));
}

/* Size in bytes of the words stored after the staging slots in page-locked memory: `consumed`, and
 * with pull the ready words. */
static size_t host_words_bytes(const sli_queue_config *config)
{
    return !has_kernels(config) ? 0
                                : WORDS_ALIGNMENT + (uses_pull(config) ? ready_bytes(config) : 0);
}

/* Size in bytes of the ready words stored after the slots in device memory; 0 if kernels poll
 * none. */
static size_t device_words_bytes(const sli_queue_config *config)
{
    return has_kernels(config) && !uses_pull(config) ? ready_bytes(config) : 0;
}

/* Number of tensors that steps receive. */
static uint32_t outputs_of(const sli_queue_config *config)
{
    return config->outputs != NULL
               ? config->output_count
               : config->layout->column_count - (config->programs != SLI_PROGRAMS_NONE ? 1 : 0);
}

/* Describes tensor i that steps receive, without its data. */
static void describe_output(const sli_queue_config *config, uint32_t i, sluice_tensor *tensor)
{
    const sluice_column *column =
        config->outputs != NULL ? &config->outputs[i].type : &config->layout->columns[i];
    const sli_conversion *conversion = config->conversion;
    size_t row_bytes = 0;

    (void)sli_column_bytes(column, &row_bytes);
    memset(tensor, 0, sizeof(*tensor));
    tensor->name = column->name;
    tensor->dtype = column->dtype;
    tensor->rank = column->rank + 1;
    tensor->shape[0] = config->layout->batch_size;
    for (uint32_t d = 0; d < column->rank; d++) {
        tensor->shape[d + 1] = column->shape[d];
    }
    tensor->bytes = row_bytes * config->layout->batch_size;
    if (conversion != NULL && i == config->conversion_column) {
        uint64_t chw[] = {conversion->channels, conversion->height, conversion->width};
        uint64_t hwc[] = {conversion->height, conversion->width, conversion->channels};

        tensor->dtype = conversion->to;
        tensor->rank = 4;
        memcpy(tensor->shape + 1, conversion->to_chw ? chw : hwc, sizeof(chw));
        tensor->bytes = sli_conversion_out_bytes(conversion) * config->layout->batch_size;
    }
}

static uint64_t sets_of(const sli_queue_config *config)
{
    return config->sets > 0 ? config->sets : 1;
}

/* Bytes of one set of outputs. 0 if GetNext neither converts nor runs as a kernel: steps then read
 * the slots themselves. */
static size_t set_size(const sli_queue_config *config)
{
    size_t bytes = has_kernels(config) ? align_up(sizeof(sli_batch_header)) : 0;

    if (config->conversion == NULL && config->outputs == NULL && config->layout->extent == 0 &&
        !has_kernels(config)) {
        return 0;
    }
    for (uint32_t i = 0; i < outputs_of(config); i++) {
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
    memory_out->slot_bytes = (uses_pull(config) ? 0 : ring + device_words_bytes(config)) +
                             sets_of(config) * set_size(config);
}

/*
 * Initializes a ring. Its words are allocated, unless `ready` and `consumed` point to registered
 * memory.
 */
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

/* Allocates staging, or the slots themselves if device memory is host memory. */
static sluice_status allocate_front(sli_queue *queue, const sli_queue_config *config)
{
    const size_t ring = (size_t)queue->slots * queue->layout.slot_bytes;
    const size_t bytes = ring + host_words_bytes(config);
    sluice_status st = sli_node_alloc(bytes, config->node, &queue->front_memory);

    if (st != SLUICE_OK) {
        return st;
    }
    if (has_kernels(config)) { /* sli_node_alloc() returns zeroed memory */
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

/* If batches are copied: allocates the slots in device memory, and the ready words there if kernels
 * poll them. */
static sluice_status allocate_slots(sli_queue *queue, const sli_queue_config *config)
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

static sluice_status make_slot_states(sli_queue *queue, uint64_t history)
{
    queue->slot_states = sli_aligned_alloc(64, queue->slots * sizeof(*queue->slot_states));
    /*
     * A list of samples is valid until its step is done: it outlives its staging slot and, if
     * GetNext converts, its device slot. Lists are kept for the batches that workers may be ahead
     * of the current step, for that step and for `history`.
     */
    queue->sample_rows = 2 * (uint64_t)queue->slots + 1 + history;
    queue->samples = sli_calloc(queue->sample_rows * queue->layout.batch_size, sizeof(uint64_t));
    queue->headers = sli_calloc(queue->sample_rows, sizeof(*queue->headers));
    if (queue->kernels && !queue->pull) {
        queue->given_ready = sli_calloc(queue->slots, sizeof(uint64_t));
        queue->marks = sli_calloc(queue->slots, sizeof(uint64_t));
    }
    if (queue->slot_states == NULL || queue->samples == NULL || queue->headers == NULL ||
        (queue->kernels && !queue->pull && (queue->given_ready == NULL || queue->marks == NULL))) {
        sli_free(queue->slot_states);
        queue->slot_states = NULL;
        return sli_fail(SLUICE_E_NO_MEMORY, "a queue of %u slots", queue->slots);
    }
    memset((void *)queue->slot_states, 0, queue->slots * sizeof(*queue->slot_states));
    for (uint32_t i = 0; i < queue->slots; i++) {
        pthread_mutex_init(&queue->slot_states[i].lock, NULL);
    }
    return SLUICE_OK;
}

/* Describes the tensors of one set of outputs, packed into `memory`. If that is NULL, the tensors
 * have no data. */
static void make_set(sli_queue *queue, const sli_queue_config *config, uint32_t set,
                     uint8_t *memory)
{
    const uint32_t columns = queue->output_count;
    size_t offset = 0;

    for (uint32_t i = 0; i < columns; i++) {
        sluice_tensor *tensor = &queue->outputs[(size_t)set * columns + i];

        describe_output(config, i, tensor);
        tensor->name =
            queue->programs != NULL ? queue->programs[i].type.name : queue->layout.columns[i].name;
        if (memory != NULL) {
            tensor->data = memory + offset;
            offset += (tensor->bytes + SLI_COLUMN_ALIGNMENT - 1) / SLI_COLUMN_ALIGNMENT *
                      SLI_COLUMN_ALIGNMENT;
        }
    }
}

/* Describes the tensors through which a slot is lent; with a column program no slot is lent. */
static void make_slot_tensors(sli_queue *queue, uint32_t slot)
{
    const uint32_t columns = queue->output_count;

    for (uint32_t i = 0; i < columns && queue->programs == NULL; i++) {
        sluice_tensor *lent = &queue->slot_tensors[(size_t)slot * columns + i];

        *lent = queue->outputs[i];
        lent->data =
            queue->back->slots + slot * queue->layout.slot_bytes + queue->layout.offsets[i];
    }
}

/* Makes the inputs of steps: sets of outputs, used if GetNext converts or is a kernel, and tensors
 * for each slot, used if GetNext lends. */
static sluice_status make_tensors(sli_queue *queue, const sli_queue_config *config)
{
    const uint32_t columns = queue->output_count;
    const size_t bytes = set_size(config);
    sluice_status st = SLUICE_OK;

    queue->outputs = sli_calloc((size_t)queue->sets * columns, sizeof(*queue->outputs));
    queue->slot_tensors = sli_calloc((size_t)queue->slots * columns, sizeof(*queue->outputs));
    if (queue->outputs == NULL || queue->slot_tensors == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the tensors of a queue");
    }
    queue->outputs_bytes = queue->sets * bytes;
    if (queue->outputs_bytes > 0) {
        st = sli_device_alloc(queue->device, queue->outputs_bytes, &queue->outputs_memory);
    }
    for (uint32_t set = 0; set < queue->sets && st == SLUICE_OK; set++) {
        make_set(queue, config, set,
                 bytes > 0 ? (uint8_t *)queue->outputs_memory + set * bytes : NULL);
    }
    for (uint32_t slot = 0; slot < queue->slots && st == SLUICE_OK; slot++) {
        make_slot_tensors(queue, slot);
    }
    return st;
}

sluice_status queue_take_memory(sli_queue *queue, const sli_queue_config *config)
{
    sluice_status st = allocate_front(queue, config);

    queue->back = &queue->front;
    if (st == SLUICE_OK && has_staging(config) && !queue->pull) {
        queue->back = &queue->device_ring;
        st = allocate_slots(queue, config);
    }
    if (st == SLUICE_OK) {
        st = make_slot_states(queue, config->history);
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
    for (uint32_t i = 0; queue->slot_states != NULL && i < queue->slots; i++) {
        pthread_mutex_destroy(&queue->slot_states[i].lock);
    }
    ring_fini(&queue->front);
    ring_fini(&queue->device_ring);
    sli_free(queue->slot_states);
    sli_free(queue->samples);
    sli_free(queue->headers);
    sli_free(queue->given_ready);
    sli_free(queue->marks);
    sli_free(queue->outputs);
    sli_free(queue->slot_tensors);
}

const sluice_tensor *sli_queue_outputs(const sli_queue *queue, uint32_t set, uint32_t *count_out)
{
    assert(set < queue->sets);
    *count_out = queue->output_count;
    return queue->outputs + (size_t)set * queue->output_count;
}

/* ---- kernel arguments ------------------------------------------------------------------------ */

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

/* The device header of a set is stored after the set's outputs. */
static sli_batch_header *device_header(const sli_queue *queue, uint32_t set)
{
    uint8_t *end =
        (uint8_t *)queue->outputs_memory + queue->outputs_bytes / queue->sets * (set + 1);

    assert(queue->kernels);
    return (sli_batch_header *)(void *)(end - align_up(sizeof(sli_batch_header)));
}

const sli_batch_header *sli_queue_device_header(const sli_queue *queue, uint32_t set)
{
    return device_header(queue, set);
}

sluice_status sli_queue_gather(const sli_queue *queue, uint32_t set, sli_gather *gather_out)
{
    uint32_t columns = 0;
    const sluice_tensor *outputs = sli_queue_outputs(queue, set, &columns);

    if (queue->programs != NULL) {
        return sli_gather_plan_outputs(&queue->layout, queue->programs, columns, outputs,
                                       device_header(queue, set), gather_out);
    }
    return sli_gather_plan(&queue->layout,
                           queue->conversion_column != UINT32_MAX ? &queue->conversion : NULL,
                           queue->conversion_column, queue->row_programs, outputs,
                           device_header(queue, set), gather_out);
}
