/* SPDX-License-Identifier: Apache-2.0 */
/* PCI addresses, and the NUMA nodes of the devices at them. */
#ifndef SLUICE_DEVICE_LOCALITY_H
#define SLUICE_DEVICE_LOCALITY_H

#include "topology_source.h"

typedef struct pci_address {
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned function;
} pci_address;

/* Parses "0000:65:00.0"; the domain may be missing, or have eight digits as NVML writes it. */
bool pci_address_parse(const char *text, pci_address *address_out);

/* The node from sysfs of this machine, as the firmware reports it; -1: unknown. */
int32_t pci_node_in_sysfs(const pci_address *address);

/*
 * The node of the CPUs to which hwloc attaches the device. -1: unknown, as it is if these are all
 * CPUs of a machine with several nodes. `loaded` has PCI devices. *there_out: it has this one.
 */
int32_t pci_node_in_hwloc(hwloc_topology_t loaded, const pci_address *address, bool *there_out);

#endif
