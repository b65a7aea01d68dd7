/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device queue: a fixed number of slots in device memory, filled by worker threads and drained
 * by GetNext. Where device memory is host memory the workers write directly into the slots;
 * elsewhere they write into staging memory, and a copier thread copies batches to the device.
 *
 * The workers together are the producer. Rows and batches are completed in any order; batches are
 * consumed in order:
 *
 *     sli_queue_acquire(queue, seq, &batch)         waits for the slot of seq to be free
 *     write row r into batch.data                   each row by one worker
 *     if (sli_queue_add_rows(queue, seq, 1)) {      true for the worker of the last row
 *         fill in *batch.header
 *         sli_queue_publish(queue, seq)
 *     }
 *
 * The consumer is one thread, or the device:
 *
 *     sli_queue_wait(queue, seq, timeout)           OK: the batch is there
 *     sli_queue_get_next(queue, seq, &inputs)       converts, or lends the slot
 *     the step
 *     sli_queue_step_done(queue, seq)               releases a lent slot
 *
 * Where GetNext is a kernel (caps.kernels) get_next and step_done are not used: its kernels poll
 * the words of sli_queue_getnext(), and write `consumed`; on the host wait, sample_depth and ready
 * read which batches have arrived. The transport of batches to such a device is one of
 *
 *     push   the copier copies them into slots in device memory, and the stream stores the words
 *     pull   there is no copier: the kernels read the workers' ring in page-locked memory
 */
#ifndef SLUICE_QUEUE_INT_H
#define SLUICE_QUEUE_INT_H

#include "conversion_int.h"
#include "device_int.h"
#include "getnext_int.h"
#include "layout_int.h"
#include "profiler_int.h"

typedef struct sli_queue sli_queue;

enum { SLI_MAX_SLOTS = 1024 };

typedef struct sli_queue_config {
    sluice_device *device;
    const sli_layout *layout;         /* of the rows that workers write; copied */
    const sli_conversion *conversion; /* GetNext converts a column; NULL: none. Copied */
    uint32_t conversion_column;
    uint32_t slots;              /* 2 to SLI_MAX_SLOTS; 3 or more where GetNext lends */
    int32_t node;                /* of the memory; -1: any */
    sli_counters *copy_counters; /* of the copier; may be NULL */
    uint64_t history; /* samples and headers kept: of so many batches before the current one */
    uint32_t sets;    /* of output tensors, where GetNext converts or is a kernel; 0 is 1 */
} sli_queue_config;

/* Memory of a queue, computed before it is created. */
typedef struct sli_queue_memory {
    uint64_t staging_bytes; /* page-locked host memory; 0 where workers write into the slots */
    uint64_t slot_bytes;    /* device memory: slots, and GetNext's sets of outputs when it converts
                             * or is a kernel */
} sli_queue_memory;

void sli_queue_memory_of(const sli_queue_config *config, sli_queue_memory *memory_out);

/* E_INVALID: the conversion does not fit its column; E_NO_MEMORY; errors of the device. */
sluice_status sli_queue_create(const sli_queue_config *config, sli_queue **queue_out);

/* Starts the counters and, if batches are copied, the copier thread on copier_cpus (NULL: any CPU).
 */
sluice_status sli_queue_start(sli_queue *queue, const sli_cpus *copier_cpus);

/* Closes the queue and joins the copier thread: the statistics are final from here on. */
void sli_queue_stop(sli_queue *queue);

/* The placement of the threads of a queue; a name is "" where there was none. Any thread, but not
 * while the queue is started or stopped. */
enum { SLI_QUEUE_THREADS = 2 };
void sli_queue_threads(const sli_queue *queue, sli_thread_place places_out[SLI_QUEUE_THREADS]);

/* Stops the queue and frees it. No thread may use it any more. NULL is allowed. */
void sli_queue_destroy(sli_queue *queue);

/* Makes every current and later acquire and wait return CLOSED. Any thread. */
void sli_queue_close(sli_queue *queue);

/* A slot lent to the workers. */
typedef struct sli_batch {
    sli_batch_header *header;
    uint8_t *row_flags; /* (batch_size) */
    uint8_t *data;      /* the slot; columns at the layout's offsets */
    uint64_t *samples;  /* (batch_size) sample indices, host memory only */
} sli_batch;

/*
 * Producer: the last batch that may be filled now; it only grows. Workers claim rows in order and
 * check this before each claim, so that any awake worker can do the next row, and few need to be
 * woken.
 */
uint64_t sli_queue_room(const sli_queue *queue);

/* How many batches behind the last one that the consumer has released may be filled at most. */
uint64_t sli_queue_depth(const sli_queue *queue);

/* The condition that such a worker waits for. */
typedef struct sli_room_request {
    uint64_t seq;             /* room for this batch */
    uint64_t slots;           /* free slots that are worth a wake, at most half of all */
    bool (*other)(void *arg); /* or other work; see sli_queue_wake() */
    void *arg;
} sli_room_request;

/*
 * Waits; false: the queue is closed. A release by the consumer wakes one of the waiting workers. A
 * worker that leaves enough work for others wakes them. No worker of this queue may wait in
 * sli_queue_acquire() meanwhile.
 */
bool sli_queue_await_room(sli_queue *queue, const sli_room_request *request);

/* Does a worker wait for room? A look without order, to save the work before sli_queue_wake(). */
bool sli_queue_has_waiters(const sli_queue *queue);

/* Wakes up to `most` workers that wait for room, after other() has changed or when there is room
 * for several. A worker that is about to wait may miss it. */
void sli_queue_wake(sli_queue *queue, uint32_t most);

