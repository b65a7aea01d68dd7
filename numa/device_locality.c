/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the NUMA node of a device, by sysfs or hwloc. */
#include "device_locality.h"

#include <stdio.h>

#include "device_int.h"

bool pci_address_parse(const char *text, pci_address *address)
{
    char rest;

    if (sscanf(text, "%8x:%2x:%2x.%1x%c", &address->domain, &address->bus, &address->device,
               &address->function, &rest) == 4) {
        return true;
    }
    address->domain = 0;
    return sscanf(text, "%2x:%2x.%1x%c", &address->bus, &address->device, &address->function,
                  &rest) == 3;
}

int32_t pci_node_in_sysfs(const pci_address *address)
{
    char path[96];
    FILE *file;
    int node = -1;

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.%x/numa_node",
             address->domain, address->bus, address->device, address->function);
    file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    if (fscanf(file, "%d", &node) != 1) {
        node = -1;
    }
    fclose(file);
    return node;
}

int32_t pci_node_in_hwloc(hwloc_topology_t loaded, const pci_address *address, bool *there_out)
{
    const hwloc_const_bitmap_t machine = hwloc_topology_get_topology_cpuset(loaded);
    hwloc_obj_t device = hwloc_get_pcidev_by_busid(loaded, address->domain, address->bus,
                                                   address->device, address->function);
    hwloc_obj_t place;
    hwloc_obj_t node;

    *there_out = device != NULL;
    if (device == NULL) {
        return -1;
    }
    place = hwloc_get_non_io_ancestor_obj(loaded, device);
    node = sli_nearest_node(loaded, place->cpuset);
    if (node == NULL || node->os_index > INT32_MAX ||
        (hwloc_bitmap_isequal(place->cpuset, machine) &&
         !hwloc_bitmap_isequal(node->cpuset, machine))) {
        return -1;
    }
    return (int32_t)node->os_index;
}

/*
 * For this machine sysfs is tried first: it is fast, and the only source for nodes without CPUs.
 * hwloc is used for XML and synthetic topologies, and if sysfs has no node: HWLOC_PCI_LOCALITY may
 * then set the locality.
 */
int32_t sli_topology_node_of_pci(const sli_topology_config *config, const char *pci_bus_id)
{
    const bool recorded = config != NULL && (config->synthetic != NULL || config->xml != NULL);
    hwloc_topology_t loaded;
    pci_address address;
    int32_t node = -1;
    bool there;

    if (!pci_address_parse(pci_bus_id, &address)) {
        return -1;
    }
    if (!recorded) {
        node = pci_node_in_sysfs(&address);
    }
    if (node < 0 && sli_topology_load(config, true, &loaded) == SLUICE_OK) {
        node = pci_node_in_hwloc(loaded, &address, &there);
        hwloc_topology_destroy(loaded);
    }
    return node;
}

int32_t sli_topology_node_of_device(const sli_topology_config *config, const sluice_device *device)
{
    if (device->caps.node >= 0 || device->caps.pci_bus_id[0] == '\0') {
        return device->caps.node;
    }
    return sli_topology_node_of_pci(config, device->caps.pci_bus_id);
}
