/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that are not there. */
#ifndef SLUICE_TOPOLOGY_KIT_H
#define SLUICE_TOPOLOGY_KIT_H

#include "topology_int.h"

/* The machine of hwloc's synthetic text, such as "core:8 pu:1". */
sli_topology *open_text(const char *synthetic);

#endif
