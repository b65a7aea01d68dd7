/* SPDX-License-Identifier: Apache-2.0 */
#include "placement_int.h"

#include <assert.h>
#include <string.h>

#include "alloc_int.h"
#include "placement_notes.h"
#include "status_int.h"

#define NO_RANK UINT32_MAX

/* The cores of one rank, those on its device's node first. */
typedef struct rank_share {
    uint32_t *cores; /* indices in the topology's cores */
    uint32_t count;
} rank_share;

static void add_cpus(sli_cpus *to, const sli_cpus *from)
{
    for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
        to->bits[i] |= from->bits[i];
    }
}

/* Divides count into `parts` that differ by at most one; returns the size of part `index`. */
static uint32_t part_of(uint32_t count, uint32_t index, uint32_t parts)
{
    const uint64_t begin = (uint64_t)count * index / parts;
    const uint64_t end = ((uint64_t)count * index + count) / parts;

    return (uint32_t)(end - begin);
}

/*
 * Assigns up to `wanted` free cores on one node (-1: any node) to the rank. Returns their number.
 */
static uint32_t assign_cores(const sli_topology *topology, int32_t node, uint32_t rank,
                             uint32_t wanted, uint32_t *owners)
{
    uint32_t given = 0;

    for (uint32_t c = 0; c < topology->core_count && given < wanted; c++) {
        if (owners[c] == NO_RANK && (node < 0 || topology->cores[c].node == node)) {
            owners[c] = rank;
            given++;
        }
    }
    return given;
}

/*
 * The number of cores that the rank gets on its device's node: its fair part of the node, clamped
 * to its share of the machine.
 */
static uint32_t part_of_node(const sli_topology *topology, const int32_t *rank_nodes, uint32_t rank,
                             uint32_t world)
{
    const uint32_t share = part_of(topology->core_count, rank, world);
    const sli_node *node = sli_topology_find_node(topology, rank_nodes[rank]);
    uint32_t before = 0;
    uint32_t ranks = 0;
    uint32_t part;

    if (node == NULL) {
        return 0;
    }
    for (uint32_t r = 0; r < world; r++) {
        before += r < rank && rank_nodes[r] == rank_nodes[rank];
        ranks += rank_nodes[r] == rank_nodes[rank];
    }
    part = part_of(node->core_count, before, ranks);
    return part < share ? part : share;
}

/*
 * Divides all cores among the ranks: first those of each node among the ranks with devices on it,
 * then the rest in order. Every rank computes the same result, so their shares are disjoint.
 */
static void divide_cores(const sli_topology *topology, const int32_t *rank_nodes, uint32_t world,
                         uint32_t *owners, uint32_t *given)
{
    for (uint32_t c = 0; c < topology->core_count; c++) {
        owners[c] = NO_RANK;
    }
    for (uint32_t r = 0; r < world && rank_nodes != NULL; r++) {
        const uint32_t wanted = part_of_node(topology, rank_nodes, r, world);

        given[r] = assign_cores(topology, rank_nodes[r], r, wanted, owners);
    }
    for (uint32_t r = 0; r < world; r++) {
        const uint32_t share = part_of(topology->core_count, r, world);

        given[r] += assign_cores(topology, -1, r, share - given[r], owners);
    }
}

/* Lists this rank's cores in the order of use: those on its device's node first. */
static void collect_share(const sli_topology *topology, int32_t node, uint32_t rank,
                          const uint32_t *owners, rank_share *share)
{
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t c = 0; c < topology->core_count; c++) {
            const bool near = topology->cores[c].node == node;

            if (owners[c] == rank && near == (pass == 0)) {
                share->cores[share->count++] = c;
            }
        }
    }
}

static sluice_status make_share(const sli_topology *topology, const sli_placement_request *request,
                                uint32_t world, rank_share *share_out)
{
    const uint32_t cores = topology->core_count;
    rank_share share = {sli_calloc(cores, sizeof(*share.cores)), 0};
    uint32_t *owners; /* the rank of each core, followed by the number of cores of each rank */

    if (share.cores == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "placement on %u cores", cores);
    }
    if (world > cores) {
        /* More ranks than cores: neighbouring ranks share a core. */
        share.cores[share.count++] = (uint32_t)((uint64_t)cores * request->local_rank / world);
        *share_out = share;
        return SLUICE_OK;
    }
    owners = sli_calloc((size_t)cores + world, sizeof(*owners));
    if (owners == NULL) {
        sli_free(share.cores);
        return sli_fail(SLUICE_E_NO_MEMORY, "placement of %u ranks on %u cores", world, cores);
    }
    divide_cores(topology, request->rank_nodes, world, owners, owners + cores);
    collect_share(topology, request->node, request->local_rank, owners, &share);
    sli_free(owners);
    *share_out = share;
    return SLUICE_OK;
}

