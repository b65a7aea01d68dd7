/* SPDX-License-Identifier: Apache-2.0 */
/* State that the producer, the copier and the consumer of the queue share. */
#ifndef SLUICE_QUEUE_STATE_H
#define SLUICE_QUEUE_STATE_H

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
    uint8_t *slots;      /* (slots, layout.slot_bytes) */
    uint64_t *own_ready; /* words that are not in registered memory */
    uint64_t *own_consumed;
    sli_event ready;                /* a batch was published */
    sli_event room;                 /* a slot was released */
    _Atomic uint64_t depth_samples; /* these four: as in sli_ring_stats; written by the consumer */
    _Atomic uint64_t depth_sum;
    _Atomic uint64_t empty;
    _Atomic uint64_t full;
} queue_ring;

/* Host-side state of one slot of the workers' ring. */
typedef struct queue_slot_state {
    _Alignas(64) _Atomic uint32_t rows_done;
    pthread_mutex_t lock; /* guards what follows */
    uint32_t error_row;
    sli_error error; /* of that row: of the rows that failed, the lowest */
} queue_slot_state;

/* How far the copier is; its thread's alone. */
typedef struct queue_copier {
    uint64_t next;      /* to be given to the stream */
    uint64_t given;     /* last one that was, with all its words */
    uint64_t published; /* last one whose word on the device was; where kernels poll it */
    uint64_t copied;    /* last one that was seen to have arrived */
    uint64_t noticed;   /* last batch that is accounted for */
    uint64_t marker;    /* where the end or an error stands, once given; 0: not yet */
    sli_ring_kind marker_kind;
    uint64_t sampled_at;  /* next when it last looked how full staging is */
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
    uint32_t sets; /* of outputs */

    /* Workers fill `front`, the consumer drains *back; the copier, if any, copies from one to the
     * other. It sleeps on front.ready, also for room and for copies. Where kernels poll words in
     * device memory, the ready words of device_ring are copies for the host, stored after those. */
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
    uint64_t *device_words;        /* (slots) in device_memory, for kernels; NULL: none */
    queue_slot_state *slot_states; /* (slots) of front */
    uint64_t *samples;             /* (sample_rows, batch_size): outlives the staging slot */
    sli_batch_header *headers;     /* (sample_rows) */
    uint64_t sample_rows;
    void *outputs_memory;
    size_t outputs_bytes;        /* of all sets */
    sluice_tensor *outputs;      /* (sets, columns) what steps see when GetNext converts */
    sluice_tensor *slot_tensors; /* (slots, columns) what it sees when GetNext lends */
    sli_batch_header current;    /* of the batch that the step has */

    _Atomic bool closed;
    _Atomic uint64_t produced;
    _Atomic uint64_t consumed_count;
    _Atomic uint64_t bytes_copied;
    _Atomic uint64_t copies;
    _Atomic uint64_t publishes;
    _Atomic uint64_t room_at;    /* `consumed` from which on a worker is woken for room */
    _Atomic uint32_t room_wakes; /* how many are */
    _Atomic bool polling;        /* a worker polls for slots that kernels release */
    _Atomic bool failed;         /* the copier has met an error that kernels may never see */

    /* Where a copier feeds kernels: what the copy stream was given, before it has arrived. */
    uint64_t *given_ready;      /* (slots) ready words; NULL: there is no such copier */
    uint64_t *marks;            /* (slots) of the copy stream, behind the batch; as the words */
    pthread_mutex_t order_lock; /* guards the next, and that the copy stream is open while it is */
    bool orders;                /* marks are good */

    pthread_mutex_t error_lock; /* guards the two below, written before ERROR is published */
    sli_error error;
    uint64_t error_seq; /* where it stands in the ring */

    sli_stream copy_stream;
    sli_thread copier_thread;
    sli_thread_place copy_thread; /* of copy_stream, as it was when that was closed */
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
    /* Pairs with the release store in sli_queue_close(): a refused caller sees what was written
     * before it. */
    return atomic_load_explicit(&queue->closed, memory_order_acquire);
}

/*
 * Waits like sli_event_await() for a condition that is not notified: spins for a moment, then polls
 * with a growing back-off. A notify ends a back-off.
 */
bool queue_poll(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns);

/* Takes memory and makes rings, slot states and tensors of it; what it took is given back by free,
 * also when it failed. */
sluice_status queue_take_memory(sli_queue *queue, const sli_queue_config *config);
void queue_free_memory(sli_queue *queue);

/* Publishes on a ring and wakes its consumer. */
void queue_ring_publish(queue_ring *ring, uint64_t seq, sli_ring_kind kind);

/* Slots of the workers' ring were released: wakes workers that wait for room. */
void queue_made_room(sli_queue *queue);

/* The consumer comes for a batch: samples how full the ring is. */
void queue_ring_sample_depth(queue_ring *ring);
void queue_ring_stats(const queue_ring *ring, sli_ring_stats *stats_out);

/*
 * Records the error published for seq, for the reader of the ERROR word. Batches fail in any order;
 * the lowest seq wins: it is read first, and nothing after it is read.
 */
void queue_keep_error(sli_queue *queue, uint64_t seq, const sli_error *error);

/* Raises the recorded error in the calling thread. */
sluice_status queue_error(sli_queue *queue);

sluice_status queue_copier_start(sli_queue *queue, const sli_cpus *cpus);
void queue_copier_stop(sli_queue *queue);

#endif
