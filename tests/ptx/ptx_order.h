/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that accesses of different threads to the same bytes are ordered: a data race detector
 * for the interpreter. Threads are those of a grid, and the host. Each has a vector clock; release
 * and acquire of the same word at scopes that include each other, barriers of a block, and the
 * beginning and end of a grid order them (PTX memory consistency model: causality order). Two
 * accesses to a byte of which one writes must be ordered unless both are strong (not weak). A
 * non-coherent load must not read what the grid writes.
 */
#ifndef SLUICE_TEST_PTX_ORDER_H
#define SLUICE_TEST_PTX_ORDER_H

#include "ptx_program.h"

/* Reports a race: it is counted, and the first one is described. */
typedef struct ptx_races {
    uint64_t count;
    char first[256];
} ptx_races;

/* For grids of at most `threads` threads. `base` and `bytes`: the memory that is watched. */
ptx_order *ptx_order_create(uint32_t threads, const void *base, size_t bytes);
void ptx_order_destroy(ptx_order *order);
const ptx_races *ptx_order_races(const ptx_order *order);

/* Accesses of the host, at system scope. */
void ptx_order_host_write(ptx_order *order, const void *to, size_t bytes);
void ptx_order_host_release(ptx_order *order, const void *word);
void ptx_order_host_acquire(ptx_order *order, const void *word);

/* Called by the interpreter. `thread` counts over the blocks of a grid. */
void ptx_order_begin(ptx_order *order, uint32_t block_threads);
void ptx_order_end(ptx_order *order);
void ptx_order_barrier(ptx_order *order, uint32_t block, uint32_t block_threads);
void ptx_order_access(ptx_order *order, uint32_t thread, const void *at, const ptx_access *access,
                      bool reads, bool writes);

#endif