/*
 * The number of workers: as many as can run concurrently. All ranks get the same number, since
 * ranks run in lockstep and the slowest delays the others.
 */
static uint32_t count_workers(const sli_topology *topology, const sli_placement_request *request,
                              uint32_t world)
{
    uint32_t count = topology->core_count;

    if (request->workers > 0) {
        return request->workers;
    }
    if (topology->quota > 0 && topology->quota < count) {
        count = topology->quota < 1 ? 1 : (uint32_t)topology->quota;
    }
    count /= world;
    return count < 1 ? 1 : count > SLI_MAX_WORKERS ? SLI_MAX_WORKERS : count;
}

/* Assigns a core to each worker, in a cycle: workers share cores only if there are too few. */
static sluice_status place_workers(const sli_topology *topology, const rank_share *share,
                                   sli_placement *placement)
{
    placement->worker_cpus = sli_calloc(placement->worker_count, sizeof(*placement->worker_cpus));
    if (placement->worker_cpus == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "placement of %u workers", placement->worker_count);
    }
    for (uint32_t w = 0; w < placement->worker_count; w++) {
        placement->worker_cpus[w] = topology->cores[share->cores[w % share->count]].cpus;
    }
    return SLUICE_OK;
}

/*
 * The thread that runs steps gets all cores of the share, including those of workers: threads that
 * a step starts (OpenMP, BLAS) inherit its affinity, and a team with fewer cores than threads waits
 * for time slices at each barrier. The kernel's scheduler keeps it off busy cores while others are
 * idle.
 */
static void place_device(const sli_topology *topology, const rank_share *share,
                         sli_placement *placement)
{
    for (uint32_t i = 0; i < share->count; i++) {
        add_cpus(&placement->device_cpus, &topology->cores[share->cores[i]].cpus);
    }
    placement->spare_cores =
        placement->worker_count < share->count ? share->count - placement->worker_count : 0;
}

/* The copier sleeps most of the time: it gets all cores of the share near the device or, if there
 * are none, all cores of the share. */
static void place_copier(const sli_topology *topology, const rank_share *share,
                         sli_placement *placement)
{
    const int32_t node =
        placement->device_node >= 0 ? placement->device_node : placement->memory_node;

    for (int near = 1; near >= 0 && sli_cpus_count(&placement->copier_cpus) == 0; near--) {
        for (uint32_t i = 0; i < share->count; i++) {
            const sli_core *core = &topology->cores[share->cores[i]];

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

/*
 * The device's node if memory can be allocated there, else the common node of all workers; -1 if
 * neither is possible, or if the process has a preferred or interleave policy and no node is given.
 */
static int32_t choose_memory_node(const sli_topology *topology,
                                  const sli_placement_request *request, const rank_share *share,
                                  uint32_t worker_count)
{
    const int32_t first = topology->cores[share->cores[0]].node;
    const int32_t wanted = request->node;

    if (keeps_policy(topology, request)) {
        return -1;
    }
    if (wanted >= 0 && takes_memory(topology, wanted)) {
        return wanted;
    }
    for (uint32_t i = 1; i < share->count && i < worker_count; i++) {
        if (topology->cores[share->cores[i]].node != first) {
            return -1;
        }
    }
    return first >= 0 && takes_memory(topology, first) ? first : -1;
}

static sluice_status check_request(const sli_placement_request *request, uint32_t world)
{
    if (world > SLI_MAX_LOCAL_RANKS || request->local_rank >= world) {
        return sli_fail(SLUICE_E_INVALID,
                        "local rank %u of %u: want a rank below their number, of at most %d",
                        request->local_rank, world, SLI_MAX_LOCAL_RANKS);
    }
    if (request->workers > SLI_MAX_WORKERS) {
        return sli_fail(SLUICE_E_INVALID, "%u workers: want at most %d", request->workers,
                        SLI_MAX_WORKERS);
    }
    return SLUICE_OK;
}

static sluice_status decide_placement(const sli_topology *topology,
                                      const sli_placement_request *request, uint32_t world,
                                      sli_placement *placement)
{
    rank_share share = {NULL, 0};
    sluice_status st = make_share(topology, request, world, &share);

    if (st != SLUICE_OK) {
        return st;
    }
    placement->core_count = share.count;
    placement->local_rank = request->local_rank;
    placement->local_world = world;
    placement->device_node = request->node;
    placement->step_elsewhere = request->step_elsewhere;
    placement->worker_count = count_workers(topology, request, world);
    st = place_workers(topology, &share, placement);
    if (st == SLUICE_OK) {
        place_device(topology, &share, placement);
        placement->keeps_policy = keeps_policy(topology, request);
        placement->memory_node =
            choose_memory_node(topology, request, &share, placement->worker_count);
        place_copier(topology, &share, placement);
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
    st = check_request(request, world);
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
