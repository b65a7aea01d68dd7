/* SPDX-License-Identifier: Apache-2.0 */
#include "topology_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "cpu_quota_int.h"
#include "log_int.h"
#include "status_int.h"
#include "topology_source.h"

static int32_t id_of_node(hwloc_obj_t node)
{
    return node != NULL && node->os_index <= INT32_MAX ? (int32_t)node->os_index : -1;
}

static int by_node_id(const void *a, const void *b)
{
    const sli_node *left = a;
    const sli_node *right = b;

    return (left->id > right->id) - (left->id < right->id);
}

/* Orders cores by package, node and id, so that adjacent entries are close in the machine. */
static int by_place(const void *a, const void *b)
{
    const sli_core *left = a;
    const sli_core *right = b;

    if (left->package != right->package) {
        return left->package < right->package ? -1 : 1;
    }
    if (left->node != right->node) {
        return left->node < right->node ? -1 : 1;
    }
    return (left->id > right->id) - (left->id < right->id);
}

static sluice_status read_nodes(hwloc_topology_t loaded, sli_topology *topology)
{
    const int count = hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_NUMANODE);
    const hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_nodeset(loaded);
    hwloc_obj_t node = NULL;

    topology->nodes = sli_calloc(count > 0 ? (size_t)count : 0, sizeof(*topology->nodes));
    if (topology->nodes == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "topology of %d nodes", count);
    }
    if (topology->this_system) {
        sli_memory_policy_read(&topology->policy);
    }
    while ((node = hwloc_get_next_obj_by_type(loaded, HWLOC_OBJ_NUMANODE, node)) != NULL) {
        sli_node *entry = &topology->nodes[topology->node_count];
        const uint32_t id = node->os_index;

        if (id_of_node(node) < 0) {
            continue;
        }
        topology->node_count++;
        entry->id = id;
        entry->memory_bytes = node->attr->numanode.local_memory;
        entry->has_cpus = !hwloc_bitmap_iszero(node->cpuset);
        entry->memory_allowed = hwloc_bitmap_isset(allowed, id) != 0 &&
                                sli_memory_policy_permits(&topology->policy, id);
        topology->machine_memory += entry->memory_bytes;
        topology->memory_limit += entry->memory_allowed ? entry->memory_bytes : 0;
    }
    qsort(topology->nodes, topology->node_count, sizeof(*topology->nodes), by_node_id);
    return SLUICE_OK;
}

/* Reads the allowed CPUs: the cpuset and, on this machine, its intersection with the affinity of
 * this thread. */
static void read_allowed(hwloc_topology_t loaded, sli_topology *topology)
{
    const hwloc_const_bitmap_t cpuset = hwloc_topology_get_allowed_cpuset(loaded);
    sli_cpus affinity;

    for (int cpu = hwloc_bitmap_first(cpuset); cpu >= 0 && cpu < SLI_MAX_CPUS;
         cpu = hwloc_bitmap_next(cpuset, cpu)) {
        sli_cpus_add(&topology->allowed, (uint32_t)cpu);
    }
    if (!topology->this_system || sli_cpus_of_thread(&affinity) != SLUICE_OK) {
        return;
    }
    for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
        const uint64_t both = topology->allowed.bits[i] & affinity.bits[i];

        topology->bound = topology->bound || both != topology->allowed.bits[i];
        topology->allowed.bits[i] = both;
    }
}

static void describe_core(hwloc_topology_t loaded, hwloc_obj_t object, sli_core *core)
{
    hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_PACKAGE, object);

    core->id = object->logical_index;
    core->package = package != NULL ? package->logical_index : 0;
    core->node = id_of_node(sli_nearest_node(loaded, object->cpuset));
}

/*
 * Reads the cores, with those of their logical CPUs that are in `allowed` (NULL: all). Logical CPUs
 * are ordered by core. On a machine that does not report cores, each logical CPU is a core.
 */
static sluice_status read_cores(hwloc_topology_t loaded, const sli_cpus *allowed,
                                sli_core **cores_out, uint32_t *count_out)
{
    size_t capacity = 0;
    hwloc_obj_t last = NULL;
    hwloc_obj_t cpu = NULL;

    while ((cpu = hwloc_get_next_obj_by_type(loaded, HWLOC_OBJ_PU, cpu)) != NULL) {
        hwloc_obj_t object = hwloc_get_ancestor_obj_by_type(loaded, HWLOC_OBJ_CORE, cpu);

        if (cpu->os_index >= SLI_MAX_CPUS ||
            (allowed != NULL && !sli_cpus_has(allowed, cpu->os_index))) {
            continue;
        }
        object = object != NULL ? object : cpu;
        if (object != last) {
            sli_core *cores =
                sli_grow(*cores_out, &capacity, (size_t)*count_out + 1, sizeof(*cores));

            if (cores == NULL) {
                return sli_fail(SLUICE_E_NO_MEMORY, "topology of %u cores", *count_out);
            }
            *cores_out = cores;
            memset(&cores[*count_out], 0, sizeof(*cores));
            describe_core(loaded, object, &cores[*count_out]);
            (*count_out)++;
            last = object;
        }
        sli_cpus_add(&(*cores_out)[*count_out - 1].cpus, cpu->os_index);
    }
    if (*count_out == 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "topology: this process may not use any CPU below %d, and must be allowed one",
            SLI_MAX_CPUS);
    }
    qsort(*cores_out, *count_out, sizeof(**cores_out), by_place);
    return SLUICE_OK;
}

