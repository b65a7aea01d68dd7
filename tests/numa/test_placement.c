/* SPDX-License-Identifier: Apache-2.0 */
#include <sluice/topology.h>

#include "alloc_int.h"
#include "placement_int.h"
#include "testing.h"
#include "topology_kit.h"

enum { MOST_RANKS = 16 };

/* Returns the part of a rank, if all ranks may use the whole machine. nodes: (world) of their
 * devices; NULL: unknown. */
static const sli_rank_part *part_of(const sli_topology *topology, const int32_t *nodes,
                                    uint32_t rank, uint32_t world)
{
    static sli_rank_part parts[MOST_RANKS];
    static sli_rank_claim claims[MOST_RANKS];

    for (uint32_t r = 0; r < world; r++) {
        sli_rank_claim_make(topology, nodes != NULL ? nodes[r] : -1, &claims[r]);
    }
    T_OK(sli_divide_cores(topology->all_cores, topology->all_core_count, claims, world, parts));
    return &parts[rank];
}

/* A machine and what is planned on it. */
typedef struct plan {
    sli_topology *topology;
    sli_placement *placement;
} plan;

static plan plan_on(const char *synthetic, sli_placement_request request)
{
    plan made = {.topology = open_text(synthetic)};

    if (request.local_world > 1) {
        request.part = part_of(made.topology, NULL, request.local_rank, request.local_world);
    }
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    return made;
}

static void close_plan(plan *made)
{
    sli_placement_free(made->placement);
    sli_topology_close(made->topology);
}

static const char *format(const sli_cpus *cpus)
{
    static char ring[8][256];
    static unsigned next;

    return sli_cpus_format(cpus, ring[next++ % 8], sizeof(ring[0]));
}

/* True if a run logs the note with these words as a warning. */
static bool warns_of(const sli_placement *placement, const char *words)
{
    for (uint32_t i = 0; i < placement->note_count; i++) {
        if (strstr(placement->notes[i], words) != NULL) {
            return (placement->warnings >> i & 1) != 0;
        }
    }
    return false;
}

/* All notes in one text. */
static const char *notes_of(const sli_placement *placement)
{
    static char all[SLI_PLACEMENT_NOTES * SLI_NOTE_SIZE + 1];

    all[0] = '\0';
    for (uint32_t i = 0; i < placement->note_count; i++) {
        strcat(all, placement->notes[i]);
        strcat(all, "\n");
    }
    return all;
}

/* The device shares, since nobody knows beforehand how the work divides. */
static void without_a_number_workers_take_all_cores(void)
{
    plan made = plan_on("pack:2 core:4 pu:2", (sli_placement_request){.node = -1});

    T_EQ(made.placement->worker_count, 8);
    for (uint32_t w = 0; w < 8; w++) {
        T_EQ(memcmp(&made.placement->worker_cpus[w], &made.topology->cores[w].cpus,
                    sizeof(sli_cpus)),
             0);
    }
    T_STR(format(&made.placement->device_cpus), "0-15");
    T_EQ(made.placement->spare_cores, 0);
    T_STR(format(&made.placement->copier_cpus), "0-15");
    T_EQ(made.placement->memory_node, 0);
    T_CONTAINS(notes_of(made.placement), "each of the 8 cores has a worker");
    close_plan(&made);
}

static void a_step_elsewhere_needs_no_cores(void)
{
    plan made = plan_on("core:4 pu:1", (sli_placement_request){.node = 0, .step_elsewhere = true});

    T_EQ(made.placement->worker_count, 4);
    T_EQ(made.placement->note_count, 0);
    close_plan(&made);
}

/* Threads that the step starts inherit these CPUs: a team on fewer would take turns. */
static void the_step_gets_every_core_beside_fewer_workers(void)
{
    plan made = plan_on("pack:2 core:4 pu:2", (sli_placement_request){.workers = 3, .node = -1});

    T_EQ(made.placement->worker_count, 3);
    T_STR(format(&made.placement->worker_cpus[2]), "4-5");
    T_STR(format(&made.placement->device_cpus), "0-15");
    T_EQ(made.placement->spare_cores, 5);
    T_EQ(made.placement->note_count, 0);
    close_plan(&made);
}

static void the_only_core_is_shared(void)
{
    plan made = plan_on("core:1 pu:2", (sli_placement_request){.workers = 1, .node = -1});

    T_STR(format(&made.placement->device_cpus), "0-1");
    T_EQ(made.placement->spare_cores, 0);
    T_CONTAINS(notes_of(made.placement), "shares the only core with the workers");
    close_plan(&made);
}

