/* SPDX-License-Identifier: Apache-2.0 */
#include "placement_int.h"

#include <assert.h>
#include <string.h>

#include "alloc_int.h"
#include "placement_notes.h"
#include "status_int.h"

/* The cores of one rank, those on its device's node first. */
typedef struct rank_share {
    sli_core *cores; /* with the CPUs of this rank only */
    uint32_t count;
    uint32_t near; /* number of these cores on the device's node */
} rank_share;

static void add_cpus(sli_cpus *to, const sli_cpus *from)
{
    for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
        to->bits[i] |= from->bits[i];
    }
}

/* Adds the core with the CPUs that are in `cpus` (NULL: all); none if there are no such CPUs. */
static void add_core(const sli_core *core, const sli_cpus *cpus, rank_share *share)
{
    sli_core *entry = &share->cores[share->count];

    *entry = *core;
    for (size_t i = 0; i < SLI_MAX_CPUS / 64 && cpus != NULL; i++) {
        entry->cpus.bits[i] &= cpus->bits[i];
    }
    share->count += sli_cpus_next(&entry->cpus, 0) >= 0;
}

/* Lists this rank's cores in the order of use: those on its device's node first. */
static sluice_status make_share(const sli_topology *topology, const sli_placement_request *request,
                                rank_share *share)
{
    const sli_cpus *cpus = request->part != NULL ? &request->part->cpus : NULL;

    share->cores = sli_calloc((size_t)topology->core_count + 1, sizeof(*share->cores));
    if (share->cores == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "placement on %u cores", topology->core_count);
    }
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t c = 0; c < topology->core_count; c++) {
            if ((topology->cores[c].node == request->node) == (pass == 0)) {
                add_core(&topology->cores[c], cpus, share);
            }
        }
        share->near = pass == 0 && request->node >= 0 ? share->count : share->near;
    }
    if (share->count == 0) {
        sli_free(share->cores);
        share->cores = NULL;
        return sli_fail(SLUICE_E_INVALID, "placement: no core of this rank's part is allowed");
    }
    return SLUICE_OK;
}

/* Returns the number of cores for workers of one of several ranks, on the device's node if there
 * are any: one less, for the step, if there are more than two. */
static uint32_t cores_for_workers(const sli_topology *topology, uint32_t world,
                                  const sli_placement_request *request, const rank_share *share)
{
    uint32_t count = share->near > 0 ? share->near : share->count;

    if (request->part == NULL && topology->core_count == topology->machine_core_count) {
        count = share->count / world; /* all ranks may use the whole machine */
    }
    return count > 2 ? count - 1 : count;
}

/* Returns the number of workers: as requested, else as many as can run concurrently. */
static uint32_t count_workers(const sli_topology *topology, const sli_placement_request *request,
                              const rank_share *share, uint32_t world)
{
    const bool divided = world > 1 && request->part != NULL;
    const double quota = divided ? request->part->quota : topology->quota / world;
    uint32_t count = share->count;

    if (request->workers > 0) {
        return request->workers;
    }
    if (world > 1) {
        count = cores_for_workers(topology, world, request, share);
    }
    if (quota > 0 && quota < count) {
        count = (uint32_t)quota;
    }
    return count < 1 ? 1 : count > SLI_MAX_WORKERS ? SLI_MAX_WORKERS : count;
}

/* Adds all CPUs of the share on this node. */
static void add_cpus_on(const rank_share *share, int32_t node, sli_cpus *cpus)
{
    for (uint32_t i = 0; i < share->count; i++) {
        if (share->cores[i].node == node) {
            add_cpus(cpus, &share->cores[i].cpus);
        }
    }
}

/*
 * Assigns CPUs to each worker. A single rank's workers get one core each, round-robin: they share
 * cores only if there are too few. Workers of one of several ranks do only if the rank shares no
 * core and has as many cores as workers. Otherwise a worker that waits for its core, while the step
 * or another rank runs there, would delay a batch: it gets the rank's CPUs on that core's node.
 */
static sluice_status place_workers(const rank_share *share, sli_placement *placement)
{
    const bool pins = placement->local_world == 1 || (!placement->undivided && !placement->shared &&
                                                      placement->worker_count == share->count);

    placement->worker_cpus = sli_calloc(placement->worker_count, sizeof(*placement->worker_cpus));
    if (placement->worker_cpus == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "placement of %u workers", placement->worker_count);
    }
    for (uint32_t w = 0; w < placement->worker_count; w++) {
        const sli_core *core = &share->cores[w % share->count];

        if (pins) {
            placement->worker_cpus[w] = core->cpus;
        } else {
            add_cpus_on(share, core->node, &placement->worker_cpus[w]);
        }
    }
    return SLUICE_OK;
}

/*
 * The thread that runs steps gets all cores of the share, including those of workers: threads that
 * a step starts (OpenMP, BLAS) inherit its affinity, and a team with fewer cores than threads waits
 * for time slices at each barrier. The kernel's scheduler keeps it off busy cores while others are
 * idle.
 */
static void place_device(const rank_share *share, sli_placement *placement)
{
    for (uint32_t i = 0; i < share->count; i++) {
        add_cpus(&placement->device_cpus, &share->cores[i].cpus);
    }
    placement->spare_cores =
        placement->worker_count < share->count ? share->count - placement->worker_count : 0;
}

/* The copier sleeps most of the time: it gets all cores of the share near the device or, if there
 * are none, all cores of the share. */
