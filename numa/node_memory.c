/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include "node_memory_int.h"

#include <errno.h>
#include <numaif.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_int.h"
#include "status_int.h"

enum { HUGE_PAGE = 2 << 20, MAX_NODES = 1024, WORD_BITS = 8 * sizeof(unsigned long) };

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
 * Uses MPOL_PREFERRED, not MPOL_BIND: a full node must not end the process. numa_alloc_onnode()
 * would print to stderr if the kernel refuses, and its default policy depends on the cpuset.
 */
static void prefer_node(void *data, size_t bytes, int32_t node)
{
    unsigned long mask[MAX_NODES / WORD_BITS] = {0};
    char cause[128] = "no such node";

    if (node < MAX_NODES) {
        mask[node / WORD_BITS] = 1UL << node % WORD_BITS;
        if (mbind(data, bytes, MPOL_PREFERRED, mask, MAX_NODES + 1, 0) == 0) {
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
    size_t rounded;
    void *data;

    if (bytes == 0 || __builtin_add_overflow(bytes, page - 1, &rounded)) {
        return sli_fail(SLUICE_E_INVALID, "memory on a node: %zu bytes", bytes);
    }
    rounded -= rounded % page;
    data = map_aligned(rounded, bytes >= HUGE_PAGE ? HUGE_PAGE : page);
    if (data == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "memory on node %d, %zu bytes", node, bytes);
    }
    if (node >= 0) {
        prefer_node(data, rounded, node);
    }
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
                        uint32_t counts[MAX_NODES])
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
        if (nodes[i] >= 0 && nodes[i] < MAX_NODES) { /* negative: the page was not touched yet */
            counts[nodes[i]]++;
        }
    }
    return true;
}

int32_t sli_node_of_block(const sli_node_block *block)
{
    const size_t page_count = block->bytes / page_size();
    const size_t stride = (page_count + MAX_PAGES_ASKED - 1) / MAX_PAGES_ASKED;
    uint32_t counts[MAX_NODES] = {0};
    int32_t most = -1;

    for (size_t page = 0; page < page_count; page += PAGES_A_CALL * stride) {
        const size_t left = (page_count - page + stride - 1) / stride;

        if (!count_pages(block, page, stride, left < PAGES_A_CALL ? left : PAGES_A_CALL, counts)) {
            return -1;
        }
    }
    for (int32_t node = 0; node < MAX_NODES; node++) {
        if (counts[node] > 0 && (most < 0 || counts[node] > counts[most])) {
            most = node;
        }
    }
    return most;
}
