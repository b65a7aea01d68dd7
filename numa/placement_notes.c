/* SPDX-License-Identifier: Apache-2.0 */
#include "placement_notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "format_int.h"

static void note(sli_placement *placement, const char *format, ...) SLUICE_PRINTF(2, 3);

static void note(sli_placement *placement, const char *format, ...)
{
    va_list args;

    if (placement->note_count == SLI_PLACEMENT_NOTES) {
        return;
    }
    va_start(args, format);
    sli_print_args(placement->notes[placement->note_count++], SLI_NOTE_SIZE, format, args);
    va_end(args);
}

/* Adds a note that runs log as a warning. */
#define warn(placement, ...)                                                                       \
    ((placement)->warnings |= 1U << (placement)->note_count, note(placement, __VA_ARGS__))

/* The plural suffix: "s" unless count is 1. */
static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void note_quota(const sli_topology *topology, sli_placement *placement)
{
    if (topology->quota > 0 && topology->quota < topology->core_count) {
        note(placement,
             "the CPU quota, %.4g (%s), is less than the %u cores allowed: all threads are stopped "
             "whenever it is used up; raise the quota, or allow fewer CPUs",
             topology->quota, topology->quota_source, topology->core_count);
    }
}

/* Warns if the rank has one core, although the machine has more than one for each rank: either this
 * process may use only one, or the ranks have divided few. */
static void note_one_core(const sli_topology *topology, sli_placement *placement)
{
    const uint32_t world = placement->local_world;
    const uint32_t each = topology->machine_core_count / world;

    if (placement->core_count > 1 || each <= 1) {
        return;
    }
    if (topology->core_count == 1) {
        warn(placement,
             "each rank has one core, which its workers share with the step: if the launcher binds "
             "ranks to cores, turn that off (mpirun --bind-to none, srun --cpu-bind=none) or give "
             "each rank several (mpirun --map-by ppr:%u:node:PE=%u)",
             world, each);
    } else {
        warn(placement,
             "the rank has one of the %u cores that it may use, and the machine has %u: its "
             "workers share that core with the step; allow more CPUs (the container's cpuset, "
             "numactl), or start fewer ranks on these",
             topology->core_count, topology->machine_core_count);
    }
}

static void note_ranks(const sli_topology *topology, sli_placement *placement)
{
    if (placement->local_world == 1) {
        return;
    }
    if (placement->undivided) {
        note(placement,
             "the cores are not divided among the %u ranks of this machine, so that no worker is "
             "pinned to a single core",
             placement->local_world);
    } else if (placement->shared) {
        warn(placement,
             "%u ranks share %u core%s: start fewer ranks on this machine, or allow more CPUs",
             placement->local_world, topology->core_count, plural(topology->core_count));
    } else {
        note_one_core(topology, placement);
    }
}

static void note_workers(sli_placement *placement)
{
    const uint32_t cores = placement->core_count;

    if (placement->worker_count > cores) {
        note(placement,
             "%u workers on %u core%s: more than one a core seldom helps; try workers=%u",
             placement->worker_count, cores, plural(cores), cores);
    }
    if (placement->step_elsewhere || placement->spare_cores > 0) {
        return;
    }
    if (cores > 1) {
        note(placement,
             "the step has no core of its own: each of the %u cores has a worker; fewer workers "
             "leave the other cores to the step",
             cores);
    } else {
        note(placement,
             "the step has no core of its own: it shares the only core with the workers");
    }
}

/* True if all of these CPUs are on the node. */
static bool is_on(const sli_cpus *cpus, const sli_node *node)
{
    for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
        if ((cpus->bits[i] & ~node->cpus.bits[i]) != 0) {
            return false;
        }
    }
    return true;
}

static uint32_t workers_on(const sli_placement *placement, const sli_node *node)
{
    uint32_t count = 0;

    for (uint32_t w = 0; w < placement->worker_count; w++) {
        count += is_on(&placement->worker_cpus[w], node);
    }
    return count;
}

