/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device queue: a fixed number of slots in device memory, filled by worker threads and drained
 * by GetNext. If device memory is host memory, the workers write directly into the slots. Otherwise
 * they write into staging memory, and a copier thread copies batches to the device.
 *
 * The workers together are the producer. Rows and batches are completed in any order; batches are
 * consumed in order:
 *
 *     sli_queue_acquire(queue, seq, &batch)         waits until the slot of seq is free
 *     write row r into batch.data                   each row by one worker
 *     if (sli_queue_add_rows(queue, seq, 1)) {      true for the worker of the last row
 *         fill in *batch.header
 *         sli_queue_publish(queue, seq)
 *     }
 *
 * The consumer is one thread, or the device:
 *
 *     sli_queue_wait(queue, seq, timeout)           OK: the batch has arrived
 *     sli_queue_get_next(queue, seq, &inputs)       converts, or lends the slot
 *     the step
 *     sli_queue_step_done(queue, seq)               releases a lent slot
 *
 * If GetNext is a kernel (caps.kernels), get_next and step_done are not used: kernels poll the
 * words of sli_queue_getnext() and write `consumed`. On the host, wait, sample_depth and ready only
 * read which batches have arrived. Batches reach such a device by one of two transports:
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
#include "node_memory_int.h"
#include "profiler_int.h"

typedef struct sli_queue sli_queue;

enum { SLI_MAX_SLOTS = 1024 };

typedef struct sli_queue_config {
    sluice_device *device;
    const sli_layout *layout;         /* layout of the rows that workers write; copied. With ragged
                                         columns GetNext widens them */
    const sli_conversion *conversion; /* conversion that GetNext applies, copied; NULL: no
                                         conversion */
    uint32_t conversion_column;
    sli_row_programs programs; /* not NONE: the last column of the layout has a row program
                                  (row_program_int.h) for each row of the converted column; it is
                                  not a tensor. Requires `conversion`, from u8 (H, W, C) */
    /* (output_count) descriptions of the tensors that GetNext makes, copied; NULL: one tensor per
     * column of the layout. Must be NULL if `conversion` is set, or a column is ragged. */
    const sli_output *outputs;
    uint32_t output_count;
    uint32_t slots;              /* 2 to SLI_MAX_SLOTS; at least 3 if GetNext lends the slot to
                                    the step instead of copying it */
    int32_t node;                /* requested NUMA node of the host memory; -1: no preference */
    sli_counters *copy_counters; /* counters of the copier; may be NULL */
    uint64_t history;            /* number of past batches whose samples and headers are kept */
    uint32_t sets; /* sets of output tensors if GetNext converts or is a kernel; 0 means 1 */
} sli_queue_config;

/* Memory requirements of a queue, computed before it is created. */
typedef struct sli_queue_memory {
    uint64_t staging_bytes; /* page-locked host memory; 0 if workers write directly into the
                               slots */
    uint64_t slot_bytes; /* device memory: slots, and GetNext's sets of outputs if it converts or is
                            a kernel */
} sli_queue_memory;

void sli_queue_memory_of(const sli_queue_config *config, sli_queue_memory *memory_out);

/* Returns E_INVALID if the conversion or an output does not fit its column, E_NO_MEMORY, or an
 * error of the device. */
sluice_status sli_queue_create(const sli_queue_config *config, sli_queue **queue_out);

/* Starts the copier thread on copier_cpus (NULL: any CPU), if batches are copied. */
sluice_status sli_queue_start(sli_queue *queue, const sli_cpus *copier_cpus);

/* Closes the queue and joins the copier thread. Afterwards the statistics are final. */
void sli_queue_stop(sli_queue *queue);

/* The placement of the queue's threads (copier, copy stream); the name of a thread that never ran
 * is "". Any thread may call it, but not while the queue is started or stopped. */
enum { SLI_QUEUE_THREADS = 2 };
void sli_queue_threads(const sli_queue *queue, sli_thread_place places_out[SLI_QUEUE_THREADS]);

/* Stops the queue and frees it. No thread may use it any more. NULL is allowed. */
void sli_queue_destroy(sli_queue *queue);

/* Makes every current and later acquire and wait return CLOSED. Callable from any thread. */
void sli_queue_close(sli_queue *queue);

