/* SPDX-License-Identifier: Apache-2.0 */
/* Loads hwloc topologies. No other file calls hwloc_topology_load(). */
#ifndef SLUICE_TOPOLOGY_SOURCE_H
#define SLUICE_TOPOLOGY_SOURCE_H

#include <hwloc.h>

#include "topology_int.h"

/*
 * Loads the machine, text or file that config selects, including CPUs and nodes that are not
 * allowed. If devices is true, it also loads PCI devices, which takes much longer. The caller
 * destroys the topology by hwloc_topology_destroy().
 */
sluice_status sli_topology_load(const sli_topology_config *config, bool devices,
                                hwloc_topology_t *loaded_out);

/* The NUMA node nearest to these CPUs, preferably one with memory; NULL: they belong to no node. */
hwloc_obj_t sli_nearest_node(hwloc_topology_t loaded, hwloc_const_bitmap_t cpus);

#endif
