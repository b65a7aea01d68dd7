/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer's side of the queue: waiting, and GetNext on the host device. */
#include <assert.h>
#include <string.h>

#include "clock_int.h"
#include "queue_state.h"

/* What a slot of a device with poisoned memory holds once it is given back. */
enum { POISON = 0xA5 };

typedef struct batch_wait {
    sli_queue *queue;
    uint64_t seq;
} batch_wait;

static bool has_failed(const sli_queue *queue)
{
    /* Pairs with the release store in the copier: what has arrived is published before. */
    return atomic_load_explicit(&queue->failed, memory_order_acquire);
}

static bool there_or_closed(void *arg)
{
    batch_wait *wait = arg;

    return sli_ring_peek(&wait->queue->back->words, wait->seq) != SLI_RING_EMPTY ||
           has_failed(wait->queue) || queue_closed(wait->queue);
}

static void poll_for(batch_wait *wait, int64_t timeout_ns)
{
    int64_t deadline = sli_now_ns() + timeout_ns;

    while (!there_or_closed(wait) && (timeout_ns < 0 || sli_now_ns() < deadline)) {
        sli_relax();
    }
}

sluice_status sli_queue_wait(sli_queue *queue, uint64_t seq, int64_t timeout_ns, bool spin)
{
    batch_wait wait = {queue, seq};
    bool failed;

    if (spin) {
        poll_for(&wait, timeout_ns);
    } else {
        sli_event_await(&queue->back->ready, there_or_closed, &wait, timeout_ns);
    }
    if (queue_closed(queue)) {
        return SLUICE_CLOSED;
    }
    failed = has_failed(queue); /* before it is looked what has arrived */
    switch (sli_ring_peek(&queue->back->words, seq)) {
    case SLI_RING_BATCH:
        return SLUICE_OK;
    case SLI_RING_END:
        return SLUICE_END_OF_DATA;
    case SLI_RING_ERROR:
        return queue_error(queue);
    case SLI_RING_EMPTY:
        break;
    }
    return failed ? queue_error(queue) : SLUICE_TIMEOUT;
}

void sli_queue_look(sli_queue *queue)
{
    queue_ring_look(queue->back);
}

static void give_back(sli_queue *queue, uint64_t seq)
{
    if (queue->device->caps.poison) {
        memset(queue_slot(queue, queue->back, seq), POISON, queue->layout.slot_bytes);
    }
    sli_counter_add(&queue->consumed_count, 1);
    queue_ring_release(queue->back, seq);
    if (queue->back != &queue->front) {
        sli_event_notify(&queue->front.ready); /* where the copier sleeps */
    }
}

/* GetNext: one pass from the slot into the step's tensors. */
static void convert(sli_queue *queue, const uint8_t *slot)
{
    const sli_layout *layout = &queue->layout;
    const uint8_t *row_flags = slot + layout->row_flags_offset;

    for (uint32_t i = 0; i < layout->column_count; i++) {
        const uint8_t *from = slot + layout->offsets[i];
        uint8_t *to = queue->outputs[i].data;
        size_t out_bytes = queue->outputs[i].bytes / layout->batch_size;

        if (i != queue->conversion_column) {
            memcpy(to, from, queue->outputs[i].bytes);
            continue;
        }
        for (uint32_t row = 0; row < layout->batch_size; row++) {
            sli_convert_image(&queue->conversion, from + row * layout->row_bytes[i],
                              to + row * out_bytes, row_flags[row]);
        }
    }
}

sluice_status sli_queue_get_next(sli_queue *queue, uint64_t seq, sli_inputs *inputs_out)
{
    const uint8_t *slot = queue_slot(queue, queue->back, seq);

    assert(!queue->kernels);
    memcpy(&queue->current, slot, sizeof(queue->current));
    if (queue->current.seq != seq) {
        return sli_fail(SLUICE_E_CORRUPT, "the slot of batch %llu says %llu",
                        (unsigned long long)seq, (unsigned long long)queue->current.seq);
    }
    inputs_out->count = queue->layout.column_count;
    inputs_out->samples = queue_samples(queue, seq);
    inputs_out->header = &queue->current;
    inputs_out->tensors =
        queue->slot_tensors + sli_ring_slot(&queue->back->words, seq) * queue->layout.column_count;
    if (queue->converts) {
        convert(queue, slot);
        inputs_out->tensors = queue->outputs;
        give_back(queue, seq); /* before the step: the workers need not wait for it */
    }
    return SLUICE_OK;
}

void sli_queue_step_done(sli_queue *queue, uint64_t seq)
{
    assert(!queue->kernels);
    if (!queue->converts) {
        give_back(queue, seq);
    }
}
