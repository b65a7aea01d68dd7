/* SPDX-License-Identifier: Apache-2.0 */
#include "core_division_int.h"

#include <string.h>

#include "alloc_int.h"
#include "rank_cores_int.h"
#include "testing.h"
#include "topology_kit.h"

enum { MOST = 16 };

/* The affinity of each rank, as a list of CPUs, and the node of its device. */
typedef struct rank_case {
    const char *allowed;
    int32_t node;
    const char *want; /* its part; with a "+" at the end: shared */
} rank_case;

static sli_cpus cpus_of(const char *list)
{
    sli_cores_setting setting;

    T_TRUE(sli_cores_parse(list, &setting));
    return setting.list;
}

static void check_division(const char *machine, const rank_case *ranks, uint32_t count)
{
    sli_topology *topology = open_text(machine);
    sli_rank_claim claims[MOST];
    sli_rank_part parts[MOST];

    for (uint32_t r = 0; r < count; r++) {
        sli_rank_claim_make(topology, ranks[r].node, &claims[r]);
        claims[r].allowed = cpus_of(ranks[r].allowed);
    }
    T_OK(sli_divide_cores(topology->all_cores, topology->all_core_count, claims, count, parts));
    for (uint32_t r = 0; r < count; r++) {
        char text[300];

        sli_cpus_format(&parts[r].cpus, text, sizeof(text) - 1);
        strcat(text, parts[r].shared ? "+" : "");
        if (strcmp(text, ranks[r].want) != 0) {
            T_FAIL_("rank %u of %u on \"%s\" has %s, want %s", r, count, machine, text,
                    ranks[r].want);
        }
    }
    sli_topology_close(topology);
}

#define CHECK(machine, ...)                                                                        \
    check_division(machine, (const rank_case[]){__VA_ARGS__},                                      \
                   sizeof((const rank_case[]){__VA_ARGS__}) / sizeof(rank_case))

#define TWO_NODES "pack:2 [numa(memory=1GB)] core:4 pu:2" /* node 0 is CPUs 0-7, node 1 8-15 */

static void disjoint_masks_stay_as_they_are(void)
{
    CHECK(TWO_NODES, {"0-1,4-5", 1, "0-1,4-5"}, {"2-3", 1, "2-3"}, {"8-15", 0, "8-15"});
    CHECK(TWO_NODES, {"0,2", -1, "0,2"}, {"1,3", -1, "1,3"}); /* siblings apart, as was asked */
}

static void equal_masks_are_split_into_neighbouring_whole_cores(void)
{
    CHECK(TWO_NODES, {"0-15", -1, "0-7"}, {"0-15", -1, "8-15"});
    CHECK(TWO_NODES, {"0-15", -1, "0-3"}, {"0-15", -1, "4-7"}, {"0-15", -1, "8-11"},
          {"0-15", -1, "12-15"});
    CHECK("core:6 pu:1", {"0-5", -1, "0-1"}, {"0-5", -1, "2-3"}, {"0-5", -1, "4-5"});
    CHECK("core:5 pu:1", {"0-4", -1, "0-1"}, {"0-4", -1, "2-4"});
}

/* As Open MPI binds ranks to NUMA nodes: two ranks on each. */
static void ranks_bound_to_a_node_split_that_node(void)
{
    CHECK(TWO_NODES, {"0-7", -1, "0-3"}, {"8-15", -1, "8-11"}, {"0-7", -1, "4-7"},
          {"8-15", -1, "12-15"});
}

static void cores_near_the_device_come_first(void)
{
    CHECK(TWO_NODES, {"0-15", 1, "8-15"}, {"0-15", 0, "0-7"});
    CHECK(TWO_NODES, {"0-15", 1, "8-11"}, {"0-15", 0, "0-3"}, {"0-15", 1, "12-15"},
          {"0-15", 0, "4-7"});
    CHECK(TWO_NODES, {"0-15", 1, "8-15"}, {"0-15", -1, "0-7"});
    CHECK(TWO_NODES, {"0-15", 1, "0-3,8-11"}, {"0-15", 1, "4-7,12-15"});
    /* A device on a node where the rank may not run, and on one that is not there. */
    CHECK(TWO_NODES, {"0-7", 1, "0-3"}, {"0-7", 1, "4-7"});
    CHECK(TWO_NODES, {"0-15", 77, "0-7"}, {"0-15", 77, "8-15"});
}

