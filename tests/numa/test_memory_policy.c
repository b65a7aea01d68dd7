/* SPDX-License-Identifier: Apache-2.0 */
#include <numaif.h>
#include <stdio.h>
#include <string.h>

#include <sluice/log.h>

#include "memory_policy_int.h"
#include "node_memory_int.h"
#include "testing.h"
#include "topology_int.h"

/* A recorded policy of the nodes in a mask of the first 64. */
static sli_memory_policy policy_of(sli_policy_mode mode, unsigned long nodes)
{
    sli_memory_policy policy = {.mode = mode};

    policy.nodes[0] = nodes;
    return policy;
}

static void a_bound_process_stays_on_its_nodes(void)
{
    sli_memory_policy bound = policy_of(SLI_POLICY_BIND, 0x6); /* nodes 1 and 2 */

    T_EQ(sli_memory_choose(&bound, 1), SLI_MEMORY_BIND_NEAR);
    T_EQ(sli_memory_choose(&bound, 2), SLI_MEMORY_BIND_NEAR);
    T_EQ(sli_memory_choose(&bound, 0), SLI_MEMORY_INHERIT);
    T_EQ(sli_memory_choose(&bound, 100000), SLI_MEMORY_INHERIT);
    T_EQ(sli_memory_choose(&bound, -1), SLI_MEMORY_INHERIT);
    T_TRUE(sli_memory_policy_permits(&bound, 2));
    T_TRUE(!sli_memory_policy_permits(&bound, 3));
    T_TRUE(!sli_memory_policy_permits(&bound, 100000));
    bound.relative = true; /* numbers within a cpuset, which this process does not know */
    T_EQ(sli_memory_choose(&bound, 1), SLI_MEMORY_INHERIT);
    T_TRUE(sli_memory_policy_permits(&bound, 3));
}

static void other_policies_forbid_no_node(void)
{
    static const sli_policy_mode modes[] = {SLI_POLICY_DEFAULT, SLI_POLICY_PREFERRED,
                                            SLI_POLICY_INTERLEAVE};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        const sli_memory_policy policy = policy_of(modes[i], 0x1);

        T_TRUE(sli_memory_policy_permits(&policy, 1));
        T_EQ(sli_memory_choose(&policy, 1), SLI_MEMORY_PREFER);
        T_EQ(sli_memory_choose(&policy, -1), SLI_MEMORY_INHERIT);
    }
}

static void policies_have_names(void)
{
    static const struct {
        sli_policy_mode mode;
        unsigned long nodes;
        const char *text;
    } cases[] = {{SLI_POLICY_DEFAULT, 0, "default"},
                 {SLI_POLICY_PREFERRED, 0x2, "preferred 1"},
                 {SLI_POLICY_BIND, 0x7, "bind 0-2"},
                 {SLI_POLICY_INTERLEAVE, 0xB1, "interleave 0,4-5,7"}};
    char text[40];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const sli_memory_policy policy = policy_of(cases[i].mode, cases[i].nodes);

        T_STR(sli_memory_policy_format(&policy, text, sizeof(text)), cases[i].text);
        sli_memory_policy_format(&policy, text, 6);
        T_EQ(strlen(text), 5);
    }
}

/* A folder with the meminfo of a node, in kB. */
static void write_meminfo(const char *root, uint32_t node, unsigned free_kib, unsigned cache_kib)
{
    char path[80];
    char text[400];

    snprintf(path, sizeof(path), "sys/devices/system/node/node%u/meminfo", node);
    snprintf(text, sizeof(text),
             "\nNode %u MemTotal:       16384000 kB\nNode %u MemFree:        %u kB\n"
             "Node %u Active(file):   %u kB\nNode %u Inactive(file): %u kB\n"
             "Node %u SReclaimable:   8 kB\nNode %u HugePages_Total: 4\n",
             node, node, free_kib, node, cache_kib / 2, node, cache_kib / 2, node, node);
    t_write_file(t_path(root, path), text, strlen(text));
}

