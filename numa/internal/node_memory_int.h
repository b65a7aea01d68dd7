/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks of host memory on a NUMA node. The kernel may refuse (containers, cpusets); the
 * block is then given all the same and says where it lies. No libnuma call that prints or exits.
 */
#ifndef SLUICE_NODE_MEMORY_INT_H
#define SLUICE_NODE_MEMORY_INT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct sli_node_block {
    void *data;     /* page aligned, zero */
    size_t bytes;   /* as asked for, rounded up to whole pages */
    int32_t wanted; /* node asked for; -1: none */
} sli_node_block;

/* Maps `bytes`, prefers node (-1: no preference). From 2 MiB on it starts where a huge page may. */
sluice_status sli_node_alloc(size_t bytes, int32_t node, sli_node_block *block_out);

/*
 * Asks for huge pages; a kernel without them is no worse off. Call it before the block is touched.
 * They help where a device maps the block. Where only workers write it they cost: the kernel must
 * find and clear 2 MiB at a time, which took 0.15 s for 116 MB on a virtual machine.
 */
void sli_node_ask_huge(const sli_node_block *block);

void sli_node_free(sli_node_block *block);

/* Node on which most of the block's touched pages lie (move_pages); -1 when nobody can tell. */
int32_t sli_node_of_block(const sli_node_block *block);

#endif
