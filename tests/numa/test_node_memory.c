/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <numaif.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "node_memory_int.h"
#include "testing.h"
#include "topology_int.h"

static void blocks_are_zero_and_whole_pages(void)
{
    static const size_t sizes[] = {1, 4095, 4096, 4097, 100000, 3 << 20, (8 << 20) + 1};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        sli_node_block block = {NULL, 0, 0};
        const unsigned char *bytes;

        T_OK(sli_node_alloc(sizes[i], -1, &block));
        bytes = block.data;
        T_EQ((uintptr_t)block.data % page, 0);
        T_EQ(block.bytes, (sizes[i] + page - 1) / page * page);
        T_EQ(block.wanted, -1);
        for (size_t b = 0; b < block.bytes; b += 511) {
            T_EQ(bytes[b], 0);
        }
        memset(block.data, 0xAB, block.bytes);
        sli_node_free(&block);
        CU_ASSERT_PTR_NULL(block.data);
        sli_node_free(&block);
    }
}

/* So that the kernel can back all of them with huge pages. */
static void large_blocks_start_at_huge_pages(void)
{
    for (int i = 0; i < 8; i++) {
        sli_node_block block = {NULL, 0, 0};

        T_OK(sli_node_alloc((size_t)(2 << 20) + (size_t)i * 4096, 0, &block));
        T_EQ((uintptr_t)block.data % (2 << 20), 0);
        sli_node_free(&block);
    }
}

/* Does the kernel know that it shall back the block with huge pages? /proc/self/smaps: "hg". */
static bool is_huge_wanted(const sli_node_block *block)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    bool inside = false;
    bool wanted = false;
    char line[512];

    CU_ASSERT_PTR_NOT_NULL_FATAL(maps);
    while (fgets(line, sizeof(line), maps) != NULL) {
        unsigned long from;
        unsigned long to;

        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) {
            inside = from <= (uintptr_t)block->data && (uintptr_t)block->data < to;
        } else if (inside && strncmp(line, "VmFlags:", 8) == 0) {
            wanted = strstr(line, " hg") != NULL;
        }
    }
    fclose(maps);
    return wanted;
}

static void huge_pages_are_for_who_asks(void)
{
    sli_node_block block = {NULL, 0, 0};

    if (access("/sys/kernel/mm/transparent_hugepage/enabled", R_OK) != 0) {
        T_SKIP("this kernel has no huge pages");
    }
    T_OK(sli_node_alloc(4 << 20, -1, &block));
    T_TRUE(!is_huge_wanted(&block));
    sli_node_ask_huge(&block);
    T_TRUE(is_huge_wanted(&block));
    sli_node_free(&block);
}

/* The first node whose memory may be taken, and the last; the same one on most machines. */
static void allowed_nodes(int32_t *first, int32_t *last)
{
    sli_topology *topology = NULL;

    *first = -1;
    *last = -1;
    T_OK(sli_topology_open(NULL, &topology));
    for (uint32_t n = 0; n < topology->node_count && topology->this_system; n++) {
        if (topology->nodes[n].memory_allowed && topology->nodes[n].memory_bytes > 0) {
            *first = *first < 0 ? (int32_t)topology->nodes[n].id : *first;
            *last = (int32_t)topology->nodes[n].id;
        }
    }
    sli_topology_close(topology);
}

/* Whether the kernel lets us ask where pages are; containers often forbid it. */
static bool kernel_tells(void)
{
    int node = 0;
    void *page = &node;
    int status = 0;

    return move_pages(0, 1, &page, NULL, &status, 0) == 0;
}

static void check_block_on(int32_t node, size_t bytes)
{
    sli_node_block block = {NULL, 0, 0};

    T_OK(sli_node_alloc(bytes, node, &block));
    T_EQ(block.wanted, node);
    T_EQ(sli_node_of_block(&block), -1); /* nothing is touched yet */
    memset(block.data, 1, block.bytes);
    T_EQ(sli_node_of_block(&block), node);
    sli_node_free(&block);
}

