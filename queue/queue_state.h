/* SPDX-License-Identifier: Apache-2.0 */
/* State that the producer, the copier and the consumer of the queue share. */
#ifndef SLUICE_QUEUE_STATE_H
#define SLUICE_QUEUE_STATE_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "error_int.h"
#include "event_int.h"
#include "node_memory_int.h"
#include "queue_int.h"
#include "ring_int.h"

/* A ring: its words, its slots, and the events that its threads sleep on. */
typedef struct queue_ring {
    sli_ring words;
    uint8_t *slots;         /* (slots, layout.slot_bytes) */
    uint64_t *own_ready;    /* words.ready if this ring allocated it and must free it; else NULL */
    uint64_t *own_consumed; /* words.consumed if this ring allocated it; else NULL */
    sli_event ready;        /* a batch was published */
    sli_event room;         /* a slot was released */
    _Atomic uint64_t depth_samples; /* this and the next three: counters for sli_ring_stats,
                                       written by the ring's consumer */
    _Atomic uint64_t depth_sum;
    _Atomic uint64_t empty;
    _Atomic uint64_t full;
} queue_ring;

/* Host-side state of one slot of the workers' ring. */
typedef struct queue_slot_state {
    _Alignas(64) _Atomic uint32_t rows_done;
    pthread_mutex_t lock; /* guards error_row and error */
    uint32_t error_row;   /* index of the lowest failed row */
    sli_error error;      /* error of row error_row */
} queue_slot_state;

/* Progress of the copier in batches; used by its thread only. */
typedef struct queue_copier {
    uint64_t next;      /* seq of the next batch to submit to the copy stream */
    uint64_t given;     /* last batch whose copy and words are all submitted to the copy stream */
    uint64_t published; /* last batch whose ready word in device memory was submitted; used with
                           kernels only */
    uint64_t copied;    /* last batch known to have arrived on the device */
    uint64_t noticed;   /* last batch counted in the statistics */
    uint64_t marker;    /* sequence number of the end-of-data or error marker; 0 until it is
                           submitted */
    sli_ring_kind marker_kind;
    uint64_t sampled_at;  /* value of `next` at the last sample of the staging ring's depth */
    uint64_t since_ticks; /* copy time is accounted for up to this tick */
} queue_copier;

struct sli_queue {
    sluice_device *device;
    sli_layout layout;
    bool kernels;  /* GetNext runs as device kernels */
    bool pull;     /* the kernels read the workers' ring directly; there is no copier */
    bool converts; /* GetNext converts into `outputs`. If false, it copies (kernels) or lends the
                      slot to the step */
    sli_conversion conversion;
    uint32_t conversion_column;    /* index of the converted column; UINT32_MAX: no conversion */
    sli_row_programs row_programs; /* unless NONE, the last column of the layout has them */
    sli_output *programs;          /* (output_count) column programs of the outputs; NULL: one
                                      output per column */
    uint32_t output_count;
    uint32_t slots;
    uint32_t sets; /* number of sets of output tensors */

    /*
     * Workers fill `front` and the consumer drains *back. The copier, if any, copies from one to
     * the other. It sleeps on front.ready only: that event also signals free slots and completed
     * copies. If kernels poll ready words in device memory, device_ring's ready words are host
     * copies of them, stored later.
     */
    queue_ring front;
    queue_ring device_ring;
    queue_ring *back; /* &front or &device_ring */
    sli_node_block front_memory;
    size_t registered_bytes; /* page-locked bytes of front_memory; 0: not page-locked */
    void *front_on_device;   /* device address of front_memory; NULL without kernels */
    uint64_t *host_words;    /* in front_memory: `consumed`, written by kernels; with pull also the
                                ready words */
    void *device_memory;
    size_t device_bytes;
    uint64_t *device_words;        /* (slots) ready words polled by kernels; NULL if they poll
                                      none there */
    queue_slot_state *slot_states; /* (slots) state of each slot of front */
    uint64_t *samples;             /* (sample_rows, batch_size) sample indices; they outlive the
                                      staging slots */
    sli_batch_header *headers;     /* (sample_rows) headers of recent batches */
    uint64_t sample_rows;
    void *outputs_memory;
    size_t outputs_bytes;        /* bytes of outputs_memory, all sets together */
    sluice_tensor *outputs;      /* (sets, output_count) step inputs; data is NULL if GetNext
                                    lends the slot */
    sluice_tensor *slot_tensors; /* (slots, output_count) step inputs if GetNext lends the slot */
    sli_batch_header current;    /* header of the current step's batch */

