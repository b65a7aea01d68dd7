/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that the ranks of a topology report use, with their NUMA nodes. */
#ifndef SLUICE_DEVICE_LIST_H
#define SLUICE_DEVICE_LIST_H

#include "text_int.h"
#include "topology_int.h"

enum { DEVICE_LIST_MOST = 1024 };

typedef struct listed_device {
    char name[32];       /* "cuda:3"; of an entry of a list of PCI addresses: the address */
    char pci[20];        /* "" without a PCI bus */
    int32_t node;        /* -1: unknown */
    bool node_given;     /* the user has set the node, by a device option */
    bool step_elsewhere; /* the host does not run its steps */
} listed_device;

/* A zeroed list is empty. */
typedef struct device_list {
    uint32_t count;
    listed_device *of; /* (count) */
} device_list;

/*
 * Makes the list of `devices`, "cuda:all" or names separated by commas, or of `pci`, PCI addresses
 * separated by commas; one of them is NULL. If `source` is not this machine, cuda:N is its N-th
 * NVIDIA GPU by PCI address. Returns E_INVALID for a text that is wrong, or a device or an address
 * that `source` does not have; E_NO_DEVICE; the error of opening a device; E_NO_MEMORY. After a
 * failure the list is to be freed, too.
 */
sluice_status device_list_find(const sli_topology_config *source, const char *devices,
                               const char *pci, device_list *list);

/* Makes a list of one open device. Returns E_NO_MEMORY if an allocation fails. */
sluice_status device_list_single(const sli_topology_config *source, const sluice_device *device,
                                 device_list *list);

void device_list_free(device_list *list);

/* Adds a table, or a JSON array. */
void device_list_print(const device_list *list, sli_text *text);
void device_list_print_json(const device_list *list, sli_text *text);

#endif