static void a_block_lies_on_its_node(void)
{
    int32_t first;
    int32_t last;

    T_NEEDS(kernel_tells(), "the kernel does not say where pages are (move_pages)");
    allowed_nodes(&first, &last);
    T_NEEDS(first >= 0, "no node's memory is known");
    check_block_on(first, 100000);
    check_block_on(first, 5 << 20);
}

static void a_block_lies_on_another_node_too(void)
{
    int32_t first;
    int32_t last;

    allowed_nodes(&first, &last);
    T_NEEDS(first != last, "needs a second NUMA node");
    T_NEEDS(kernel_tells(), "the kernel does not say where pages are (move_pages)");
    check_block_on(last, 100000);
    check_block_on(last, 5 << 20);
    check_block_on(first, 20 << 20);
}

/* A few touched pages in a block of many are found, even if only some pages are asked about. */
static void the_node_of_a_sparse_block_is_found(void)
{
    sli_node_block block = {NULL, 0, 0};
    int32_t first;
    int32_t last;

    allowed_nodes(&first, &last);
    T_NEEDS(kernel_tells() && first >= 0, "the kernel does not say where pages are (move_pages)");
    T_OK(sli_node_alloc((size_t)64 << 20, first, &block));
    memset(block.data, 1, block.bytes / 8);
    T_EQ(sli_node_of_block(&block), first);
    sli_node_free(&block);
}

/* What a container or a cpuset does: the block is there all the same. */
static void a_refused_node_is_no_error(void)
{
    static const int32_t nodes[] = {1023, 1024, 100000, INT32_MAX};

    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        sli_node_block block = {NULL, 0, 0};

        T_OK(sli_node_alloc(10000, nodes[i], &block));
        memset(block.data, 1, block.bytes);
        T_EQ(block.wanted, nodes[i]);
        T_TRUE(sli_node_of_block(&block) != nodes[i]);
        sli_node_free(&block);
    }
}

static void the_callers_memory_policy_stays(void)
{
    sli_node_block block = {NULL, 0, 0};
    int before = -1;
    int after = -1;

    if (get_mempolicy(&before, NULL, 0, NULL, 0) != 0) {
        T_SKIP("the kernel does not tell the memory policy");
    }
    T_OK(sli_node_alloc(10000, 0, &block));
    T_EQ(get_mempolicy(&after, NULL, 0, NULL, 0), 0);
    T_EQ(after, before);
    sli_node_free(&block);
}

static void what_cannot_be_had_is_refused(void)
{
    sli_node_block block = {NULL, 0, 0};

    T_STATUS(sli_node_alloc(0, -1, &block), SLUICE_E_INVALID);
    T_STATUS(sli_node_alloc(SIZE_MAX, -1, &block), SLUICE_E_INVALID);
    T_STATUS(sli_node_alloc(SIZE_MAX - 8191, -1, &block), SLUICE_E_NO_MEMORY);
    T_STATUS(sli_node_alloc((size_t)1 << 62, -1, &block), SLUICE_E_NO_MEMORY);
    sli_alloc_fail_after(0);
    T_STATUS(sli_node_alloc(4096, -1, &block), SLUICE_E_NO_MEMORY);
    sli_alloc_fail_after(-1);
    CU_ASSERT_PTR_NULL(block.data);
}

const t_test node_memory_tests[] = {
    T_TEST(blocks_are_zero_and_whole_pages),  T_TEST(large_blocks_start_at_huge_pages),
    T_TEST(huge_pages_are_for_who_asks),      T_TEST(a_block_lies_on_its_node),
    T_TEST(a_block_lies_on_another_node_too), T_TEST(the_node_of_a_sparse_block_is_found),
    T_TEST(a_refused_node_is_no_error),       T_TEST(the_callers_memory_policy_stays),
    T_TEST(what_cannot_be_had_is_refused),    T_END,
};
