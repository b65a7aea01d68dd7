/* SPDX-License-Identifier: Apache-2.0 */
/* The consumer side of the queue: waiting for a batch, and GetNext on the host device. */
#include <assert.h>
#include <string.h>

#include "clock_int.h"
#include "queue_state.h"

/* Byte value that fills a released slot on a device with poisoned memory. */
enum { POISON = 0xA5 };

typedef struct batch_wait {
    sli_queue *queue;
    uint64_t seq;
} batch_wait;

static bool has_failed(const sli_queue *queue)
{
    /* Pairs with the release store in the copier, which publishes all arrived batches first. */
    return atomic_load_explicit(&queue->failed, memory_order_acquire);
}

static bool arrived_or_closed(void *arg)
{
    batch_wait *wait = arg;

    return sli_ring_peek(&wait->queue->back->words, wait->seq) != SLI_RING_EMPTY ||
           has_failed(wait->queue) || queue_closed(wait->queue);
}

/* The kind of entry submitted to the copy stream for seq; EMPTY: nothing submitted yet. */
static sli_ring_kind given_kind(const sli_queue *queue, uint64_t seq)
{
    sli_ring given = queue->back->words;

    if (queue->given_ready == NULL) {
        return SLI_RING_EMPTY;
    }
    given.ready = queue->given_ready;
    return sli_ring_peek(&given, seq);
}

static bool given_or_closed(void *arg)
{
    const batch_wait *wait = arg;

    return given_kind(wait->queue, wait->seq) != SLI_RING_EMPTY || arrived_or_closed(arg);
}

static void spin_for_batch(batch_wait *wait, int64_t timeout_ns)
{
    int64_t deadline = sli_now_ns() + timeout_ns;

    while (!arrived_or_closed(wait) && (timeout_ns < 0 || sli_now_ns() < deadline)) {
        sli_relax();
    }
}