/* The user's number is honoured; cores are distinct as long as there are any. */
static void more_workers_than_cores_go_round(void)
{
    plan made = plan_on("core:2 pu:2", (sli_placement_request){.workers = 5, .node = -1});

    T_EQ(made.placement->worker_count, 5);
    T_STR(format(&made.placement->worker_cpus[0]), "0-1");
    T_STR(format(&made.placement->worker_cpus[1]), "2-3");
    T_STR(format(&made.placement->worker_cpus[4]), "0-1");
    T_EQ(made.placement->spare_cores, 0);
    T_CONTAINS(notes_of(made.placement), "5 workers on 2 cores");
    close_plan(&made);
}

static void cores_of_the_devices_node_come_first(void)
{
    plan made = plan_on("pack:2 [numa(memory=1GB)] core:4 pu:1",
                        (sli_placement_request){.workers = 5, .node = 1});

    T_STR(format(&made.placement->worker_cpus[0]), "4");
    T_STR(format(&made.placement->worker_cpus[3]), "7");
    T_STR(format(&made.placement->worker_cpus[4]), "0");
    T_STR(format(&made.placement->copier_cpus), "4-7");
    T_EQ(made.placement->memory_node, 1);
    T_TRUE(warns_of(made.placement, "1 of 5 workers are not on node 1"));
    T_CONTAINS(notes_of(made.placement), "workers=4 would all be on it");
    close_plan(&made);
}

static void a_quota_bounds_the_workers(void)
{
    static const struct {
        double quota;
        uint32_t world, workers, want;
    } cases[] = {{2.9, 1, 0, 2}, {0.4, 1, 0, 1}, {100, 1, 0, 8}, {4, 2, 0, 2},
                 {1, 4, 0, 1},   {2, 1, 6, 6},   {0, 1, 0, 8}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sli_placement_request request = {
            .node = -1, .workers = cases[i].workers, .local_world = cases[i].world};
        plan made = {.topology = open_text("core:8 pu:1")};

        made.topology->quota = cases[i].quota;
        snprintf(made.topology->quota_source, sizeof(made.topology->quota_source), "cpu.max of /");
        request.part = part_of(made.topology, NULL, 0, cases[i].world);
        T_OK(sli_placement_plan(made.topology, &request, &made.placement));
        T_EQ(made.placement->worker_count, cases[i].want);
        T_EQ(strstr(notes_of(made.placement), "CPU quota") != NULL,
             cases[i].quota > 0 && cases[i].quota < 8);
        close_plan(&made);
    }
}

static void ranks_get_cores_on_their_devices_nodes(void)
{
    static const int32_t nodes[] = {1, 0, 1, 0}; /* not in the order of ranks */
    static const char *const want[] = {"4-5", "0-1", "6-7", "2-3"};

    for (uint32_t rank = 0; rank < 4; rank++) {
        plan made = {.topology = open_text("pack:2 [numa(memory=1GB)] core:4 pu:1")};
        const sli_placement_request request = {.node = nodes[rank],
                                               .local_rank = rank,
                                               .local_world = 4,
                                               .part = part_of(made.topology, nodes, rank, 4),
                                               .step_elsewhere = true};

        T_OK(sli_placement_plan(made.topology, &request, &made.placement));
        T_STR(format(&made.placement->device_cpus), want[rank]);
        T_EQ(made.placement->memory_node, nodes[rank]);
        T_EQ(made.placement->note_count, 0);
        close_plan(&made);
    }
}

/* One core is left to the step, and the kernel chooses which: no worker waits for it. */
static void workers_of_a_rank_leave_a_core_to_the_step(void)
{
    plan made = plan_on("pack:2 [numa(memory=1GB)] core:8 pu:1",
                        (sli_placement_request){.node = -1, .local_rank = 1, .local_world = 4});

    T_EQ(made.placement->worker_count, 3);
    for (uint32_t w = 0; w < 3; w++) {
        T_STR(format(&made.placement->worker_cpus[w]), "4-7");
    }
    T_STR(format(&made.placement->device_cpus), "4-7");
    T_EQ(made.placement->spare_cores, 1);
    close_plan(&made);
}

