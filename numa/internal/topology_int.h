/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine: nodes, cores, logical CPUs, and what of it this process may use. Read once by hwloc,
 * from the real machine, an XML file or a synthetic text, and then plain data that the placement
 * decisions (placement_int.h) are pure functions of.
 */
#ifndef SLUICE_TOPOLOGY_INT_H
#define SLUICE_TOPOLOGY_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/device.h>
#include <sluice/status.h>

#include "thread_int.h"

/* One physical core that the process may use, with its allowed logical CPUs. */
typedef struct sli_core {
    uint32_t id;      /* hwloc's logical index */
    uint32_t package; /* index of its socket */
    int32_t node;     /* operating system's number of its NUMA node; -1 unknown */
    sli_cpus cpus;    /* its logical CPUs (SMT siblings) that this process may use */
} sli_core;

/* One NUMA node with what the process may use of it. */
typedef struct sli_node {
    uint32_t id;           /* operating system's number */
    uint64_t memory_bytes; /* local memory; 0 for a node without memory */
    uint32_t core_count;   /* allowed cores on it; 0 for a node without CPUs */
    sli_cpus cpus;         /* the logical CPUs of those cores */
    bool has_cpus;         /* the node has CPUs, allowed or not */
    bool memory_allowed;   /* cpuset and memory policy let the process take memory here */
} sli_node;

typedef struct sli_topology {
    bool this_system; /* false for XML and synthetic: placement can be planned, not made */
    uint32_t node_count;
    sli_node *nodes;        /* by id */
    uint32_t core_count;    /* allowed ones; at least 1 */
    sli_core *cores;        /* by package, node, id */
    uint32_t package_count; /* these four are the machine's, allowed or not */
    uint32_t machine_core_count;
    uint32_t machine_cpu_count;
    uint64_t machine_memory;
    sli_cpus allowed;      /* cpuset of the process and its affinity (numactl, taskset), both */
    bool bound;            /* the affinity leaves out CPUs that the cpuset has */
    double quota;          /* CPUs' worth of time the cgroup gives; 0: no limit */
    char quota_source[64]; /* "cpu.max of /group" and the like, "" when there is none */
    uint64_t memory_limit; /* bytes the process may use: of the cgroup, or of the machine */
} sli_topology;

/* At most one of the two; both NULL is the machine we run on. */
typedef struct sli_topology_config {
    const char *synthetic; /* hwloc's text, "numa:2 core:4 pu:1" */
    const char *xml;       /* path of a file by lstopo */
} sli_topology_config;

/*
 * config may be NULL. CPUs from SLI_MAX_CPUS on are left out.
 * E_INVALID a text or file hwloc cannot read, naming it, or one without a usable CPU; E_IO the file
 * cannot be opened; E_NO_MEMORY.
 */
sluice_status sli_topology_open(const sli_topology_config *config, sli_topology **topology_out);
void sli_topology_close(sli_topology *topology);

/* The node of this number; NULL when there is none. */
const sli_node *sli_topology_find_node(const sli_topology *topology, int32_t id);

/*
 * Node that a PCI device ("0000:65:00.0") hangs off; -1 when it is unknown, as it is in many
 * virtual machines. Looks at the machine anew each time: milliseconds, so ask once.
 */
int32_t sli_topology_node_of_pci(const sli_topology_config *config, const char *pci_bus_id);

/* The node asked for when the device was opened, else that of its place on the bus, else -1. */
int32_t sli_topology_node_of_device(const sli_topology_config *config, const sluice_device *device);

#endif
