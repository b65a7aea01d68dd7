/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory policy of a thread (numactl --membind, --preferred, --interleave), its effect on
 * memory for which the library prefers a node, and the memory that nodes have available.
 */
#ifndef SLUICE_MEMORY_POLICY_INT_H
#define SLUICE_MEMORY_POLICY_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Upper bound on the kernel's node numbers. */
enum { SLI_MAX_NODES = 1024, SLI_NODE_WORD_BITS = 8 * sizeof(unsigned long) };

typedef enum sli_policy_mode {
    SLI_POLICY_DEFAULT = 0, /* first touch: the node of the thread that first touches a page; also
                               if the policy is unknown */
    SLI_POLICY_PREFERRED,   /* one node or several; pages go elsewhere if these are full */
    SLI_POLICY_BIND,        /* these nodes and no others */
    SLI_POLICY_INTERLEAVE   /* pages on these nodes in turn */
} sli_policy_mode;

typedef struct sli_memory_policy {
    sli_policy_mode mode;
    bool relative; /* `nodes` are numbers within the cpuset (MPOL_F_RELATIVE_NODES) */
    unsigned long nodes[SLI_MAX_NODES / SLI_NODE_WORD_BITS]; /* unused by SLI_POLICY_DEFAULT */
} sli_memory_policy;

/* Reads the calling thread's policy; the default one if the kernel does not provide it. */
void sli_memory_policy_read(sli_memory_policy *policy_out);

/* True if the policy permits allocations on the node: it is not bound to other nodes. */
bool sli_memory_policy_permits(const sli_memory_policy *policy, uint32_t node);

/* True if the policy names a node other than `node`. False for the default policy, and for relative
 * node numbers, which count the nodes of the cpuset. */
bool sli_memory_policy_leaves(const sli_memory_policy *policy, uint32_t node);

/* Writes "default", "preferred 1", "bind 0-1" or "interleave 0,2", and returns text. */
char *sli_memory_policy_format(const sli_memory_policy *policy, char *text, size_t size);

/* How to allocate memory that the library prefers on one node. */
typedef enum sli_memory_way {
    SLI_MEMORY_INHERIT = 0, /* first touch, by the policy of the thread */
    SLI_MEMORY_PREFER,      /* on this node; on any other node when it is full */
    SLI_MEMORY_BIND_NEAR    /* on this node; on another bound node when it is full */
} sli_memory_way;

/* Returns how memory with the preferred node `node` (-1: none) is placed under the policy. */
sli_memory_way sli_memory_choose(const sli_memory_policy *policy, int32_t node);

/*
 * Reads the bytes that a node has for new allocations: free memory, the page cache of files and
 * reclaimable slabs. Returns false if they are unknown. root is a prefix of every path: "" for this
 * machine, a folder in tests.
 */
bool sli_node_available(const char *root, uint32_t node, uint64_t *bytes_out);

/*
 * Compares `bytes` with the memory available. Returns E_NO_MEMORY if the nodes to which the policy
 * binds have less: the OOM killer would end the process when it touches the memory. Logs a warning
 * if `node` has less, unless the policy decides alone (SLI_MEMORY_INHERIT). An unknown amount
 * counts as enough; of bound nodes, those whose amount is unknown are left out unless all are.
 */
sluice_status sli_memory_check(const char *root, const sli_memory_policy *policy, int32_t node,
                               size_t bytes);

#endif
