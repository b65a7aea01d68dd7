/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readahead: the order of samples is known, so a few threads walk the rows in front of the workers
 * and have the kernel read what will be wanted. Nothing is held but the page cache's pages, and not
 * more than READAHEAD_ROWS rows or READAHEAD_BYTES are asked for before a worker is at them.
 *
 * It works only while it is of use. When row after row is found in the page cache, the threads
 * sleep until workers meet reads that took long.
 */
#ifndef SLUICE_READAHEAD_H
#define SLUICE_READAHEAD_H

#include "page_cache.h"
#include "placement_int.h"

/*
 * Rows: what 20,000 samples/s take in 10 ms, the time of a busy hard disk or a far server. Bytes:
 * as many images of usual size, and little beside what a page cache has.
 */
enum { READAHEAD_ROWS = 256, READAHEAD_BYTES = 64 << 20 };

/* Opening a file waits for the disk where its folder or inode is not cached; several can. */
enum { READAHEAD_THREADS = 4 };

/* What stands at a row. */
typedef enum readahead_row {
    READAHEAD_SAMPLE,
    READAHEAD_NOTHING, /* padding */
    READAHEAD_WAIT,    /* nothing is to be read now; readahead_wake() tells of a change */
    READAHEAD_END      /* nothing is to be read any more, here or later */
} readahead_row;

typedef struct readahead_config {
    const source_ops *ops; /* which has locate */
    const void *source;
    const sli_placement *placement;  /* whose workers' CPUs the threads run on */
    const _Atomic uint64_t *claimed; /* rows that workers have begun, or are about to */
    readahead_row (*row)(void *arg, uint64_t row, uint64_t *sample_out);
    void *arg;
    page_answer (*fetch)(const sample_location *location, uint64_t most, uint64_t *bytes_out);
} readahead_config;

typedef struct readahead readahead;

/* What a config points to is borrowed until readahead_stop(). */
sluice_status readahead_start(const readahead_config *config, readahead **ahead_out);

/* Ends the threads and waits until they have; may be called again. NULL is fine, for all below. */
void readahead_stop(readahead *ahead);

/* Frees it, stopped before or not. */
void readahead_destroy(readahead *ahead);

/* What row() says has changed. Any thread. */
void readahead_wake(readahead *ahead);

/* A worker has claimed a row; costs a load. */
void readahead_claimed(readahead *ahead, uint64_t row);

/* A worker has read a sample, in so many sli_ticks(); costs a load. */
void readahead_was_read(readahead *ahead, uint64_t ticks, uint64_t bytes);

/* Samples that were not in the page cache and were asked for, and their bytes, so far. */
void readahead_counts(const readahead *ahead, uint64_t *samples_out, uint64_t *bytes_out);

#endif
