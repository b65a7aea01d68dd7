/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks of host memory on a NUMA node. If the kernel refuses the node (containers, cpusets),
 * the block is allocated elsewhere; sli_node_shares_of_block() returns its nodes. If the allocating
 * thread is bound to nodes (numactl --membind), the block is only on these nodes. No function of
 * libnuma that prints or exits is called.
 */
#ifndef SLUICE_NODE_MEMORY_INT_H
#define SLUICE_NODE_MEMORY_INT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct sli_node_block {
    void *data;     /* page-aligned, zeroed */
    size_t bytes;   /* requested size, rounded up to whole pages */
    int32_t wanted; /* requested NUMA node; -1: no preference */
} sli_node_block;

/*
 * Maps `bytes`, preferably on `node` (-1: by the policy of the threads that touch the block). A
 * block of 2 MiB or more is aligned for huge pages. E_INVALID: 0 bytes; E_NO_MEMORY: no address
 * space or, for such a block, less memory available on the nodes to which the calling thread is
 * bound.
 */
sluice_status sli_node_alloc(size_t bytes, int32_t node, sli_node_block *block_out);

/*
 * Advises transparent huge pages (madvise); call it before the block is touched. Without kernel
 * support it is a no-op. Huge pages help if a device maps the block. If only workers write the
 * block, they cost time: the kernel must find and clear 2 MiB at a time, which took 0.15 s for 116
 * MB on a virtual machine.
 */
void sli_node_ask_huge(const sli_node_block *block);

void sli_node_free(sli_node_block *block);

enum { SLI_NODE_SHARES = 8 };

/* The touched pages of one node. */
typedef struct sli_node_share {
    int32_t node;
    uint32_t pages;
} sli_node_share;

/* The nodes with the most touched pages of a block, in descending order. */
typedef struct sli_node_shares {
    uint64_t pages; /* touched pages on all nodes; a large block is sampled */
    uint32_t count; /* 0: unknown */
    sli_node_share of[SLI_NODE_SHARES];
} sli_node_shares;

void sli_node_shares_of_block(const sli_node_block *block, sli_node_shares *shares_out);

/* The same for any host memory, in whole pages around it. */
void sli_node_shares_of_memory(const void *data, size_t bytes, sli_node_shares *shares_out);

/* Writes "node 0", "node 0 77 %, node 1 23 %" or "unknown", and returns text. */
char *sli_node_shares_format(const sli_node_shares *shares, char *text, size_t size);

/* The NUMA node of most of the block's touched pages (move_pages); -1: unknown. */
int32_t sli_node_of_block(const sli_node_block *block);

#endif
