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

/* Maps `bytes`, prefers node (-1: no preference), and asks for huge pages where they help. */
sluice_status sli_node_alloc(size_t bytes, int32_t node, sli_node_block *block_out);
void sli_node_free(sli_node_block *block);

/* Node on which most of the block's touched pages lie (move_pages); -1 when nobody can tell. */
int32_t sli_node_of_block(const sli_node_block *block);

#endif