static void the_page_cache_counts_as_available(void)
{
    const char *root = t_folder();
    uint64_t bytes = 0;

    write_meminfo(root, 0, 1000, 200);
    T_TRUE(sli_node_available(root, 0, &bytes));
    T_EQ(bytes, 1208 * 1024);
    T_TRUE(!sli_node_available(root, 1, &bytes));
    t_write_file(t_path(root, "sys/devices/system/node/node2/meminfo"), "Node 2 MemFree: x kB\n",
                 21);
    T_TRUE(!sli_node_available(root, 2, &bytes));
}

static char warned[1000];

static void keep(sluice_log_level level, const char *text, void *user)
{
    (void)level;
    (void)user;
    snprintf(warned + strlen(warned), sizeof(warned) - strlen(warned), "%s\n", text);
}

/* The kernel would kill the process at the first touch beyond the nodes' memory. */
static void bound_nodes_without_enough_memory_are_an_error(void)
{
    const char *root = t_folder();
    const sli_memory_policy one = policy_of(SLI_POLICY_BIND, 0x2);
    const sli_memory_policy both = policy_of(SLI_POLICY_BIND, 0x3);
    const sli_memory_policy unknown = policy_of(SLI_POLICY_BIND, 0x4);
    const sli_memory_policy partly = policy_of(SLI_POLICY_BIND, 0x6);

    write_meminfo(root, 0, 4000, 0);
    write_meminfo(root, 1, 1000, 0);
    T_OK(sli_memory_check(root, &one, 1, (size_t)1000 << 10));
    T_STATUS(sli_memory_check(root, &one, 1, (size_t)2000 << 10), SLUICE_E_NO_MEMORY);
    T_CONTAINS(sluice_last_error(), "(bind 1): 2.048 MB needed, 1.03219 MB available");
    T_CONTAINS(sluice_last_error(), "numactl --membind");
    T_STATUS(sli_memory_check(root, &one, -1, (size_t)2000 << 10), SLUICE_E_NO_MEMORY);
    T_OK(sli_memory_check(root, &both, -1, (size_t)2000 << 10));
    T_OK(sli_memory_check(root, &unknown, 2, (size_t)1 << 40));
    T_OK(sli_memory_check(root, &partly, 1, (size_t)1 << 40));
}

static void a_full_preferred_node_is_a_warning(void)
{
    const char *root = t_folder();
    const sli_memory_policy none = policy_of(SLI_POLICY_DEFAULT, 0);

    write_meminfo(root, 1, 1000, 0);
    warned[0] = '\0';
    sluice_log_set_callback(keep, NULL);
    T_OK(sli_memory_check(root, &none, 1, (size_t)500 << 10));
    T_OK(sli_memory_check(root, &none, -1, (size_t)2000 << 10));
    T_OK(sli_memory_check(root, &none, 3, (size_t)2000 << 10)); /* nothing is known of node 3 */
    T_STR(warned, "");
    T_OK(sli_memory_check(root, &none, 1, (size_t)2000 << 10));
    sluice_log_set_callback(NULL, NULL);
    T_CONTAINS(warned, "memory on node 1: 2.048 MB needed, 1.03219 MB available");
}

static void shares_name_the_nodes_by_their_pages(void)
{
    static const struct {
        sli_node_shares shares;
        const char *text;
    } cases[] = {
        {{.pages = 0}, "unknown"},
        {{.pages = 7, .count = 1, .of = {{3, 7}}}, "node 3"},
        {{.pages = 57602, .count = 2, .of = {{0, 44427}, {1, 13175}}}, "node 0 77 %, node 1 23 %"},
        {{.pages = 4096, .count = 2, .of = {{1, 4095}, {0, 1}}}, "node 1 99 %, node 0 1 %"}};
    char text[100];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        T_STR(sli_node_shares_format(&cases[i].shares, text, sizeof(text)), cases[i].text);
    }
}

/* ---- on a machine with two nodes, such as the guest of numa_guest.sh --------------------------
 */