static void the_overlap_of_masks_goes_to_those_with_less(void)
{
    CHECK("core:12 pu:1", {"0-7", -1, "0-5"}, {"4-11", -1, "6-11"});
    CHECK("core:8 pu:1", {"0-7", -1, "4-7"}, {"0-3", -1, "0-3"});
    CHECK("core:8 pu:1", {"0-7", -1, "2-7"}, {"0-1", -1, "0-1"});
    CHECK("core:4 pu:2", {"0-7", -1, "0-3,6-7"}, {"4-5", -1, "4-5"});
}

/* Unless the affinity requires it, as in the last case. */
static void siblings_are_never_apart(void)
{
    CHECK("core:2 pu:2", {"0-3", -1, "0-1"}, {"0-3", -1, "2-3"});
    CHECK("core:3 pu:2", {"0-5", -1, "0-1"}, {"0-5", -1, "2-5"});
    CHECK("core:2 pu:2", {"0-3", -1, "0-1,3"}, {"0,2", -1, "2"});
}

static void ranks_without_a_core_share_one(void)
{
    CHECK("core:2 pu:1", {"0-1", -1, "0+"}, {"0-1", -1, "0+"}, {"0-1", -1, "1"});
    CHECK("core:1 pu:2", {"0-1", -1, "0-1+"}, {"0-1", -1, "0-1+"});
}

static void a_rank_that_takes_all_is_left_out(void)
{
    sli_topology *topology = open_text("core:4 pu:1");
    sli_rank_claim claims[3];
    sli_rank_part parts[3];
    char text[40];

    for (uint32_t r = 0; r < 3; r++) {
        sli_rank_claim_make(topology, -1, &claims[r]);
    }
    claims[1].takes_all = true;
    T_OK(sli_divide_cores(topology->all_cores, topology->all_core_count, claims, 3, parts));
    T_STR(sli_cpus_format(&parts[0].cpus, text, sizeof(text)), "0-1");
    T_STR(sli_cpus_format(&parts[1].cpus, text, sizeof(text)), "0-3");
    T_STR(sli_cpus_format(&parts[2].cpus, text, sizeof(text)), "2-3");
    T_TRUE(parts[0].shared && parts[1].shared && parts[2].shared);
    T_EQ(parts[0].shared_cores, 2);
    T_EQ(parts[0].sharing_ranks, 1);
    T_EQ(parts[1].shared_cores, 4);
    T_EQ(parts[1].sharing_ranks, 2);
    sli_topology_close(topology);
}

static void quota_and_memory_are_divided_in_a_group(void)
{
    sli_topology *topology = open_text("core:8 pu:1");
    sli_rank_claim claims[3];
    sli_rank_part parts[3];

    for (uint32_t r = 0; r < 3; r++) {
        sli_rank_claim_make(topology, -1, &claims[r]);
        claims[r].quota = 6;
        claims[r].quota_group = r < 2 ? 11 : 12;
        claims[r].memory_group = 13;
        claims[r].memory_limit = 3000;
    }
    claims[2].memory_limit = 1500;
    T_OK(sli_divide_cores(topology->all_cores, topology->all_core_count, claims, 3, parts));
    T_NEAR(parts[0].quota, 3, 0);
    T_NEAR(parts[1].quota, 3, 0);
    T_NEAR(parts[2].quota, 6, 0);
    T_EQ(parts[0].memory_limit, 1000);
    T_EQ(parts[2].memory_limit, 500);
    sli_topology_close(topology);
}

/* Parts are within the claims, no CPU is lost, and ranks have common CPUs only if `shared`. */
static void check_parts(const sli_rank_claim *claims, const sli_rank_part *parts, uint32_t count)
{
    for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
        uint64_t allowed = 0;
        uint64_t had = 0;

        for (uint32_t r = 0; r < count; r++) {
            T_EQ(parts[r].cpus.bits[i] & ~claims[r].allowed.bits[i], 0);
            T_TRUE(parts[r].shared || (had & parts[r].cpus.bits[i]) == 0 || r == 0 ||
                   parts[r - 1].shared);
            had |= parts[r].cpus.bits[i];
            allowed |= claims[r].allowed.bits[i];
        }
        T_EQ(had, allowed);
    }
}

