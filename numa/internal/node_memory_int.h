/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks of host memory on a NUMA node. If the kernel refuses the node (containers, cpusets),
 * the block is allocated elsewhere; sli_node_of_block() returns its node. Uses no function of
 * libnuma that prints or exits.
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
 * Maps `bytes`, preferably on `node` (-1: no preference). A block of 2 MiB or more is aligned for
 * huge pages.
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

/* The NUMA node of most of the block's touched pages (move_pages); -1: unknown. */
int32_t sli_node_of_block(const sli_node_block *block);

#endif
