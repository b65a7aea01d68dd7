/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "node_memory_int.h"

#include <errno.h>
#include <numaif.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_int.h"
#include "memory_policy_int.h"
#include "status_int.h"

enum { HUGE_PAGE = 2 << 20 };

/* Number of the system call set_mempolicy_home_node(); the C library has no function for it. */
enum { SYSTEM_CALL_HOME_NODE = 450 };

/* Maximum number of pages per move_pages() call, and in total per block. */
enum { PAGES_A_CALL = 256, MAX_PAGES_ASKED = 4096 };

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* True if a test injects allocation failures, which must also apply to mapped blocks. */
static bool must_fail(void)
{
    void *probe = sli_calloc(1, 1);
    const bool fail = probe == NULL;

    sli_free(probe);
    return fail;
}

/* Maps `bytes`, aligned to `alignment`; both are multiples of the page size. */
static void *map_aligned(size_t bytes, size_t alignment)
{
    const size_t spare = alignment - page_size();
    size_t room;
    size_t before;
    char *start;

    if (must_fail() || __builtin_add_overflow(bytes, spare, &room)) {
        return NULL;
    }
    start = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    before = (alignment - (uintptr_t)start % alignment) % alignment;
    if (before > 0) {
        munmap(start, before);
    }
    if (spare > before) {
        munmap(start + before + bytes, spare - before);
    }
    return start + before;
}

/*
 * Binds the block to the nodes of the thread's policy, `node` first. Kernels before 5.17 have no
 * home nodes: pages are then on the bound node that is nearest to the thread that touches them.
 */
static bool bind_near(void *data, size_t bytes, const sli_memory_policy *policy, int32_t node)
{
    if (mbind(data, bytes, MPOL_BIND, policy->nodes, SLI_MAX_NODES + 1, 0) != 0) {
        return false;
    }
    (void)syscall(SYSTEM_CALL_HOME_NODE, data, bytes, (unsigned long)node, 0UL);
    return true;
}

/*
 * A full node must not end the process, so MPOL_PREFERRED is used unless the thread's policy binds.
 * numa_alloc_onnode() would print to stderr if the kernel refuses, and its default policy depends
 * on the cpuset.
 */
static void place_block(void *data, size_t bytes, const sli_memory_policy *policy, int32_t node)
{
    const sli_memory_way way = sli_memory_choose(policy, node);
    unsigned long mask[SLI_MAX_NODES / SLI_NODE_WORD_BITS] = {0};
    char cause[128] = "no such node";

    if (way == SLI_MEMORY_INHERIT) {
        return;
    }
    if (node < SLI_MAX_NODES) {
        mask[node / SLI_NODE_WORD_BITS] = 1UL << node % SLI_NODE_WORD_BITS;
        if (way == SLI_MEMORY_BIND_NEAR
                ? bind_near(data, bytes, policy, node)
                : mbind(data, bytes, MPOL_PREFERRED, mask, SLI_MAX_NODES + 1, 0) == 0) {
            return;
        }
        (void)strerror_r(errno, cause, sizeof(cause));
    }
    sli_log(SLUICE_LOG_INFO,
            "memory on node %d: the kernel refuses (mbind: %s), it lies anywhere; does the node "
            "exist and the cpuset allow it?",
            node, cause);
}

sluice_status sli_node_alloc(size_t bytes, int32_t node, sli_node_block *block_out)
{
    const size_t page = page_size();
    sli_memory_policy policy;
    size_t rounded;
    void *data;

    if (bytes == 0 || __builtin_add_overflow(bytes, page - 1, &rounded)) {
        return sli_fail(SLUICE_E_INVALID,
                        "memory on a node: %zu bytes must be at least 1 and fit in memory", bytes);
    }
    rounded -= rounded % page;
    sli_memory_policy_read(&policy);
    if (bytes >= HUGE_PAGE) {
        const sluice_status st = sli_memory_check("", &policy, node, rounded);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    data = map_aligned(rounded, bytes >= HUGE_PAGE ? HUGE_PAGE : page);
    if (data == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "memory on node %d, %zu bytes", node, bytes);
    }
    place_block(data, rounded, &policy, node);
    block_out->data = data;
    block_out->bytes = rounded;
    block_out->wanted = node;
    return SLUICE_OK;
}

void sli_node_ask_huge(const sli_node_block *block)
{
    if (block->bytes >= HUGE_PAGE) {
        (void)madvise(block->data, block->bytes, MADV_HUGEPAGE);
    }
}

