/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device queue: a fixed number of slots in device memory, filled by worker threads and emptied
 * by GetNext. Where device memory is host memory the workers write straight into the slots;
 * elsewhere they write into staging memory and a copier thread carries batches over.
 *
 * The workers together are the producer. They write rows in any order; batches are complete in any
 * order and leave in order:
 *
 *     sli_queue_acquire(queue, seq, &batch)         waits for the slot of seq to be free
 *     write row r into batch.data                   each row by one worker
 *     if (sli_queue_row_done(queue, seq)) {         true for whoever does the last row
 *         fill in *batch.header
 *         sli_queue_publish(queue, seq)
 *     }
 *
 * The consumer is one thread, or the device:
 *
 *     sli_queue_wait(queue, seq, timeout)           OK: the batch is there
 *     sli_queue_get_next(queue, seq, &inputs)       converts, or lends the slot
 *     the step
 *     sli_queue_step_done(queue, seq)               gives back what was lent
 *
 * Where GetNext is a kernel (caps.kernels) get_next and step_done are not used: its kernels poll
 * words that sli_queue_getnext() tells them of, and `consumed` is theirs. Wait, look and ready know
 * on the host what has arrived. Batches come to such a device by
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
    const sli_layout *layout;         /* what the workers write; copied */
    const sli_conversion *conversion; /* what GetNext does to a column; NULL: nothing. Copied */
    uint32_t conversion_column;
    uint32_t slots;              /* 2 to SLI_MAX_SLOTS; 3 or more where GetNext lends */
    int32_t node;                /* of the memory; -1: any */
    sli_counters *copy_counters; /* of the copier; may be NULL */
    uint64_t history; /* batches before the one in the step whose samples and header are kept */
} sli_queue_config;

/* What a queue takes, known before it is made. */
typedef struct sli_queue_memory {
    uint64_t staging_bytes; /* page-locked host memory; 0 where workers write into the slots */
    uint64_t slot_bytes;    /* device memory: slots, and GetNext's outputs when it converts or is a
                             * kernel */
} sli_queue_memory;

void sli_queue_memory_of(const sli_queue_config *config, sli_queue_memory *memory_out);

/* E_INVALID: the conversion is not one of its column's rows; E_NO_MEMORY; the device's errors. */
sluice_status sli_queue_create(const sli_queue_config *config, sli_queue **queue_out);

/* Starts the copier, where there is one, on copier_cpus (NULL: any); its counters count from here.
 */
sluice_status sli_queue_start(sli_queue *queue, const sli_cpus *copier_cpus);

/* Closes the queue and waits for the copier to end: from here on the statistics do not change. */
void sli_queue_stop(sli_queue *queue);

/* Stops the queue and frees everything. Nobody may use the queue any more. NULL is fine. */
void sli_queue_destroy(sli_queue *queue);

/* Makes every acquire and wait answer CLOSED, now and later, batch or not. Any thread. */
void sli_queue_close(sli_queue *queue);

/* A slot lent to the workers. */
typedef struct sli_batch {
    sli_batch_header *header;
    uint8_t *row_flags; /* (batch_size) */
    uint8_t *data;      /* the slot; columns at the layout's offsets */
    uint64_t *samples;  /* (batch_size) sample indices, host memory only */
} sli_batch;

/* Producer. OK, TIMEOUT, CLOSED. Batches may be acquired by several threads at once. */
sluice_status sli_queue_acquire(sli_queue *queue, uint64_t seq, int64_t timeout_ns,
                                sli_batch *batch_out);

/* True for the one caller after whom every row of seq is done. */
bool sli_queue_row_done(sli_queue *queue, uint64_t seq);

/* All rows of seq are done, and they are to be filled anew: false, and nothing has changed, when
 * one of them has failed. */
bool sli_queue_begin_again(sli_queue *queue, uint64_t seq);

/* Remembers an error of a row; of several in a batch the one of the lowest row counts. */
void sli_queue_row_failed(sli_queue *queue, uint64_t seq, uint32_t row, sluice_status status,
                          const char *text);