static void place_copier(const rank_share *share, sli_placement *placement)
{
    const int32_t node =
        placement->device_node >= 0 ? placement->device_node : placement->memory_node;

    for (int near = 1; near >= 0 && sli_cpus_count(&placement->copier_cpus) == 0; near--) {
        for (uint32_t i = 0; i < share->count; i++) {
            const sli_core *core = &share->cores[i];

            if (near == 0 || core->node == node) {
                add_cpus(&placement->copier_cpus, &core->cpus);
            }
        }
    }
}

static bool keeps_policy(const sli_topology *topology, const sli_placement_request *request)
{
    return !(request->node_given && request->node >= 0) &&
           (topology->policy.mode == SLI_POLICY_PREFERRED ||
            topology->policy.mode == SLI_POLICY_INTERLEAVE);
}

static bool takes_memory(const sli_topology *topology, int32_t id)
{
    const sli_node *node = sli_topology_find_node(topology, id);

    return node != NULL && node->memory_allowed && node->memory_bytes > 0;
}

/* The only node on which memory can be allocated; -1: there are several, or none. */
static int32_t only_memory_node(const sli_topology *topology)
{
    int32_t only = -1;

    for (uint32_t n = 0; n < topology->node_count; n++) {
        const int32_t id = (int32_t)topology->nodes[n].id;

        if (takes_memory(topology, id)) {
            if (only >= 0) {
                return -1;
            }
            only = id;
        }
    }
    return only;
}

/*
 * Chooses the NUMA node for buffers. In order of preference: the device's node if memory can be
 * allocated there, the node of all workers if they share one, the only node with memory. Returns -1
 * if there is no such node, or if the process has a preferred or interleave policy and the request
 * has no node.
 */
static int32_t choose_memory_node(const sli_topology *topology,
                                  const sli_placement_request *request, const rank_share *share,
                                  uint32_t worker_count)
{
    const int32_t first = share->cores[0].node;
    const int32_t wanted = request->node;

    if (keeps_policy(topology, request)) {
        return -1;
    }
    if (wanted >= 0 && takes_memory(topology, wanted)) {
        return wanted;
    }
    for (uint32_t i = 1; i < share->count && i < worker_count; i++) {
        if (share->cores[i].node != first) {
            return only_memory_node(topology);
        }
    }
    return first >= 0 && takes_memory(topology, first) ? first : only_memory_node(topology);
}

/* Refuses a node that the user has set, but the machine does not have. */
static sluice_status refuse_node(const sli_topology *topology, int32_t node)
{
    sli_cpus nodes = {{0}};
    char text[200];

    for (uint32_t n = 0; n < topology->node_count; n++) {
        if (topology->nodes[n].id < SLI_MAX_CPUS) {
            sli_cpus_add(&nodes, topology->nodes[n].id);
        }
    }
    return sli_fail(
        SLUICE_E_INVALID,
        "device option node=%d: the machine has no such NUMA node; it must be one of %s", node,
        sli_cpus_format(&nodes, text, sizeof(text)));
}

static sluice_status check_request(const sli_topology *topology,
                                   const sli_placement_request *request, uint32_t world)
{
    if (world > SLI_MAX_LOCAL_RANKS || request->local_rank >= world) {
        return sli_fail(SLUICE_E_INVALID,
                        "local rank %u of %u: the rank must be below the number of ranks, and that "
                        "number at most %d",
                        request->local_rank, world, SLI_MAX_LOCAL_RANKS);
    }
    if (request->workers > SLI_MAX_WORKERS) {
        return sli_fail(SLUICE_E_INVALID, "the number of workers is %u, and must be at most %d",
                        request->workers, SLI_MAX_WORKERS);
    }
    return request->node_given && sli_topology_find_node(topology, request->node) == NULL
               ? refuse_node(topology, request->node)
               : SLUICE_OK;
}

static sluice_status decide_placement(const sli_topology *topology,
                                      const sli_placement_request *request, uint32_t world,
                                      sli_placement *placement)
{
    rank_share share = {NULL, 0, 0};
    sluice_status st = make_share(topology, request, &share);

    if (st != SLUICE_OK) {
        return st;
    }
    placement->core_count = share.count;
    placement->local_rank = request->local_rank;
    placement->local_world = world;
    placement->device_node = request->node;
    placement->step_elsewhere = request->step_elsewhere;
    placement->undivided = world > 1 && request->part == NULL;
    if (request->part != NULL) {
        placement->shared = request->part->shared;
        placement->shared_cores = request->part->shared_cores;
        placement->sharing_ranks = request->part->sharing_ranks;
    }
    placement->worker_count = count_workers(topology, request, &share, world);
    st = place_workers(&share, placement);
    if (st == SLUICE_OK) {
        place_device(&share, placement);
        placement->keeps_policy = keeps_policy(topology, request);
        placement->memory_node =
            choose_memory_node(topology, request, &share, placement->worker_count);
        place_copier(&share, placement);
        sli_placement_add_notes(topology, request, placement);
    }
    sli_free(share.cores);
    return st;
}

sluice_status sli_placement_plan(const sli_topology *topology, const sli_placement_request *request,
                                 sli_placement **placement_out)
{
    const uint32_t world = request->local_world > 1 ? request->local_world : 1;
    sli_placement *placement;
    sluice_status st;

    assert(topology->core_count > 0);
    st = check_request(topology, request, world);
    if (st != SLUICE_OK) {
        return st;
    }
    placement = sli_calloc(1, sizeof(*placement));
    if (placement == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "placement");
    }
    st = decide_placement(topology, request, world, placement);
    if (st != SLUICE_OK) {
        sli_placement_free(placement);
        return st;
    }
    *placement_out = placement;
    return SLUICE_OK;
}

void sli_placement_free(sli_placement *placement)
{
    if (placement != NULL) {
        sli_free(placement->worker_cpus);
        sli_free(placement);
    }
}