/* The status of batch seq, from the submitted kind `given` or, if that is EMPTY, from the ring. */
static sluice_status batch_status(sli_queue *queue, uint64_t seq, sli_ring_kind given)
{
    const bool failed = has_failed(queue); /* read before the ready word, see has_failed() */

    if (queue_closed(queue)) {
        return SLUICE_CLOSED;
    }
    switch (given != SLI_RING_EMPTY ? given : sli_ring_peek(&queue->back->words, seq)) {
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

sluice_status sli_queue_wait(sli_queue *queue, uint64_t seq, int64_t timeout_ns, bool spin)
{
    sluice_status st = batch_status(queue, seq, SLI_RING_EMPTY);
    batch_wait wait = {queue, seq};

    if (st != SLUICE_TIMEOUT || timeout_ns == 0) {
        return st;
    }
    if (spin) {
        spin_for_batch(&wait, timeout_ns);
    } else {
        sli_event_await(&queue->back->ready, arrived_or_closed, &wait, timeout_ns);
    }
    return batch_status(queue, seq, SLI_RING_EMPTY);
}

sluice_status sli_queue_wait_given(sli_queue *queue, uint64_t seq, int64_t timeout_ns)
{
    batch_wait wait = {queue, seq};

    sli_event_await(&queue->back->ready, given_or_closed, &wait, timeout_ns);
    return batch_status(queue, seq, given_kind(queue, seq));
}

sluice_status sli_queue_order(sli_queue *queue, uint64_t seq, void *native)
{
    sluice_status st = SLUICE_OK;
    bool orders;

    pthread_mutex_lock(&queue->order_lock);
    /* If marks == NULL, sli_queue_wait_given() has waited for arrival: no ordering is needed. */
    orders = queue->orders && queue->marks != NULL && given_kind(queue, seq) != SLI_RING_EMPTY;
    if (orders) {
        st = sli_stream_order(&queue->copy_stream,
                              queue->marks[sli_ring_slot(&queue->back->words, seq)], native);
    }
    pthread_mutex_unlock(&queue->order_lock);
    /* After a copy error the stream may be closed: wait for the batch itself, or for the error. */
    return orders || queue->marks == NULL ? st : sli_queue_wait(queue, seq, -1, false);
}

void sli_queue_sample_depth(sli_queue *queue)
{
    queue_ring_sample_depth(queue->back);
}

static void release_slot(sli_queue *queue, uint64_t seq)
{
    if (queue->device->caps.poison) {
        memset(queue_slot(queue, queue->back, seq), POISON, queue->layout.slot_bytes);
    }
    sli_counter_add(&queue->consumed_count, 1);
    sli_ring_release(&queue->back->words, seq);
    if (queue->back == &queue->front) {
        queue_made_room(queue);
    } else {
        sli_event_notify(&queue->front.ready); /* the copier sleeps on this event */
    }
}

/* GetNext with a column program: makes the step's tensors from the slot. */
static void make_outputs(const sli_queue *queue, const uint8_t *slot, const sluice_tensor *outputs)
{
    const sli_layout *layout = &queue->layout;

    for (uint32_t i = 0; i < queue->output_count; i++) {
        const sli_output *program = &queue->programs[i];

        sli_output_make(program, layout, slot + layout->offsets[program->column], outputs[i].data);
    }
}

/* Converts the image column of a batch, after the programs of its rows if there are any. */
static void convert_images(const sli_queue *queue, const uint8_t *slot, uint8_t *to,
                           size_t to_bytes)
{
    const sli_layout *layout = &queue->layout;
    const uint8_t *images = slot + layout->offsets[queue->conversion_column];
    const uint8_t *flags = slot + layout->row_flags_offset;
    sli_row_batch batch = {.images = images, .flags = flags};

    if (queue->row_programs != SLI_PROGRAMS_NONE) {
        batch.programs = (const void *)(slot + layout->offsets[queue->output_count]);
    }
    for (uint32_t row = 0; row < layout->batch_size; row++) {
        if (batch.programs != NULL) {
            sli_row_program_run(&batch, row, &queue->conversion, to + row * to_bytes);
        } else {
            sli_convert_image(&queue->conversion,
                              images + row * layout->row_bytes[queue->conversion_column],
                              to + row * to_bytes, flags[row]);
        }
    }
}

/* GetNext: converts the batch in the slot into the step's tensors. */
static void convert_batch(sli_queue *queue, const uint8_t *slot, const sluice_tensor *outputs)
{
    const sli_layout *layout = &queue->layout;

    for (uint32_t i = 0; i < queue->output_count; i++) {
        const uint8_t *from = slot + layout->offsets[i];
        uint8_t *to = outputs[i].data;

        if (layout->entry_bytes[i] > 0) {
            sli_layout_widen(layout, i, slot, to);
        } else if (i == queue->conversion_column) {
            convert_images(queue, slot, to, outputs[i].bytes / layout->batch_size);
        } else {
            memcpy(to, from, outputs[i].bytes);
        }
    }
}

sluice_status sli_queue_get_next_into(sli_queue *queue, uint64_t seq, uint32_t set,
                                      sli_inputs *inputs_out)
{
    const uint8_t *slot = queue_slot(queue, queue->back, seq);

    assert(!queue->kernels);
    memcpy(&queue->current, slot, sizeof(queue->current));
    if (queue->current.seq != seq) {
        return sli_fail(SLUICE_E_CORRUPT, "the slot of batch %llu holds batch %llu",
                        (unsigned long long)seq, (unsigned long long)queue->current.seq);
    }
    inputs_out->count = queue->output_count;
    inputs_out->samples = queue_samples(queue, seq);
    inputs_out->header = &queue->current;
    inputs_out->tensors =
        queue->slot_tensors + sli_ring_slot(&queue->back->words, seq) * queue->output_count;
    if (queue->converts) {
        inputs_out->tensors = sli_queue_outputs(queue, set, &inputs_out->count);
        if (queue->programs != NULL) {
            make_outputs(queue, slot, inputs_out->tensors);
        } else {
            convert_batch(queue, slot, inputs_out->tensors);
        }
        release_slot(queue, seq); /* before the step, so that workers can refill it meanwhile */
    }
    return SLUICE_OK;
}

sluice_status sli_queue_get_next(sli_queue *queue, uint64_t seq, sli_inputs *inputs_out)
{
    return sli_queue_get_next_into(queue, seq, 0, inputs_out);
}

void sli_queue_step_done(sli_queue *queue, uint64_t seq)
{
    assert(!queue->kernels);
    if (!queue->converts) {
        release_slot(queue, seq);
    }
}

void sli_queue_discard(sli_queue *queue, uint64_t seq)
{
    assert(!queue->kernels);
    release_slot(queue, seq);
}