void sli_node_free(sli_node_block *block)
{
    if (block->data != NULL) {
        munmap(block->data, block->bytes);
    }
    memset(block, 0, sizeof(*block));
    block->wanted = -1;
}

/* Counts the pages first, first + stride, ... by node. Returns false if their nodes are unknown. */
static bool count_pages(const sli_node_block *block, size_t first, size_t stride, size_t asked,
                        uint32_t counts[SLI_MAX_NODES])
{
    const size_t page = page_size();
    void *pages[PAGES_A_CALL];
    int nodes[PAGES_A_CALL];

    for (size_t i = 0; i < asked; i++) {
        pages[i] = (char *)block->data + (first + i * stride) * page;
    }
    if (move_pages(0, asked, pages, NULL, nodes, 0) != 0) {
        return false;
    }
    for (size_t i = 0; i < asked; i++) {
        if (nodes[i] >= 0 &&
            nodes[i] < SLI_MAX_NODES) { /* negative: the page was not touched yet */
            counts[nodes[i]]++;
        }
    }
    return true;
}

/* Counts the touched pages of the block by node; of more than MAX_PAGES_ASKED only a sample. */
static bool count_block(const sli_node_block *block, uint32_t counts[SLI_MAX_NODES])
{
    const size_t page_count = block->bytes / page_size();
    const size_t stride = (page_count + MAX_PAGES_ASKED - 1) / MAX_PAGES_ASKED;

    for (size_t page = 0; page < page_count; page += PAGES_A_CALL * stride) {
        const size_t left = (page_count - page + stride - 1) / stride;

        if (!count_pages(block, page, stride, left < PAGES_A_CALL ? left : PAGES_A_CALL, counts)) {
            return false;
        }
    }
    return true;
}

int32_t sli_node_of_block(const sli_node_block *block)
{
    sli_node_shares shares;

    sli_node_shares_of_block(block, &shares);
    return shares.count > 0 ? shares.of[0].node : -1;
}

/* Inserts a node after those with at least as many pages; without room it drops the last one. */
static void insert_share(int32_t node, uint32_t pages, sli_node_shares *shares)
{
    uint32_t at = shares->count;

    while (at > 0 && shares->of[at - 1].pages < pages) {
        at--;
    }
    if (at == SLI_NODE_SHARES) {
        return;
    }
    shares->count += shares->count < SLI_NODE_SHARES;
    memmove(&shares->of[at + 1], &shares->of[at], (shares->count - 1 - at) * sizeof(shares->of[0]));
    shares->of[at] = (sli_node_share){node, pages};
}

void sli_node_shares_of_block(const sli_node_block *block, sli_node_shares *shares_out)
{
    uint32_t counts[SLI_MAX_NODES] = {0};

    memset(shares_out, 0, sizeof(*shares_out));
    if (!count_block(block, counts)) {
        return;
    }
    for (int32_t node = 0; node < SLI_MAX_NODES; node++) {
        if (counts[node] > 0) {
            shares_out->pages += counts[node];
            insert_share(node, counts[node], shares_out);
        }
    }
}

void sli_node_shares_of_memory(const void *data, size_t bytes, sli_node_shares *shares_out)
{
    const size_t page = page_size();
    const size_t before = (size_t)((uintptr_t)data % page);
    const sli_node_block block = {.data = (void *)((uintptr_t)data - before),
                                  .bytes = (before + bytes + page - 1) / page * page,
                                  .wanted = -1};

    sli_node_shares_of_block(&block, shares_out);
}

/* Rounds to whole percents from 1 to 99; 100 only if it is exact. */
static uint32_t percent_of(uint32_t pages, uint64_t all)
{
    const uint64_t percent = (200 * (uint64_t)pages + all) / (2 * all);

    return pages == all ? 100 : percent < 1 ? 1 : percent > 99 ? 99 : (uint32_t)percent;
}

char *sli_node_shares_format(const sli_node_shares *shares, char *text, size_t size)
{
    size_t used = 0;

    snprintf(text, size, shares->count == 1 ? "node %d" : "unknown", shares->of[0].node);
    for (uint32_t i = 0; i < shares->count && shares->count > 1 && used < size; i++) {
        used +=
            (size_t)snprintf(text + used, size - used, "%snode %d %u %%", i > 0 ? ", " : "",
                             shares->of[i].node, percent_of(shares->of[i].pages, shares->pages));
    }
    return text;
}