/* Warns of workers that are not on the device's node, with the reason. */
static void note_distance(const sli_node *node, sli_placement *placement)
{
    const uint32_t near = workers_on(placement, node);

    if (near == placement->worker_count) {
        return;
    }
    if (near > 0) {
        warn(placement,
             "%u of %u workers are not on node %u, the device's: their batches come from another "
             "node; workers=%u would all be on it",
             placement->worker_count - near, placement->worker_count, node->id, near);
    } else if (!node->has_cpus) {
        warn(placement, "node %u, the device's, has no CPUs: every batch comes from another node",
             node->id);
    } else if (node->core_count == 0) {
        warn(placement,
             "no core of node %u, the device's, may be used, so that every batch comes from "
             "another node; allow its CPUs (numactl, taskset, the container's cpuset)",
             node->id);
    } else {
        warn(placement,
             "the %u core%s of node %u, the device's, went to other ranks with devices there, so "
             "that every batch comes from another node; start fewer ranks on it",
             node->core_count, plural(node->core_count), node->id);
    }
}

/* Notes why buffers are not on their intended node. */
static void note_memory(const sli_node *node, const char *whose, sli_placement *placement)
{
    char where[64] = "wherever the kernel puts them";

    if (placement->keeps_policy || placement->memory_node == (int32_t)node->id) {
        return;
    }
    if (placement->memory_node >= 0) {
        snprintf(where, sizeof(where), "on node %d", placement->memory_node);
    }
    if (node->memory_bytes == 0) {
        warn(placement, "node %u, %s, has no memory: the buffers lie %s", node->id, whose, where);
    } else {
        warn(placement,
             "memory of node %u, %s, is not allowed: the buffers lie %s; allow it (numactl "
             "--membind, the container's cpuset)",
             node->id, whose, where);
    }
}

static void note_device_node(const sli_topology *topology, sli_placement *placement)
{
    const sli_node *node = sli_topology_find_node(topology, placement->device_node);

    if (node == NULL) {
        warn(placement,
             "this machine has no node %d for the device; it has %u, of numbers %u to %u",
             placement->device_node, topology->node_count,
             topology->node_count > 0 ? topology->nodes[0].id : 0,
             topology->node_count > 0 ? topology->nodes[topology->node_count - 1].id : 0);
        return;
    }
    note_distance(node, placement);
    note_memory(node, "the device's", placement);
}

/*
 * Without a device node, buffers belong on the node of the workers, if all workers are on one node.
 */
static void note_worker_node(const sli_topology *topology, sli_placement *placement)
{
    for (uint32_t n = 0; n < topology->node_count; n++) {
        const sli_node *node = &topology->nodes[n];

        if (workers_on(placement, node) == placement->worker_count) {
            note_memory(node, "the workers'", placement);
            return;
        }
    }
}

static void note_policy(const sli_topology *topology, sli_placement *placement)
{
    const int32_t device = placement->device_node;
    char policy[128];

    if (device >= 0 && sli_memory_policy_leaves(&topology->policy, (uint32_t)device)) {
        warn(placement,
             "the memory policy of the process, %s, puts buffers on other nodes than node %d, the "
             "device's; the device option node=%d puts them on it",
             sli_memory_policy_format(&topology->policy, policy, sizeof(policy)), device, device);
        return;
    }
    note(placement,
         "the buffers follow the memory policy of the process, %s; the device option node= sets "
         "another one for them",
         sli_memory_policy_format(&topology->policy, policy, sizeof(policy)));
}

void sli_placement_add_notes(const sli_topology *topology, const sli_placement_request *request,
                             sli_placement *placement)
{
    if (request->node >= 0) {
        note_device_node(topology, placement);
    } else {
        note_worker_node(topology, placement);
    }
    if (placement->keeps_policy) {
        note_policy(topology, placement);
    }
    note_ranks(topology, placement);
    note_quota(topology, placement);
    note_workers(placement);
}