/* A slot lent to the workers. */
typedef struct sli_batch {
    sli_batch_header *header;
    uint8_t *row_flags; /* (batch_size) */
    uint8_t *data;      /* the slot; columns at the layout's offsets */
    uint64_t *samples;  /* (batch_size) sample indices, host memory only */
    uint32_t extent;    /* 0; set by the producer if columns are ragged: that of the batch */
} sli_batch;

/*
 * Producer: the seq of the last batch that may be filled now. It never decreases. Workers claim
 * rows in order and check it before each claim, so any awake worker can do the next row, and few
 * need to be woken.
 */
uint64_t sli_queue_room(const sli_queue *queue);

/* Queue depth: how many batches the workers may run ahead of the last one that was released. */
uint64_t sli_queue_depth(const sli_queue *queue);

/* The condition that a worker waits for in sli_queue_await_room(). */
typedef struct sli_room_request {
    uint64_t seq;             /* waits until the slot of this batch is free */
    uint64_t slots;           /* free slots required for a wake-up, clamped to half of all slots */
    bool (*other)(void *arg); /* or until other(arg) is true: there is other work; see
                                 sli_queue_wake() */
    void *arg;
} sli_room_request;

/*
 * Waits until the request is satisfied. False: the queue is closed. A release by the consumer wakes
 * one waiting worker; a worker that leaves enough work for others wakes more. No worker of this
 * queue may wait in sli_queue_acquire() meanwhile.
 */
bool sli_queue_await_room(sli_queue *queue, const sli_room_request *request);

/*
 * Called by the consumer if the next batch has not arrived while it may hold others, whose slots it
 * does not release before: wakes a worker that waits for more free slots than there are, if the
 * slot of its batch is free.
 */
void sli_queue_starve(sli_queue *queue);

/* True if a worker waits for a slot. This is a relaxed load, by which callers can cheaply skip the
 * work before sli_queue_wake(). */
bool sli_queue_has_waiters(const sli_queue *queue);

/* Wakes up to `most` workers that wait for a slot, after other() has changed or when several slots
 * are free. A worker that is about to sleep may miss the wake-up. */
void sli_queue_wake(sli_queue *queue, uint32_t most);

/* Producer: waits until the slot of seq is free. Returns OK, TIMEOUT or CLOSED. Several threads may
 * call it concurrently. */
sluice_status sli_queue_acquire(sli_queue *queue, uint64_t seq, int64_t timeout_ns,
                                sli_batch *batch_out);

/* Adds `count` written rows of seq. Returns true to the one caller that completes the batch. */
bool sli_queue_add_rows(sli_queue *queue, uint64_t seq, uint32_t count);

/* Resets the row count of a batch whose rows are all done, so that they can be filled again. False:
 * a row has failed; nothing is changed. */
bool sli_queue_begin_again(sli_queue *queue, uint64_t seq);

/* Records the error of a row. Only the error of the lowest row of a batch is kept. */
void sli_queue_row_failed(sli_queue *queue, uint64_t seq, uint32_t row, sluice_status status,
                          const char *text);

/* Publishes a complete batch, or the error of one of its rows. */
void sli_queue_publish(sli_queue *queue, uint64_t seq);

/* Publishes the end of the data: no batch follows seq - 1. The slot must have been acquired. */
void sli_queue_publish_end(sli_queue *queue, uint64_t seq);

/*
 * Consumer: waits for a batch. Returns OK once the batch has arrived, TIMEOUT, END_OF_DATA, CLOSED,
 * or the error published for seq, whose text becomes the last error. If spin is true, it polls
 * instead of sleeping.
 */
sluice_status sli_queue_wait(sli_queue *queue, uint64_t seq, int64_t timeout_ns, bool spin);

/*
 * Like sli_queue_wait(), but returns OK as soon as the copy of the batch is submitted to the copy
 * stream: a consumer that launches steps need not wait for arrival. Identical to sli_queue_wait()
 * unless a copier feeds kernels (transport push).
 */
sluice_status sli_queue_wait_given(sli_queue *queue, uint64_t seq, int64_t timeout_ns);

/*
 * After sli_queue_wait_given() has returned OK: makes work that is submitted later to `native`, the
 * device's handle of a stream for steps, run after the batch has arrived. Does not block, except
 * after a copy error; it may then return the error published for seq.
 */
sluice_status sli_queue_order(sli_queue *queue, uint64_t seq, void *native);

/* Samples the occupancy of the queue. The consumer calls it before each batch. */
void sli_queue_sample_depth(sli_queue *queue);

