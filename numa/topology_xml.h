/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a machine from a file of lstopo's. */
#ifndef SLUICE_TOPOLOGY_XML_H
#define SLUICE_TOPOLOGY_XML_H

#include <hwloc.h>

#include <sluice/status.h>

/* Hands the file to hwloc, whose hwloc_topology_load() then parses it. E_IO, E_INVALID. */
sluice_status sli_topology_set_xml(hwloc_topology_t loaded, const char *path);

/* Records that the file is none that hwloc can load, and returns E_INVALID. */
sluice_status sli_topology_xml_refused(const char *path);

#endif
