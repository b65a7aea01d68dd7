/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readahead: the order of samples is known, so a few threads walk the rows ahead of the workers and
 * make the kernel read their bytes into the page cache. There is no other buffer. At most
 * READAHEAD_ROWS rows or READAHEAD_BYTES are requested ahead of the workers.
 *
 * Readahead runs only while it helps. After several consecutive rows that were cached, the threads
 * sleep until workers have slow reads.
 */
#ifndef SLUICE_READAHEAD_H
#define SLUICE_READAHEAD_H

#include "page_cache.h"
#include "placement_int.h"

/*
 * Rows: 20,000 samples/s for 10 ms, the latency of a busy hard disk or a remote server. Bytes: that
 * many images of usual size, and little compared to a page cache.
 */
enum { READAHEAD_ROWS = 256, READAHEAD_BYTES = 64 << 20 };

/*
 * open() waits for the disk where the folder or inode is not cached, so several threads open files.
 */
enum { READAHEAD_THREADS = 4 };

/* The content of a row. */
typedef enum readahead_row {
    READAHEAD_SAMPLE,
    READAHEAD_NOTHING, /* padding */
    READAHEAD_WAIT,    /* not to be read now; readahead_wake() reports a change */
    READAHEAD_END      /* no row from here on is to be read */
} readahead_row;

typedef struct readahead_config {
    const source_ops *ops; /* must have locate */
    const void *source;
    const sli_placement *placement;  /* the threads run on the CPUs of its workers */
    const _Atomic uint64_t *claimed; /* rows that workers have begun, or are about to */
    readahead_row (*row)(void *arg, uint64_t row, uint64_t *sample_out);
    void *arg;
    page_answer (*fetch)(const sample_location *location, uint64_t most, uint64_t *bytes_out);
} readahead_config;

typedef struct readahead readahead;

/* The config's pointers are borrowed until readahead_stop(). */
sluice_status readahead_start(const readahead_config *config, readahead **ahead_out);

/*
 * Stops the threads and waits for their end; may be called again. This and all calls below accept
 * NULL.
 */
void readahead_stop(readahead *ahead);

/* Frees the readahead; stops it first if needed. */
void readahead_destroy(readahead *ahead);

/* The i-th thread; NULL past the last. */
const sli_thread *readahead_thread(const readahead *ahead, uint32_t i);

/* Reports that results of row() have changed. Any thread. */
void readahead_wake(readahead *ahead);

/* Reports that a worker has claimed a row; costs a load. */
void readahead_claimed(readahead *ahead, uint64_t row);

/* Reports that a worker has read a sample in `ticks` sli_ticks(); costs a load. */
void readahead_was_read(readahead *ahead, uint64_t ticks, uint64_t bytes);

/* Samples that were not cached and were requested, and their bytes, so far. */
void readahead_counts(const readahead *ahead, uint64_t *samples_out, uint64_t *bytes_out);

#endif