/* Inputs of a step. Pointers are valid until sli_queue_step_done(). */
typedef struct sli_inputs {
    const sluice_tensor *tensors; /* in the order of the outputs, or of the layout's columns */
    uint32_t count;
    const sli_batch_header *header;
    const uint64_t *samples; /* (batch_size) */
} sli_inputs;

/* To be called after sli_queue_wait() has returned OK. Returns E_CORRUPT if the slot's header has
 * another batch number. */
sluice_status sli_queue_get_next(sli_queue *queue, uint64_t seq, sli_inputs *inputs_out);
void sli_queue_step_done(sli_queue *queue, uint64_t seq);

/* Releases a batch that has arrived without reading it. */
void sli_queue_discard(sli_queue *queue, uint64_t seq);

/* Like sli_queue_get_next(), but into the given set of output tensors, for a consumer that holds
 * several batches. If GetNext lends the slot, `set` is ignored. */
sluice_status sli_queue_get_next_into(sli_queue *queue, uint64_t seq, uint32_t set,
                                      sli_inputs *inputs_out);

/* The tensors of a set as steps receive them; also available before the run. data is NULL if
 * GetNext lends the slot. */
const sluice_tensor *sli_queue_outputs(const sli_queue *queue, uint32_t set, uint32_t *count_out);

/*
 * The (batch_size) samples of a batch that has arrived, and its header, in host memory. Valid until
 * `history` + 1 later batches have been consumed.
 */
const uint64_t *sli_queue_samples(const sli_queue *queue, uint64_t seq);
const sli_batch_header *sli_queue_header(const sli_queue *queue, uint64_t seq);

/* The next three functions require caps.kernels. */

/* Sets `ring` and `slots`, as device addresses, and slot_bytes; leaves the other fields
 * unchanged. */
void sli_queue_getnext(const sli_queue *queue, sli_getnext *getnext);

/* Plans the gather from a slot into a set of sli_queue_outputs() and the set's header. E_INVALID:
 * see sli_gather_plan(). */
sluice_status sli_queue_gather(const sli_queue *queue, uint32_t set, sli_gather *gather_out);

/* Device address of the header of the batch that was last gathered into set 0. */
const sli_batch_header *sli_queue_device_header(const sli_queue *queue, uint32_t set);

/* Occupancy of a ring, sampled by its consumer before each batch. */
typedef struct sli_ring_stats {
    uint64_t capacity;
    uint64_t depth_samples; /* number of samples */
    uint64_t depth_sum;     /* sum of the depths of all samples */
    uint64_t empty;         /* samples at which the ring was empty */
    uint64_t full;          /* samples at which the ring was full */
} sli_ring_stats;

typedef struct sli_queue_stats {
    uint64_t produced; /* batches published by the workers */
    uint64_t consumed; /* batches released by the consumer */
    uint64_t bytes_copied;
    uint64_t batches_copied;
    uint64_t copies;       /* copies submitted to the copy stream, of one or more batches each */
    uint64_t publishes;    /* stores of ready words in device memory, of one or more batches each */
    const char *transport; /* "none": workers write into the slots; "push"; "pull" */
    bool has_staging;
    sli_ring_stats staging;
    sli_ring_stats slots;
} sli_queue_stats;

/* Any thread may call it. The numbers are exact once producer and consumer are idle. */
void sli_queue_stats_get(const sli_queue *queue, sli_queue_stats *stats_out);

/* The number of consecutive ready batches from seq on. Any thread may call it; exact while the
 * consumer is idle. */
uint32_t sli_queue_ready(const sli_queue *queue, uint64_t seq);

/* The number of rows of seq that are done, for stall diagnostics. */
uint32_t sli_queue_rows_done(sli_queue *queue, uint64_t seq);

enum { SLI_QUEUE_BUFFERS = 3 };

/* A buffer of a queue, and the NUMA nodes of its memory. */
typedef struct sli_buffer_place {
    const char *name; /* "staging", "slots", or "tensors": what GetNext converts to, for steps */
    uint64_t bytes;
    bool on_device;      /* it is not host memory, and has no NUMA node */
    int32_t wanted;      /* requested NUMA node; -1: no preference */
    sli_node_shares got; /* of host memory */
} sli_buffer_place;

/* Finds the memory of each buffer, staging first. Returns their number. */
uint32_t sli_queue_buffers(const sli_queue *queue, sli_buffer_place places_out[SLI_QUEUE_BUFFERS]);

#endif