static void any_masks_are_divided_without_loss(void)
{
    static const char *const machines[] = {TWO_NODES, "numa:4 core:3 pu:2", "core:7 pu:1"};

    for (uint32_t trial = 0; trial < 300; trial++) {
        sli_topology *topology = open_text(machines[trial % 3]);
        const uint32_t count = 1 + trial % 7;
        sli_rank_claim claims[MOST];
        sli_rank_part parts[MOST];
        sli_rank_part again[MOST];
        uint32_t state = 12345 + trial;

        for (uint32_t r = 0; r < count; r++) {
            sli_rank_claim_make(topology, (int32_t)(trial / 3 % 4) - 1, &claims[r]);
            for (uint32_t cpu = 0; cpu < topology->machine_cpu_count; cpu++) {
                state = state * 1664525 + 1013904223;
                if (state >> 30 == 0 && sli_cpus_count(&claims[r].allowed) > 1) {
                    sli_cpus_remove(&claims[r].allowed, cpu);
                }
            }
        }
        T_OK(sli_divide_cores(topology->all_cores, topology->all_core_count, claims, count, parts));
        T_OK(sli_divide_cores(topology->all_cores, topology->all_core_count, claims, count, again));
        T_EQ(memcmp(parts, again, count * sizeof(parts[0])), 0);
        check_parts(claims, parts, count);
        for (uint32_t r = 0; r < count; r++) {
            T_TRUE(sli_cpus_next(&parts[r].cpus, 0) >= 0);
        }
        sli_topology_close(topology);
    }
}

static void settings_of_cores_are_parsed(void)
{
    static const char *const bad[] = {"0-",   "-1",        "1-0",  "x",     "0,,1",
                                      "0,",   "4096",      " 0",   "0 ",    "0-x",
                                      "Auto", "0-9999999", "all,", "auto1", "1-2-3"};
    sli_cores_setting setting;
    char text[60];

    T_TRUE(sli_cores_parse(NULL, &setting) && setting.kind == SLI_CORES_AUTO);
    T_TRUE(sli_cores_parse("", &setting) && setting.kind == SLI_CORES_AUTO);
    T_TRUE(sli_cores_parse("auto", &setting) && setting.kind == SLI_CORES_AUTO);
    T_TRUE(sli_cores_parse("all", &setting) && setting.kind == SLI_CORES_ALL);
    T_TRUE(sli_cores_parse("3,0-1,4095", &setting) && setting.kind == SLI_CORES_LIST);
    T_STR(sli_cpus_format(&setting.list, text, sizeof(text)), "0-1,3,4095");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (sli_cores_parse(bad[i], &setting)) {
            T_FAIL_("\"%s\" is taken for a list of CPUs", bad[i]);
        }
    }
}

static void a_list_must_be_of_allowed_cpus(void)
{
    sli_topology *topology = open_text(TWO_NODES);
    sli_cpus cpus = cpus_of("2,8-9,16");

    T_STATUS(sli_topology_restrict(topology, &cpus, "cores"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "cores: this process may not use CPU 16");
    T_CONTAINS(sluice_last_error(), "it may use 0-15");
    T_EQ(topology->core_count, 8);
    cpus = cpus_of("2,8-9");
    T_OK(sli_topology_restrict(topology, &cpus, "cores"));
    T_EQ(topology->core_count, 2);
    T_EQ(sli_cpus_count(&topology->cores[0].cpus), 1);
    T_EQ(topology->nodes[1].core_count, 1);
    T_EQ(topology->all_core_count, 8);
    sli_topology_close(topology);
}

static void division_survives_running_out_of_memory(void)
{
    sli_topology *topology = open_text("core:2 pu:1");
    sli_rank_claim claims[2];
    sli_rank_part parts[2];

    sli_rank_claim_make(topology, -1, &claims[0]);
    claims[1] = claims[0];
    for (int calls = 0; calls < 2; calls++) {
        sli_alloc_fail_after(calls);
        T_STATUS(sli_divide_cores(topology->all_cores, topology->all_core_count, claims, 2, parts),
                 SLUICE_E_NO_MEMORY);
        sli_alloc_fail_after(-1);
    }
    sli_topology_close(topology);
}

const t_test core_division_tests[] = {
    T_TEST(disjoint_masks_stay_as_they_are),
    T_TEST(equal_masks_are_split_into_neighbouring_whole_cores),
    T_TEST(ranks_bound_to_a_node_split_that_node),
    T_TEST(cores_near_the_device_come_first),
    T_TEST(the_overlap_of_masks_goes_to_those_with_less),
    T_TEST(siblings_are_never_apart),
    T_TEST(ranks_without_a_core_share_one),
    T_TEST(a_rank_that_takes_all_is_left_out),
    T_TEST(quota_and_memory_are_divided_in_a_group),
    T_TEST(any_masks_are_divided_without_loss),
    T_TEST(settings_of_cores_are_parsed),
    T_TEST(a_list_must_be_of_allowed_cpus),
    T_TEST(division_survives_running_out_of_memory),
    T_END,
};