/* Hands over a complete batch, or the error that one of its rows met. */
void sli_queue_publish(sli_queue *queue, uint64_t seq);

/* Says that no batch follows seq - 1. The slot must have been acquired. */
void sli_queue_publish_end(sli_queue *queue, uint64_t seq);

/*
 * Consumer. OK the batch is there; TIMEOUT; END_OF_DATA; CLOSED; or the error that stands at this
 * place, with its text as the last error. spin: polls instead of sleeping.
 */
sluice_status sli_queue_wait(sli_queue *queue, uint64_t seq, int64_t timeout_ns, bool spin);

/* Consumer: has come for its next batch; counts how full the queue is. */
void sli_queue_look(sli_queue *queue);

/* What a step is given. Pointers are good until sli_queue_step_done(). */
typedef struct sli_inputs {
    const sluice_tensor *tensors; /* in the order of the layout's columns */
    uint32_t count;
    const sli_batch_header *header;
    const uint64_t *samples; /* (batch_size) */
} sli_inputs;

/* After sli_queue_wait() said OK. E_CORRUPT: the slot is not what its word says. */
sluice_status sli_queue_get_next(sli_queue *queue, uint64_t seq, sli_inputs *inputs_out);
void sli_queue_step_done(sli_queue *queue, uint64_t seq);

/* Tensors as the step will see them, for checks before anything runs; without data where GetNext
 * lends. */
const sluice_tensor *sli_queue_outputs(const sli_queue *queue, uint32_t *count_out);

/*
 * The (batch_size) samples of a batch that has arrived, and its header, in host memory: good until
 * `history` + 1 batches after it have been consumed.
 */
const uint64_t *sli_queue_samples(const sli_queue *queue, uint64_t seq);
const sli_batch_header *sli_queue_header(const sli_queue *queue, uint64_t seq);

/* The three that follow where caps.kernels only. */

/* Fills in ring, slots and slot_bytes, as the device sees them; leaves the rest as it is. */
void sli_queue_getnext(const sli_queue *queue, sli_getnext *getnext);

/* From the slots to the tensors of sli_queue_outputs() and to the header below. E_INVALID as
 * sli_gather_plan() says. */
sluice_status sli_queue_gather(const sli_queue *queue, sli_gather *gather_out);

/* In device memory: of the batch that was gathered last. */
const sli_batch_header *sli_queue_device_header(const sli_queue *queue);

/* How full a ring was whenever its consumer came for a batch. */
typedef struct sli_ring_stats {
    uint64_t capacity;
    uint64_t looks;
    uint64_t depth_sum; /* over all looks */
    uint64_t empty;     /* looks that found nothing */
    uint64_t full;      /* looks that found every slot filled */
} sli_ring_stats;

typedef struct sli_queue_stats {
    uint64_t produced; /* batches published by the workers */
    uint64_t consumed; /* batches given back by the consumer */
    uint64_t bytes_copied;
    uint64_t copies;       /* given to the copy stream; of one batch or of several */
    uint64_t publishes;    /* of words in device memory */
    const char *transport; /* "none": workers write into the slots; "push"; "pull" */
    bool has_staging;
    sli_ring_stats staging;
    sli_ring_stats slots;
} sli_queue_stats;

/* Any thread; exact once nobody produces or consumes. */
void sli_queue_stats_get(const sli_queue *queue, sli_queue_stats *stats_out);

/* Batches from seq on that a consumer would get at once. Any thread; exact while nobody consumes.
 */
uint32_t sli_queue_ready(const sli_queue *queue, uint64_t seq);

/* How many rows of seq are done, for a report of who waits for whom. */
uint32_t sli_queue_rows_done(sli_queue *queue, uint64_t seq);

/* Node on which staging, or the slots, lie; -1 when nobody can tell. */
int32_t sli_queue_memory_node(const sli_queue *queue);

#endif