/* Producer. OK, TIMEOUT, CLOSED. Batches may be acquired by several threads at once. */
sluice_status sli_queue_acquire(sli_queue *queue, uint64_t seq, int64_t timeout_ns,
                                sli_batch *batch_out);

/* Adds `count` written rows of seq. True for the one caller that completes the batch. */
bool sli_queue_add_rows(sli_queue *queue, uint64_t seq, uint32_t count);

/* Restarts a batch whose rows are all done. False, without a change, when a row has failed. */
bool sli_queue_begin_again(sli_queue *queue, uint64_t seq);

/* Records an error of a row; the lowest row of a batch wins. */
void sli_queue_row_failed(sli_queue *queue, uint64_t seq, uint32_t row, sluice_status status,
                          const char *text);

/* Publishes a complete batch, or the error of one of its rows. */
void sli_queue_publish(sli_queue *queue, uint64_t seq);

/* Publishes the end of the data: no batch follows seq - 1. The slot must have been acquired. */
void sli_queue_publish_end(sli_queue *queue, uint64_t seq);

/*
 * Consumer. OK: the batch has arrived; TIMEOUT; END_OF_DATA; CLOSED; or the error published for
 * seq, with its text as the last error. spin: polls instead of sleeping.
 */
sluice_status sli_queue_wait(sli_queue *queue, uint64_t seq, int64_t timeout_ns, bool spin);

/*
 * The same, but OK already when the copy of the batch has been submitted to the copy stream: a
 * consumer that launches steps need not wait until it arrives. Without a copier for kernels it is
 * sli_queue_wait().
 */
sluice_status sli_queue_wait_given(sli_queue *queue, uint64_t seq, int64_t timeout_ns);

/*
 * After OK of that: work that `native`, a stream of steps, is given from here on runs after the
 * arrival of the batch. It does not wait, except after an error of a copy, when it may return the
 * error published for seq.
 */
sluice_status sli_queue_order(sli_queue *queue, uint64_t seq, void *native);

/* Consumer, before its next batch: samples how full the queue is. */
void sli_queue_sample_depth(sli_queue *queue);

/* Inputs of a step. Pointers are valid until sli_queue_step_done(). */
typedef struct sli_inputs {
    const sluice_tensor *tensors; /* in the order of the layout's columns */
    uint32_t count;
    const sli_batch_header *header;
    const uint64_t *samples; /* (batch_size) */
} sli_inputs;

/* After OK of sli_queue_wait(). E_CORRUPT: the slot holds another batch than its word says. */
sluice_status sli_queue_get_next(sli_queue *queue, uint64_t seq, sli_inputs *inputs_out);
void sli_queue_step_done(sli_queue *queue, uint64_t seq);

/* Releases a batch that has arrived, unread. */
void sli_queue_discard(sli_queue *queue, uint64_t seq);

/* sli_queue_get_next() into a set of output tensors, for a consumer that holds several batches.
 * Where GetNext lends, the set is ignored. */
sluice_status sli_queue_get_next_into(sli_queue *queue, uint64_t seq, uint32_t set,
                                      sli_inputs *inputs_out);

/* Tensors of a set as steps will see them, also before the run; data is NULL where GetNext lends.
 */
const sluice_tensor *sli_queue_outputs(const sli_queue *queue, uint32_t set, uint32_t *count_out);

/*
 * The (batch_size) samples of a batch that has arrived, and its header, in host memory: valid until
 * `history` + 1 batches after it have been consumed.
 */
const uint64_t *sli_queue_samples(const sli_queue *queue, uint64_t seq);
const sli_batch_header *sli_queue_header(const sli_queue *queue, uint64_t seq);

/* The next three: where caps.kernels only. */

/* Sets ring, slots and slot_bytes to device addresses; other fields are unchanged. */
void sli_queue_getnext(const sli_queue *queue, sli_getnext *getnext);

/* From the slots to a set of sli_queue_outputs() and to its header below. E_INVALID as
 * sli_gather_plan() says. */
sluice_status sli_queue_gather(const sli_queue *queue, uint32_t set, sli_gather *gather_out);

/* In device memory: the header of the batch that was gathered last into set 0. */
const sli_batch_header *sli_queue_device_header(const sli_queue *queue);

/* Occupancy of a ring, sampled before each batch of its consumer. */
typedef struct sli_ring_stats {
    uint64_t capacity;
    uint64_t depth_samples; /* number of samples */
    uint64_t depth_sum;     /* over all samples */
    uint64_t empty;         /* samples of an empty ring */
    uint64_t full;          /* samples of a full ring */
} sli_ring_stats;

typedef struct sli_queue_stats {
    uint64_t produced; /* batches published by the workers */
    uint64_t consumed; /* batches released by the consumer */
    uint64_t bytes_copied;
    uint64_t copies;       /* submitted to the copy stream, of one batch or several */
    uint64_t publishes;    /* of words in device memory */
    const char *transport; /* "none": workers write into the slots; "push"; "pull" */
    bool has_staging;
    sli_ring_stats staging;
    sli_ring_stats slots;
} sli_queue_stats;

/* Any thread; exact once producer and consumer are idle. */
void sli_queue_stats_get(const sli_queue *queue, sli_queue_stats *stats_out);

/* Batches from seq on that are ready. Any thread; exact while the consumer is idle. */
uint32_t sli_queue_ready(const sli_queue *queue, uint64_t seq);

/* Rows of seq that are done, for stall diagnostics. */
uint32_t sli_queue_rows_done(sli_queue *queue, uint64_t seq);

/* NUMA node of staging memory, or of the slots; -1: unknown. */
int32_t sli_queue_memory_node(const sli_queue *queue);

#endif
