/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a machine from an XML file of lstopo. */
#ifndef SLUICE_TOPOLOGY_XML_H
#define SLUICE_TOPOLOGY_XML_H

#include <hwloc.h>

#include <sluice/status.h>

/*
 * Checks the file and passes its text to hwloc; hwloc_topology_load() then parses it. E_IO,
 * E_INVALID.
 */
sluice_status sli_topology_set_xml(hwloc_topology_t loaded, const char *path);

/* Sets the error for a file that hwloc cannot load; returns E_INVALID. */
sluice_status sli_topology_xml_refused(const char *path);

#endif
