/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readahead. The order of samples is known in advance, so a few threads process the rows ahead of
 * the workers and make the kernel read their bytes into the page cache. There is no other buffer.
 * The threads stay up to READAHEAD_ROWS samples or READAHEAD_BYTES ahead of the workers.
 *
 * Readahead runs only while it helps. After several consecutive cached rows, the threads sleep
 * until workers have slow reads.
 */
#ifndef SLUICE_READAHEAD_H
#define SLUICE_READAHEAD_H

#include "page_cache.h"
#include "placement_int.h"

/*
 * Limits of the lookahead. Rows: 20,000 samples/s for 10 ms, the latency of a busy hard disk or a
 * remote server. Bytes: the total of 256 images of usual size, and little compared to a page cache.
 */
enum { READAHEAD_ROWS = 256, READAHEAD_BYTES = 64 << 20 };

/*
 * Readahead uses several threads because open() waits for the disk if the folder or inode is not
 * cached.
 */
enum { READAHEAD_THREADS = 4 };

/* The readahead action for a row. */
typedef enum readahead_row {
    READAHEAD_SAMPLE,
    READAHEAD_NOTHING, /* padding: the row has no sample */
    READAHEAD_WAIT, /* the row must not be read yet; readahead_wake() is called when that changes */
    READAHEAD_END   /* no later row is left to read */
} readahead_row;

typedef struct readahead_config {
    const source_ops *ops; /* its locate() must not be NULL */
    const void *source;
    const sli_placement *placement;  /* the threads run on the CPUs of its workers */
    const _Atomic uint64_t *claimed; /* number of rows that workers have claimed */
    readahead_row (*row)(void *arg, uint64_t row, uint64_t *sample_out); /* with several samples in
                            a row: for number `row` of all samples of all rows */
    uint32_t row_samples; /* number of samples in a row, at least 1 */
    void *arg;
    page_answer (*fetch)(const sample_location *location, uint64_t most, uint64_t *bytes_out);
} readahead_config;

typedef struct readahead readahead;

/* Starts readahead. The config's pointers are borrowed until readahead_stop(). */
sluice_status readahead_start(const readahead_config *config, readahead **ahead_out);

/*
 * Stops the threads and waits until they have ended; may be called repeatedly. This function and
 * all functions below accept NULL.
 */
void readahead_stop(readahead *ahead);

/* Frees the readahead; stops it first if needed. */
void readahead_destroy(readahead *ahead);

/* Returns thread i, or NULL if there are fewer threads. */
const sli_thread *readahead_thread(const readahead *ahead, uint32_t i);

/* Reports that results of config.row() have changed. Callable from any thread. */
void readahead_wake(readahead *ahead);

/* Reports that a worker has claimed a row; usually costs one load. */
void readahead_claimed(readahead *ahead, uint64_t row);

/*
 * Reports that a worker has read a sample of `bytes` bytes in `ticks` (sli_ticks()); usually costs
 * one load.
 */
void readahead_was_read(readahead *ahead, uint64_t ticks, uint64_t bytes);

/*
 * Returns the number of samples that were requested because they were not cached, and their bytes.
 */
void readahead_counts(const readahead *ahead, uint64_t *samples_out, uint64_t *bytes_out);

#endif
