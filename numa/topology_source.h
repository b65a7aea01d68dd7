/* SPDX-License-Identifier: Apache-2.0 */
/* What hwloc is asked and told, in one place: no other file of ours opens an hwloc topology. */
#ifndef SLUICE_TOPOLOGY_SOURCE_H
#define SLUICE_TOPOLOGY_SOURCE_H

#include <hwloc.h>

#include "topology_int.h"

/*
 * Loads the machine, text or file of config, disallowed parts included. devices: PCI devices too,
 * which takes much longer. The caller gives it back by hwloc_topology_destroy().
 */
sluice_status sli_topology_load(const sli_topology_config *config, bool devices,
                                hwloc_topology_t *loaded_out);

/* The NUMA node nearest to these CPUs, one with memory if any; NULL when no node has them. */
hwloc_obj_t sli_nearest_node(hwloc_topology_t loaded, hwloc_const_bitmap_t cpus);

#endif
