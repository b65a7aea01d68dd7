/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the queue share: producer, copier, consumer. */
#ifndef SLUICE_QUEUE_STATE_H
#define SLUICE_QUEUE_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "event_int.h"
#include "node_memory_int.h"
#include "queue_int.h"
#include "ring_int.h"
#include "status_int.h"

/* A ring with its words, its slots, and who sleeps on it. */
typedef struct queue_ring {
    sli_ring words;
    uint8_t *slots;      /* (slots, layout.slot_bytes) */
    uint64_t *own_ready; /* words that are not in registered memory */
    uint64_t *own_consumed;
    sli_event ready;        /* a batch was published */
    sli_event room;         /* a slot was released */
    _Atomic uint64_t looks; /* the four of sli_ring_stats, written by the consumer alone */
    _Atomic uint64_t depth_sum;
    _Atomic uint64_t empty;
    _Atomic uint64_t full;
} queue_ring;

/* Host-side state of one place of the workers' ring. */
typedef struct queue_place {
    _Alignas(64) _Atomic uint32_t rows_done;
    pthread_mutex_t lock; /* guards what follows */
    uint32_t error_row;
    sluice_status error;
    char error_text[SLI_ERROR_SIZE];
} queue_place;

/* How far the copier is; its thread's alone. */
typedef struct queue_copier {
    uint64_t next;      /* to be given to the stream */
    uint64_t given;     /* last one that was, with all its words */
    uint64_t published; /* last one whose word on the device was; where kernels look at it */
    uint64_t copied;    /* last one that was seen to have arrived */
    uint64_t noticed;   /* last batch that is accounted for */
    uint64_t marker;    /* where the end or an error stands, once given; 0: not yet */
    sli_ring_kind marker_kind;
    uint64_t looked_at;   /* next when it last looked how full staging is */
    uint64_t since_ticks; /* up to there the time of copies is accounted for */
} queue_copier;

struct sli_queue {
    sluice_device *device;
    sli_layout layout;
    bool kernels;  /* GetNext is a kernel, and so its device's */
    bool pull;     /* it reads the workers' ring */
    bool converts; /* GetNext converts into `outputs`; otherwise it lends the slot */
    sli_conversion conversion;
    uint32_t conversion_column;
    uint32_t slots;

    /* Workers fill `front`, the consumer empties *back; the copier, if any, goes between. It sleeps
     * on front.ready, for room and for copies, too. Where kernels look at words in device memory,
     * the device ring's ready words here are the host's own, behind those. */
    queue_ring front;
    queue_ring device_ring;
    queue_ring *back; /* &front or &device_ring */
    sli_node_block front_memory;
    size_t registered_bytes; /* of front_memory, page-locked; 0: none */
    void *front_on_device;   /* where kernels see front_memory; NULL where there are none */
    uint64_t
        *host_words; /* in front_memory: `consumed` of kernels; for pull the ready words, too */
    void *device_memory;
    size_t device_bytes;
    uint64_t *device_words;    /* (slots) in device_memory, for kernels; NULL: none */
    queue_place *places;       /* (slots) of front */
    uint64_t *samples;         /* (sample_rows, batch_size): outlives the staging slot */
    sli_batch_header *headers; /* (sample_rows) */
    uint64_t sample_rows;
    void *outputs_memory;
    size_t outputs_bytes;
    sluice_tensor *outputs;      /* what every step sees when GetNext converts */
    sluice_tensor *slot_tensors; /* (slots, columns) what it sees when GetNext lends */
    sli_batch_header current;    /* of the batch that the step has */

    _Atomic bool closed;
    _Atomic uint64_t produced;
    _Atomic uint64_t consumed_count;
    _Atomic uint64_t bytes_copied;
    _Atomic uint64_t copies;
    _Atomic uint64_t publishes;
    _Atomic bool polling; /* a worker looks whether kernels have released a slot */
    _Atomic bool failed;  /* the copier has met an error, and kernels may never hear of it */

    pthread_mutex_t error_lock; /* guards the three below, written before ERROR is published */
    sluice_status error;
    uint64_t error_seq; /* where it stands in the ring */
    char error_text[SLI_ERROR_SIZE];

    sli_stream copy_stream;
    sli_thread copier_thread;
    queue_copier copier;
    uint64_t copied; /* last batch, or end, that the stream has brought; stored behind its words */
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

static inline bool queue_closed(const sli_queue *queue)
{
    /* Pairs with the release store in sli_queue_close(): whoever is turned away sees why. */
    return atomic_load_explicit(&queue->closed, memory_order_acquire);
}

/*
 * Waits like sli_event_await(), for what nobody notifies of: looks for a moment, then between naps
 * that grow. A notify ends a nap.
 */
bool queue_poll(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns);

/* Takes memory and makes rings, places and tensors of it; what it took is given back by free, also
 * when it failed. */
sluice_status queue_take_memory(sli_queue *queue, const sli_queue_config *config);
void queue_free_memory(sli_queue *queue);

/* Publishes on a ring and wakes its consumer. */
void queue_ring_publish(queue_ring *ring, uint64_t seq, sli_ring_kind kind);

/* Releases a slot and wakes the producers. */
void queue_ring_release(queue_ring *ring, uint64_t seq);

/* The consumer comes for a batch: counts how full the ring is. */
void queue_ring_look(queue_ring *ring);

/*
 * Keeps the error that stands at seq, for whoever meets the ERROR word. Batches fail in any order;
 * the lowest seq counts, since it is met first and nothing after it is met at all.
 */
void queue_keep_error(sli_queue *queue, uint64_t seq, sluice_status status, const char *text);

/* The kept error as the calling thread's own. */
sluice_status queue_error(sli_queue *queue);

sluice_status queue_copier_start(sli_queue *queue, const sli_cpus *cpus);
void queue_copier_stop(sli_queue *queue);

#endif