static void workers_of_a_rank_with_a_core_each_are_pinned(void)
{
    static const char *const want[] = {"4", "5", "6", "7"};
    plan made = plan_on(
        "core:8 pu:1",
        (sli_placement_request){.workers = 4, .node = -1, .local_rank = 1, .local_world = 2});

    for (uint32_t w = 0; w < 4; w++) {
        T_STR(format(&made.placement->worker_cpus[w]), want[w]);
    }
    close_plan(&made);
}

/* The rank's two cores on node 0 and two on node 1: each worker has those of one node. */
static void workers_of_a_rank_stay_on_a_node(void)
{
    static const int32_t nodes[] = {0, 0};
    plan made = {.topology = open_text("pack:2 [numa(memory=1GB)] core:4 pu:1")};
    sli_placement_request request = {
        .node = 0, .local_rank = 0, .local_world = 2, .part = part_of(made.topology, nodes, 0, 2)};

    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_EQ(made.placement->core_count, 4);
    T_EQ(made.placement->worker_count, 2); /* on the device's node */
    T_STR(format(&made.placement->worker_cpus[0]), "0-1");
    T_STR(format(&made.placement->worker_cpus[1]), "0-1");
    sli_placement_free(made.placement);
    request.workers = 3;
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_STR(format(&made.placement->worker_cpus[1]), "0-1");
    T_TRUE(sli_cpus_next(&made.placement->worker_cpus[2], 0) >= 4);
    close_plan(&made);
}

static void without_a_division_no_worker_has_a_core_of_its_own(void)
{
    const sli_placement_request request = {.node = -1, .local_rank = 1, .local_world = 2};
    plan made = {.topology = open_text("pack:2 [numa(memory=1GB)] core:4 pu:1")};

    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_EQ(made.placement->worker_count, 3); /* half of the machine's, less one for the step */
    T_STR(format(&made.placement->worker_cpus[0]), "0-3");
    T_STR(format(&made.placement->device_cpus), "0-7");
    T_CONTAINS(notes_of(made.placement), "not divided among the 2 ranks");
    sli_placement_free(made.placement);
    made.topology->core_count = 4; /* bound to node 0, perhaps alone */
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_EQ(made.placement->worker_count, 3);
    T_STR(format(&made.placement->worker_cpus[2]), "0-3");
    close_plan(&made);
}

static void the_step_of_a_rank_gets_every_core_of_the_rank(void)
{
    static const char *const want[] = {"0-3", "4-7"};

    for (uint32_t rank = 0; rank < 2; rank++) {
        plan made = plan_on("core:8 pu:1",
                            (sli_placement_request){
                                .workers = 1, .node = -1, .local_rank = rank, .local_world = 2});

        T_STR(format(&made.placement->worker_cpus[0]), want[rank]);
        T_STR(format(&made.placement->device_cpus), want[rank]);
        T_EQ(made.placement->spare_cores, 3);
        close_plan(&made);
    }
}

static void more_ranks_than_cores_share_them(void)
{
    for (uint32_t rank = 0; rank < 5; rank++) {
        plan made =
            plan_on("core:2 pu:1",
                    (sli_placement_request){.node = -1, .local_rank = rank, .local_world = 5});

        T_EQ(made.placement->worker_count, 1);
        T_EQ(sli_cpus_count(&made.placement->worker_cpus[0]), 1);
        T_CONTAINS(notes_of(made.placement), "5 ranks share 2 cores");
        close_plan(&made);
    }
}

static void a_rank_with_one_core_of_many_is_told_about_its_launcher(void)
{
    plan made = {.topology = open_text("core:8 pu:1")};
    sli_rank_part part = {.cpus = made.topology->all_cores[3].cpus};
    const sli_placement_request request = {
        .node = -1, .local_rank = 1, .local_world = 2, .part = &part};

    T_OK(sli_topology_restrict(made.topology, &part.cpus, "affinity"));
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_EQ(made.placement->worker_count, 1);
    T_STR(format(&made.placement->worker_cpus[0]), "3");
    T_CONTAINS(notes_of(made.placement), "--bind-to none");
    T_CONTAINS(notes_of(made.placement), "--map-by ppr:2:node:PE=4");
    T_EQ(made.placement->warnings, 1);
    close_plan(&made);
}