static void read_machine(hwloc_topology_t loaded, sli_topology *topology)
{
    const int packages = hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_PACKAGE);
    const int cores = hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_CORE);
    const int cpus = hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_PU);
    const int last = hwloc_bitmap_last(hwloc_topology_get_topology_cpuset(loaded));

    topology->package_count = packages > 0 ? (uint32_t)packages : 1;
    topology->machine_cpu_count = cpus > 0 ? (uint32_t)cpus : 1;
    topology->machine_core_count = cores > 0 ? (uint32_t)cores : topology->machine_cpu_count;
    if (last >= SLI_MAX_CPUS) {
        sli_log(SLUICE_LOG_WARN, "topology: CPUs %d to %d are left out", SLI_MAX_CPUS, last);
    }
}

/* Determines the cores and CPUs of each node. */
static void count_cores(sli_topology *topology)
{
    for (uint32_t n = 0; n < topology->node_count; n++) {
        sli_node *node = &topology->nodes[n];

        node->core_count = 0;
        memset(&node->cpus, 0, sizeof(node->cpus));
        for (uint32_t c = 0; c < topology->core_count; c++) {
            if (topology->cores[c].node != (int32_t)node->id) {
                continue;
            }
            node->core_count++;
            for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
                node->cpus.bits[i] |= topology->cores[c].cpus.bits[i];
            }
        }
    }
}

static void read_limits(sli_topology *topology)
{
    sli_cgroup_limits limits;

    if (!topology->this_system) {
        return;
    }
    sli_cgroup_limits_read("", &limits);
    topology->quota = limits.cpus;
    topology->quota_group = limits.cpus_group;
    snprintf(topology->quota_source, sizeof(topology->quota_source), "%s", limits.cpus_source);
    if (topology->memory_limit == 0) {
        const long pages = sysconf(_SC_PHYS_PAGES);

        topology->memory_limit = pages > 0 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
    }
    if (limits.memory_bytes > 0 &&
        (topology->memory_limit == 0 || limits.memory_bytes < topology->memory_limit)) {
        topology->memory_limit = limits.memory_bytes;
        topology->memory_group = limits.memory_group;
    }
}

static sluice_status read_topology(hwloc_topology_t loaded, sli_topology *topology)
{
    sluice_status st;

    topology->this_system = hwloc_topology_is_thissystem(loaded) != 0;
    read_machine(loaded, topology);
    read_allowed(loaded, topology);
    st = read_nodes(loaded, topology);
    if (st != SLUICE_OK) {
        return st;
    }
    st = read_cores(loaded, &topology->allowed, &topology->cores, &topology->core_count);
    if (st == SLUICE_OK) {
        st = read_cores(loaded, NULL, &topology->all_cores, &topology->all_core_count);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    count_cores(topology);
    read_limits(topology);
    return SLUICE_OK;
}

sluice_status sli_topology_open(const sli_topology_config *config, sli_topology **topology_out)
{
    sli_topology *topology = sli_calloc(1, sizeof(*topology));
    hwloc_topology_t loaded;
    sluice_status st;

    if (topology == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "topology");
    }
    st = sli_topology_load(config, false, &loaded);
    if (st != SLUICE_OK) {
        goto err_close;
    }
    st = read_topology(loaded, topology);
    hwloc_topology_destroy(loaded);
    if (st != SLUICE_OK) {
        goto err_close;
    }
    *topology_out = topology;
    return SLUICE_OK;

err_close:
    sli_topology_close(topology);
    return st;
}

void sli_topology_close(sli_topology *topology)
{
    if (topology != NULL) {
        sli_free(topology->nodes);
        sli_free(topology->cores);
        sli_free(topology->all_cores);
        sli_free(topology);
    }
}

sluice_status sli_topology_restrict(sli_topology *topology, const sli_cpus *cpus, const char *what)
{
    uint32_t kept = 0;

    for (int cpu = sli_cpus_next(cpus, 0); cpu >= 0; cpu = sli_cpus_next(cpus, (uint32_t)cpu + 1)) {
        if (!sli_cpus_has(&topology->allowed, (uint32_t)cpu)) {
            char allowed[400];

            return sli_fail(SLUICE_E_INVALID,
                            "%s: this process may not use CPU %d, or the machine has none; it may "
                            "use %s (affinity, cpuset)",
                            what, cpu,
                            sli_cpus_format(&topology->allowed, allowed, sizeof(allowed)));
        }
    }
    if (sli_cpus_next(cpus, 0) < 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: no CPU", what);
    }
    topology->allowed = *cpus;
    for (uint32_t c = 0; c < topology->core_count; c++) {
        sli_core *core = &topology->cores[kept];

        *core = topology->cores[c];
        for (size_t i = 0; i < SLI_MAX_CPUS / 64; i++) {
            core->cpus.bits[i] &= cpus->bits[i];
        }
        kept += sli_cpus_next(&core->cpus, 0) >= 0;
    }
    topology->core_count = kept;
    count_cores(topology);
    return SLUICE_OK;
}

const sli_node *sli_topology_find_node(const sli_topology *topology, int32_t id)
{
    for (uint32_t i = 0; i < topology->node_count; i++) {
        if ((int32_t)topology->nodes[i].id == id) {
            return &topology->nodes[i];
        }
    }
    return NULL;
}
