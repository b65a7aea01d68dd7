/* SPDX-License-Identifier: Apache-2.0 */
/* Creation, destruction and statistics of the queue. */
#include "queue_state.h"

#include <assert.h>
#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

/* True if the last column of the layout can have the row programs of the conversion. */
static bool row_programs_fit(const sli_queue_config *config)
{
    const sli_conversion *conversion = config->conversion;
    const uint32_t last = config->layout->column_count - 1;

    return conversion != NULL && conversion->from == SLUICE_U8 && !conversion->from_chw &&
           conversion->width <= SLI_ROW_PROGRAM_SIDE &&
           conversion->height <= SLI_ROW_PROGRAM_SIDE && config->conversion_column < last &&
           config->layout->row_bytes[last] == sizeof(sli_row_program);
}

/* True if the conversion's input has the size of its column's rows, or there is no conversion. */
static bool conversion_fits(const sli_queue_config *config)
{
    const sli_conversion *conversion = config->conversion;

    if (config->programs != SLI_PROGRAMS_NONE && !row_programs_fit(config)) {
        return false;
    }
    return conversion == NULL ||
           (config->conversion_column < config->layout->column_count &&
            config->layout->row_bytes[config->conversion_column] ==
                (size_t)conversion->height * conversion->width * conversion->channels *
                    sluice_dtype_size(conversion->from));
}

static sluice_status check_programs(const sli_queue_config *config)
{
    sluice_status st = SLUICE_OK;

    assert((config->outputs == NULL && config->conversion == NULL) || config->layout->extent == 0);
    if (!conversion_fits(config) || (config->conversion != NULL && config->outputs != NULL)) {
        return sli_fail(SLUICE_E_INVALID, "the conversion does not fit column %u of the batch",
                        config->conversion_column);
    }
    assert(config->outputs == NULL ||
           (config->output_count > 0 && config->output_count <= SLUICE_MAX_COLUMNS));
    for (uint32_t i = 0; config->outputs != NULL && i < config->output_count; i++) {
        st = st == SLUICE_OK ? sli_output_check(&config->outputs[i], config->layout) : st;
    }
    return st;
}

/* Copies the config's conversion or output descriptions into the queue. */
static sluice_status take_programs(sli_queue *queue, const sli_queue_config *config)
{
    queue->converts =
        config->conversion != NULL || config->outputs != NULL || config->layout->extent > 0;
    queue->conversion_column = UINT32_MAX;
    queue->row_programs = config->programs;
    queue->output_count =
        config->layout->column_count - (config->programs != SLI_PROGRAMS_NONE ? 1 : 0);
    if (config->conversion != NULL) {
        queue->conversion = *config->conversion;
        queue->conversion_column = config->conversion_column;
    }
    if (config->outputs != NULL) {
        const size_t bytes = config->output_count * sizeof(*queue->programs);

        queue->output_count = config->output_count;
        queue->programs = sli_calloc(1, bytes);
        if (queue->programs == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the outputs of a queue");
        }
        memcpy(queue->programs, config->outputs, bytes);
    }
    return SLUICE_OK;
}