/* The launcher binds no rank: the two divide the two cores of a container. */
static void a_rank_with_one_of_few_allowed_cores_is_told_about_these(void)
{
    plan made = {.topology = open_text("core:8 pu:1")};
    sli_rank_part part = {.cpus = made.topology->all_cores[3].cpus};
    const sli_placement_request request = {
        .node = -1, .local_rank = 1, .local_world = 2, .part = &part};
    sli_cpus allowed = part.cpus;

    sli_cpus_add(&allowed, 4);
    T_OK(sli_topology_restrict(made.topology, &allowed, "cpuset"));
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_CONTAINS(notes_of(made.placement),
               "the rank has one of the 2 cores that it may use, and the machine has 8");
    T_TRUE(strstr(notes_of(made.placement), "--bind-to") == NULL);
    T_EQ(made.placement->warnings, 1);
    close_plan(&made);
}

static plan plan_without_memory(int node)
{
    const sli_placement_request request = {.workers = 1, .node = node};
    plan made = {.topology = open_text("pack:2 [numa] core:2 pu:1")};

    for (uint32_t i = 0; i < made.topology->node_count; i++) {
        made.topology->nodes[i].memory_bytes = 0;
    }
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    return made;
}

static void a_node_without_memory_gets_no_buffers(void)
{
    plan made = plan_without_memory(1);

    T_EQ(made.placement->memory_node, -1);
    T_TRUE(warns_of(made.placement, "node 1, the device's, has no memory"));
    close_plan(&made);
    made = plan_without_memory(-1);
    T_EQ(made.placement->memory_node, -1);
    T_CONTAINS(notes_of(made.placement), "node 0, the workers', has no memory");
    close_plan(&made);
}

static void memory_that_is_not_allowed_is_not_used(void)
{
    const sli_placement_request request = {.workers = 2, .node = 1};
    plan made = {.topology = open_text("pack:2 [numa(memory=1GB)] core:2 pu:1")};

    made.topology->nodes[1].memory_allowed = false;
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_EQ(made.placement->memory_node, 0);
    T_TRUE(warns_of(made.placement, "memory of node 1, the device's, is not allowed"));
    close_plan(&made);
}

static void cores_far_from_the_device_are_told(void)
{
    const sli_topology_config config = {.xml = SLUICE_TEST_DATA "/topology/container.xml"};
    sli_placement_request request = {.workers = 2, .node = 1};
    plan made = {NULL, NULL};

    T_OK(sli_topology_open(&config, &made.topology));
    made.topology->core_count = 2; /* node 0's */
    made.topology->nodes[1].core_count = 0;
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_TRUE(warns_of(made.placement, "no core of node 1"));
    sli_placement_free(made.placement);
    request.node = 7;
    T_OK(sli_placement_plan(made.topology, &request, &made.placement));
    T_TRUE(warns_of(made.placement, "has no node 7"));
    T_EQ(made.placement->memory_node, 0);
    close_plan(&made);
}

/* As by the device option node=. */
static void a_node_of_the_user_that_is_not_there_is_refused(void)
{
    const sli_placement_request request = {.node = 7, .node_given = true};
    plan made = {.topology = open_text("pack:2 [numa(memory=1GB)] core:2 pu:1")};

    T_STATUS(sli_placement_plan(made.topology, &request, &made.placement), SLUICE_E_INVALID);
    T_STR(sluice_last_error(),
          "device option node=7: the machine has no such NUMA node; it must be one of 0-1");
    T_TRUE(made.placement == NULL);
    close_plan(&made);
}

/* Memory on a bus, say: there is nothing that the user could allow. */
static void a_node_without_cpus_is_told(void)
{
    plan made = plan_on("pack:1 [numa(memory=8GB)] [numa(memory=4GB)] core:2 pu:1",
                        (sli_placement_request){.node = 1, .step_elsewhere = true});

    T_EQ(made.placement->memory_node, 1);
    sli_placement_free(made.placement);
    made.topology->nodes[1].has_cpus = false;
    T_OK(sli_placement_plan(made.topology, &(sli_placement_request){.node = 1}, &made.placement));
    T_TRUE(warns_of(made.placement, "node 1, the device's, has no CPUs"));
    close_plan(&made);
}

static void workers_on_two_nodes_leave_memory_to_the_kernel(void)
{
    plan made = plan_on("numa:2 core:2 pu:1", (sli_placement_request){.node = -1});

    T_EQ(made.placement->memory_node, -1);
    close_plan(&made);
    made = plan_on("numa:2 core:2 pu:1", (sli_placement_request){.workers = 2, .node = -1});
    T_EQ(made.placement->memory_node, 0);
    close_plan(&made);
}