/* Sets the thread's policy to the nodes in the mask. */
static bool try_policy(int mode, unsigned long nodes)
{
    return set_mempolicy(mode, nodes != 0 ? &nodes : NULL, nodes != 0 ? 64 : 0) == 0;
}

/* True if this thread may bind itself to node 0 and to node 1. */
static bool has_two_nodes(void)
{
    const bool has = try_policy(MPOL_BIND, 1) && try_policy(MPOL_BIND, 2);

    return try_policy(MPOL_DEFAULT, 0) && has;
}

enum { BYTES = 8 << 20 };

/* The nodes of a block that this thread touches. */
static const char *nodes_of(size_t bytes, int32_t node)
{
    static char text[100];
    sli_node_block block = {NULL, 0, 0};
    sli_node_shares shares;

    T_OK(sli_node_alloc(bytes, node, &block));
    memset(block.data, 1, block.bytes);
    sli_node_shares_of_block(&block, &shares);
    sli_node_free(&block);
    return sli_node_shares_format(&shares, text, sizeof(text));
}

static void pages_of_a_bound_thread_are_on_its_nodes(void)
{
    T_NEEDS(has_two_nodes(), "needs two NUMA nodes: tests/numa_guest.sh has them");
    for (int32_t bound = 0; bound < 2; bound++) {
        char want[20];

        snprintf(want, sizeof(want), "node %d", bound);
        T_TRUE(try_policy(MPOL_BIND, 1UL << bound));
        for (int32_t node = -1; node < 2; node++) {
            T_STR(nodes_of(BYTES, node), want);
        }
    }
    T_TRUE(try_policy(MPOL_BIND, 3));
    /* Without huge pages, which Linux 6.1 puts on the node of the thread that touches them. */
    T_STR(nodes_of(1 << 20, 0), "node 0");
    T_STR(nodes_of(1 << 20, 1), "node 1");
    T_TRUE(try_policy(MPOL_DEFAULT, 0));
}

static void other_policies_yield_to_a_given_node(void)
{
    T_NEEDS(has_two_nodes(), "needs two NUMA nodes: tests/numa_guest.sh has them");
    T_TRUE(try_policy(MPOL_PREFERRED, 2));
    T_STR(nodes_of(BYTES, -1), "node 1");
    T_STR(nodes_of(BYTES, 0), "node 0");
    T_TRUE(try_policy(MPOL_INTERLEAVE, 3));
    T_STR(nodes_of(BYTES, -1), "node 0 50 %, node 1 50 %");
    T_STR(nodes_of(BYTES, 1), "node 1");
    T_TRUE(try_policy(MPOL_DEFAULT, 0));
}

static void the_memory_of_bound_nodes_is_the_memory_allowed(void)
{
    sli_topology *topology = NULL;
    char text[40];

    T_NEEDS(has_two_nodes(), "needs two NUMA nodes: tests/numa_guest.sh has them");
    T_TRUE(try_policy(MPOL_BIND, 2));
    T_OK(sli_topology_open(NULL, &topology));
    T_TRUE(try_policy(MPOL_DEFAULT, 0));
    T_STR(sli_memory_policy_format(&topology->policy, text, sizeof(text)), "bind 1");
    T_TRUE(topology->memory_limit <= topology->nodes[1].memory_bytes);
    T_TRUE(!topology->nodes[0].memory_allowed);
    T_TRUE(topology->nodes[1].memory_allowed);
    sli_topology_close(topology);
}

const t_test memory_policy_tests[] = {
    T_TEST(a_bound_process_stays_on_its_nodes),
    T_TEST(other_policies_forbid_no_node),
    T_TEST(policies_have_names),
    T_TEST(the_page_cache_counts_as_available),
    T_TEST(bound_nodes_without_enough_memory_are_an_error),
    T_TEST(a_full_preferred_node_is_a_warning),
    T_TEST(shares_name_the_nodes_by_their_pages),
    T_TEST(pages_of_a_bound_thread_are_on_its_nodes),
    T_TEST(other_policies_yield_to_a_given_node),
    T_TEST(the_memory_of_bound_nodes_is_the_memory_allowed),
    T_END,
};