sluice_status sli_queue_create(const sli_queue_config *config, sli_queue **queue_out)
{
    sli_queue *queue;
    sluice_status st;

    assert(config->slots >= 2 && config->slots <= SLI_MAX_SLOTS);
    st = check_programs(config);
    if (st != SLUICE_OK) {
        return st;
    }
    queue = sli_calloc(1, sizeof(*queue));
    if (queue == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a queue of %u slots", config->slots);
    }
    pthread_mutex_init(&queue->error_lock, NULL);
    pthread_mutex_init(&queue->order_lock, NULL);
    queue->device = config->device;
    queue->layout = *config->layout;
    queue->slots = config->slots;
    queue->sets = config->sets > 0 ? config->sets : 1;
    queue->kernels = config->device->caps.kernels;
    queue->pull = queue->kernels && config->device->caps.pull;
    queue->copy_counters = config->copy_counters;
    atomic_store_explicit(&queue->room_wakes, UINT32_MAX, memory_order_relaxed);
    st = take_programs(queue, config);
    if (st == SLUICE_OK) {
        st = queue_take_memory(queue, config);
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
    queue_free_memory(queue);
    sli_free(queue->programs);
    pthread_mutex_destroy(&queue->error_lock);
    pthread_mutex_destroy(&queue->order_lock);
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

uint32_t sli_queue_ready(const sli_queue *queue, uint64_t seq)
{
    const sli_ring *ring = &queue->back->words;
    uint32_t count = 0;

    while (count < queue->slots && !queue_closed(queue)) {
        const uint64_t word = sli_ring_load_acquire(&ring->ready[sli_ring_slot(ring, seq + count)]);

        /*
         * A word with a larger seq: the slot was refilled after the consumer moved on. A word with
         * a flag is larger than any seq.
         */
        if (word < seq + count || word != sli_ring_seq(word)) {
            break;
        }
        count++;
    }
    return count;
}

void sli_queue_stats_get(const sli_queue *queue, sli_queue_stats *stats_out)
{
    memset(stats_out, 0, sizeof(*stats_out));
    stats_out->produced = atomic_load_explicit(&queue->produced, memory_order_relaxed);
    stats_out->consumed = queue->kernels
                              ? sli_ring_load_acquire(queue->back->words.consumed)
                              : atomic_load_explicit(&queue->consumed_count, memory_order_relaxed);
    stats_out->bytes_copied = atomic_load_explicit(&queue->bytes_copied, memory_order_relaxed);
    stats_out->batches_copied = atomic_load_explicit(&queue->batches_copied, memory_order_relaxed);
    stats_out->copies = atomic_load_explicit(&queue->copies, memory_order_relaxed);
    stats_out->publishes = atomic_load_explicit(&queue->publishes, memory_order_relaxed);
    stats_out->has_staging = queue->back != &queue->front;
    stats_out->transport = queue->pull ? "pull" : stats_out->has_staging ? "push" : "none";
    queue_ring_stats(&queue->front, &stats_out->staging);
    queue_ring_stats(queue->back, &stats_out->slots);
}

uint64_t sli_queue_depth(const sli_queue *queue)
{
    return (uint64_t)queue->slots * (queue->back == &queue->front ? 1 : 2);
}

const uint64_t *sli_queue_samples(const sli_queue *queue, uint64_t seq)
{
    return queue_samples(queue, seq);
}

const sli_batch_header *sli_queue_header(const sli_queue *queue, uint64_t seq)
{
    return queue_header(queue, seq);
}

/* Describes a buffer that the device has allocated. */
static void place_device_buffer(const sli_queue *queue, const char *name, const void *data,
                                size_t bytes, sli_buffer_place *place_out)
{
    const bool on_device = queue->device->caps.pci_bus_id[0] != '\0';

    *place_out =
        (sli_buffer_place){.name = name, .bytes = bytes, .on_device = on_device, .wanted = -1};
    if (!on_device) {
        sli_node_shares_of_memory(data, bytes, &place_out->got);
    }
}

uint32_t sli_queue_buffers(const sli_queue *queue, sli_buffer_place places_out[SLI_QUEUE_BUFFERS])
{
    uint32_t count = 1;

    places_out[0] = (sli_buffer_place){.name = queue->registered_bytes > 0 ? "staging" : "slots",
                                       .bytes = queue->front_memory.bytes,
                                       .wanted = queue->front_memory.wanted};
    sli_node_shares_of_block(&queue->front_memory, &places_out[0].got);
    if (queue->device_memory != NULL) {
        place_device_buffer(queue, "slots", queue->device_memory, queue->device_bytes,
                            &places_out[count++]);
    }
    if (queue->outputs_memory != NULL) {
        place_device_buffer(queue, "tensors", queue->outputs_memory, queue->outputs_bytes,
                            &places_out[count++]);
    }
    return count;
}