/* The user has chosen the policy by numactl; only the user's node= precedes it. */
static void a_preferred_or_interleave_policy_yields_to_a_given_node_only(void)
{
    static const sli_policy_mode modes[] = {SLI_POLICY_PREFERRED, SLI_POLICY_INTERLEAVE};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        sli_placement_request request = {.workers = 2, .node = 1};
        plan made = {.topology = open_text("pack:2 [numa(memory=1GB)] core:2 pu:1")};

        made.topology->policy.mode = modes[i];
        made.topology->policy.nodes[0] = 0x1;
        T_OK(sli_placement_plan(made.topology, &request, &made.placement));
        T_EQ(made.placement->memory_node, -1);
        T_TRUE(warns_of(made.placement, "on other nodes than node 1, the device's"));
        T_TRUE(strstr(notes_of(made.placement), "not allowed") == NULL);
        sli_placement_free(made.placement);
        made.topology->policy.nodes[0] = 0x2;
        T_OK(sli_placement_plan(made.topology, &request, &made.placement));
        T_CONTAINS(notes_of(made.placement), "the buffers follow the memory policy of the process");
        T_EQ(made.placement->warnings, 0);
        sli_placement_free(made.placement);
        made.topology->policy.nodes[0] = 0x3;
        request.node_given = true;
        T_OK(sli_placement_plan(made.topology, &request, &made.placement));
        T_EQ(made.placement->memory_node, 1);
        T_TRUE(strstr(notes_of(made.placement), "policy") == NULL);
        close_plan(&made);
    }
}

static void impossible_requests_are_refused(void)
{
    static const sli_placement_request requests[] = {
        {.node = -1, .local_rank = 2, .local_world = 2},
        {.node = -1, .local_rank = 1},
        {.node = -1, .local_world = SLI_MAX_LOCAL_RANKS + 1},
        {.node = -1, .workers = SLI_MAX_WORKERS + 1},
    };
    sli_topology *topology = open_text("core:2 pu:1");

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        sli_placement *placement = NULL;

        T_STATUS(sli_placement_plan(topology, &requests[i], &placement), SLUICE_E_INVALID);
        CU_ASSERT_PTR_NULL(placement);
    }
    sli_topology_close(topology);
}

static void planning_survives_running_out_of_memory(void)
{
    const sli_placement_request request = {.node = 1, .local_world = 2};
    sli_topology *topology = open_text("numa:2 core:4 pu:2");
    sli_placement *placement = NULL;
    int64_t passes = 0;
    sluice_status st;

    do {
        sli_alloc_fail_after(passes++);
        st = sli_placement_plan(topology, &request, &placement);
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
    } while (st != SLUICE_OK);
    T_TRUE(passes > 3);
    sli_placement_free(placement);
    sli_topology_close(topology);
}

const t_test placement_tests[] = {
    T_TEST(without_a_number_workers_take_all_cores),
    T_TEST(a_step_elsewhere_needs_no_cores),
    T_TEST(the_step_gets_every_core_beside_fewer_workers),
    T_TEST(the_step_of_a_rank_gets_every_core_of_the_rank),
    T_TEST(the_only_core_is_shared),
    T_TEST(more_workers_than_cores_go_round),
    T_TEST(cores_of_the_devices_node_come_first),
    T_TEST(a_quota_bounds_the_workers),
    T_TEST(workers_of_a_rank_leave_a_core_to_the_step),
    T_TEST(ranks_get_cores_on_their_devices_nodes),
    T_TEST(workers_of_a_rank_with_a_core_each_are_pinned),
    T_TEST(workers_of_a_rank_stay_on_a_node),
    T_TEST(without_a_division_no_worker_has_a_core_of_its_own),
    T_TEST(more_ranks_than_cores_share_them),
    T_TEST(a_rank_with_one_core_of_many_is_told_about_its_launcher),
    T_TEST(a_rank_with_one_of_few_allowed_cores_is_told_about_these),
    T_TEST(a_node_without_memory_gets_no_buffers),
    T_TEST(memory_that_is_not_allowed_is_not_used),
    T_TEST(cores_far_from_the_device_are_told),
    T_TEST(a_node_of_the_user_that_is_not_there_is_refused),
    T_TEST(a_node_without_cpus_is_told),
    T_TEST(workers_on_two_nodes_leave_memory_to_the_kernel),
    T_TEST(a_preferred_or_interleave_policy_yields_to_a_given_node_only),
    T_TEST(impossible_requests_are_refused),
    T_TEST(planning_survives_running_out_of_memory),
    T_END,
};
