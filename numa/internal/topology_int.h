/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine: nodes, cores and logical CPUs, and the part that this process may use. hwloc reads
 * it once, from this machine, an XML file or a synthetic text. The result is plain data; placements
 * (placement_int.h) are pure functions of it.
 */
#ifndef SLUICE_TOPOLOGY_INT_H
#define SLUICE_TOPOLOGY_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/device.h>
#include <sluice/status.h>

#include "memory_policy_int.h"
#include "thread_int.h"

/* One physical core that the process may use, with its allowed logical CPUs. */
typedef struct sli_core {
    uint32_t id;      /* hwloc's logical index */
    uint32_t package; /* index of its socket */
    int32_t node;     /* OS index of its NUMA node; -1: unknown */
    sli_cpus cpus;    /* its logical CPUs (SMT siblings) that this process may use */
} sli_core;

/* A NUMA node, with the part that the process may use. */
typedef struct sli_node {
    uint32_t id;           /* OS index */
    uint64_t memory_bytes; /* local memory; 0 for a node without memory */
    uint32_t core_count;   /* allowed cores on it; 0 for a node without CPUs */
    sli_cpus cpus;         /* the logical CPUs of those cores */
    bool has_cpus;         /* the node has CPUs, allowed or not */
    bool memory_allowed;   /* the cpuset, and the policy if it binds, permit allocations here */
} sli_node;

typedef struct sli_topology {
    bool this_system; /* false for XML and synthetic topologies, on which a placement can be
                         planned but not applied */
    uint32_t node_count;
    sli_node *nodes;         /* sorted by id */
    uint32_t core_count;     /* number of allowed cores; at least 1 */
    sli_core *cores;         /* (core_count) sorted by package, node, id */
    uint32_t all_core_count; /* number of cores of the machine, allowed or not */
    sli_core *all_cores;     /* (all_core_count) with all their logical CPUs, sorted as `cores` */
    uint32_t package_count;  /* this and the next three: whole machine, not only what is allowed */
    uint32_t machine_core_count;
    uint32_t machine_cpu_count;
    uint64_t machine_memory;
    sli_cpus allowed;         /* the intersection of the process's cpuset and affinity (numactl,
                                 taskset) */
    bool bound;               /* the affinity excludes CPUs of the cpuset */
    double quota;             /* the cgroup's limit in CPU seconds per second of wall time; 0: no
                                 limit */
    char quota_source[64];    /* "cpu.max of /group" and the like; "": no limit */
    uint64_t quota_group;     /* inode of the control group with the quota; 0: none, or unknown */
    uint64_t memory_group;    /* inode of the control group that sets memory_limit; 0: none */
    uint64_t memory_limit;    /* bytes that the process may use: the memory of the allowed nodes, or
                                 the cgroup's limit if that is less */
    sli_memory_policy policy; /* of the thread that opened the topology of this system */
} sli_topology;

/* The source of a topology: at most one of the two is set; both NULL: this machine. */
typedef struct sli_topology_config {
    const char *synthetic; /* a synthetic description for hwloc, "numa:2 core:4 pu:1" */
    const char *xml;       /* path of an XML file of lstopo */
} sli_topology_config;

/*
 * Reads a topology. config NULL: this machine. CPUs from number SLI_MAX_CPUS on are ignored.
 * Returns E_INVALID if the text or file is invalid (the error text names it) or has no usable CPU,
 * E_IO if the file or this machine cannot be read, or E_NO_MEMORY.
 */
sluice_status sli_topology_open(const sli_topology_config *config, sli_topology **topology_out);
void sli_topology_close(sli_topology *topology);

/*
 * Restricts the cores, the CPUs of nodes and `allowed` to these CPUs. Returns E_INVALID if `cpus`
 * is empty or has a CPU that the process may not use; the message begins with `what`.
 */
sluice_status sli_topology_restrict(sli_topology *topology, const sli_cpus *cpus, const char *what);

/* The node with this OS index; NULL: no such node. */
const sli_node *sli_topology_find_node(const sli_topology *topology, int32_t id);

/*
 * The node of a PCI device ("0000:65:00.0"); -1: unknown, as in many virtual machines. Inspects the
 * machine at each call, which takes milliseconds: call it once.
 */
int32_t sli_topology_node_of_pci(const sli_topology_config *config, const char *pci_bus_id);

/* The node requested when the device was opened, else the node of its PCI address, else -1. */
int32_t sli_topology_node_of_device(const sli_topology_config *config, const sluice_device *device);

#endif