    _Atomic bool closed;
    _Atomic uint64_t produced;
    _Atomic uint64_t consumed_count;
    _Atomic uint64_t bytes_copied;
    _Atomic uint64_t batches_copied;
    _Atomic uint64_t copies;
    _Atomic uint64_t publishes;
    _Atomic uint64_t room_first; /* `consumed` from which on the slot is free that workers wait for
                                  */
    _Atomic uint64_t room_at;    /* workers that wait for a slot are woken once `consumed`
                                    reaches this: as many slots are free as they asked for */
    _Atomic uint32_t room_wakes; /* workers to wake when a slot is freed */
    _Atomic bool polling;        /* a worker polls for slots that kernels release */
    _Atomic bool failed;         /* the copier has failed, and kernels may never see its error */

    /* State of batches that are submitted to the copy stream but may not have arrived. Used only if
     * a copier feeds kernels (transport push). */
    uint64_t *given_ready;      /* (slots) ready words, stored at submission; else NULL */
    uint64_t *marks;            /* (slots) copy-stream mark after each slot's batch; else NULL */
    pthread_mutex_t order_lock; /* guards `orders` */
    bool orders;                /* marks can be used: the copy stream is open */

    pthread_mutex_t error_lock; /* guards error and error_seq, which are set before ERROR is
                                   published */
    sli_error error;
    uint64_t error_seq; /* seq of the batch that failed */

    sli_stream copy_stream;
    sli_thread copier_thread;
    sli_thread_place copy_thread; /* placement of copy_stream's thread, saved when it is closed */
    queue_copier copier;
    uint64_t copied; /* seq of the last batch or marker that has arrived; the copy stream stores
                        it after the ready words */
    sli_counters *copy_counters;
};

static inline uint8_t *queue_slot(const sli_queue *queue, const queue_ring *ring, uint64_t seq)
{
    return ring->slots + sli_ring_slot(&ring->words, seq) * queue->layout.slot_bytes;
}

static inline uint64_t *queue_samples(const sli_queue *queue, uint64_t seq)
{
    return queue->samples + seq % queue->sample_rows * queue->layout.batch_size;
}

static inline sli_batch_header *queue_header(const sli_queue *queue, uint64_t seq)
{
    return &queue->headers[seq % queue->sample_rows];
}

/* The bytes that a batch uses of its slot. The batch must be published, and its header not reused
 * for a later batch yet. */
static inline size_t queue_batch_bytes(const sli_queue *queue, uint64_t seq)
{
    const sli_batch_header *header = queue_header(queue, seq);

    assert(header->seq == seq);
    return sli_layout_used(&queue->layout, header->extent);
}

static inline bool queue_closed(const sli_queue *queue)
{
    /* Pairs with the release store in sli_queue_close(): a caller that finds the queue closed sees
     * all writes before that. */
    return atomic_load_explicit(&queue->closed, memory_order_acquire);
}

/*
 * Like sli_event_await(), for a condition that changes without a notification: spins briefly, then
 * polls with an exponential back-off. Notifying the event ends the current back-off.
 */
bool queue_poll(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns);

/* Allocates rings, slots, slot states and tensors. queue_free_memory() frees them; it may also be
 * called after a failure. */
sluice_status queue_take_memory(sli_queue *queue, const sli_queue_config *config);
void queue_free_memory(sli_queue *queue);

/* Stores the ready word of seq and wakes the ring's consumer. */
void queue_ring_publish(queue_ring *ring, uint64_t seq, sli_ring_kind kind);

/* Called after slots of the workers' ring were released: wakes workers that wait for a slot. */
void queue_made_room(sli_queue *queue);

/* Samples the occupancy of the ring. Its consumer calls this before each batch. */
void queue_ring_sample_depth(queue_ring *ring);
void queue_ring_stats(const queue_ring *ring, sli_ring_stats *stats_out);

/*
 * Stores the error of batch seq for the consumer, which raises it at the ERROR word. Batches can
 * fail in any order. Only the error with the lowest seq is kept: the consumer reaches that batch
 * first and reads nothing after it.
 */
void queue_keep_error(sli_queue *queue, uint64_t seq, const sli_error *error);

/* Raises the recorded error in the calling thread. */
sluice_status queue_error(sli_queue *queue);

sluice_status queue_copier_start(sli_queue *queue, const sli_cpus *cpus);
void queue_copier_stop(sli_queue *queue);

#endif
