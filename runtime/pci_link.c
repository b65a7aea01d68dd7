/* SPDX-License-Identifier: Apache-2.0 */
#include "pci_link_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format_int.h"

static const char *sysfs = "/sys";

void sli_pci_set_root(const char *root)
{
    sysfs = root != NULL ? root : "/sys";
}

/*
 * Reads the integer at the start of a sysfs file of the device; 0: no number. CUDA writes addresses
 * in upper case, sysfs in lower case.
 */
static uint32_t read_number(const char *bus_id, const char *name)
{
    char address[16];
    char path[512];
    unsigned number = 0;
    size_t i = 0;
    FILE *file;

    for (; bus_id[i] != '\0' && i + 1 < sizeof(address); i++) {
        address[i] = sli_lower(bus_id[i]);
    }
    address[i] = '\0';
    snprintf(path, sizeof(path), "%s/bus/pci/devices/%s/%s", sysfs, address, name);
    file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%5u", &number) != 1) {
        number = 0; /* "Unknown" */
    }
    fclose(file);
    return number;
}

/* The generation of a link speed: "32.0 GT/s PCIe" is 5; 0: unknown. */
static uint32_t read_generation(const char *bus_id, const char *name)
{
    static const uint32_t speeds[] = {2, 5, 8, 16, 32, 64};
    const uint32_t speed = read_number(bus_id, name);

    for (uint32_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
        if (speeds[i] == speed) {
            return i + 1;
        }
    }
    return 0;
}

/* Reads the link width; a device in a sleep state reads as all ones, 63 lanes, for which the result
 * is 0. */
static uint32_t read_width(const char *bus_id, const char *name)
{
    const uint32_t width = read_number(bus_id, name);

    return width <= 32 ? width : 0;
}

bool sli_pci_link_read(const char *bus_id, sli_pci_link *link_out)
{
    sli_pci_link link;

    if (bus_id[0] == '\0') {
        return false;
    }
    link.generation = read_generation(bus_id, "current_link_speed");
    link.width = read_width(bus_id, "current_link_width");
    if (link.generation == 0 || link.width == 0) {
        return false;
    }
    link.max_generation = read_generation(bus_id, "max_link_speed");
    link.max_width = read_width(bus_id, "max_link_width");
    if (link.max_generation == 0 || link.max_width == 0) {
        link.max_generation = link.generation;
        link.max_width = link.width;
    }
    *link_out = link;
    return true;
}

bool sli_pci_link_is_slow(const sli_pci_link *link)
{
    return link->generation < link->max_generation || link->width < link->max_width;
}

void sli_pci_link_format(const sli_pci_link *link, char *text, size_t size)
{
    if (sli_pci_link_is_slow(link)) {
        snprintf(text, size, "gen%u x%u of gen%u x%u", link->generation, link->width,
                 link->max_generation, link->max_width);
    } else {
        snprintf(text, size, "gen%u x%u", link->generation, link->width);
    }
}
