/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a machine's topology from an XML file that lstopo has written. */
#ifndef SLUICE_TOPOLOGY_XML_H
#define SLUICE_TOPOLOGY_XML_H

#include <hwloc.h>

#include <sluice/status.h>

/*
 * Checks the file and passes its text to hwloc; hwloc_topology_load() then parses it. Returns E_IO
 * if the file cannot be read, E_INVALID if its content is invalid, or E_NO_MEMORY.
 */
sluice_status sli_topology_set_xml(hwloc_topology_t loaded, const char *path);

/* Sets the error for a file that hwloc cannot load; returns E_INVALID. */
sluice_status sli_topology_xml_refused(const char *path);

#endif
