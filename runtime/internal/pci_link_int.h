/* SPDX-License-Identifier: Apache-2.0 */
/* PCI Express link of a device, read from sysfs without a vendor library. */
#ifndef SLUICE_PCI_LINK_INT_H
#define SLUICE_PCI_LINK_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sli_pci_link {
    uint32_t generation;     /* 1 to 6 */
    uint32_t width;          /* lanes */
    uint32_t max_generation; /* maxima of the device; equal to the two above if unknown */
    uint32_t max_width;
} sli_pci_link;

/* Reads the current link of a device such as "0000:17:00.0". False: unknown. */
bool sli_pci_link_read(const char *bus_id, sli_pci_link *link_out);

/* A link below its maximum is slow. Format: "gen5 x16", or "gen3 x8 of gen5 x16" if slow. */
bool sli_pci_link_is_slow(const sli_pci_link *link);
void sli_pci_link_format(const sli_pci_link *link, char *text, size_t size);

/* Tests: replaces /sys by a folder; the string is borrowed. NULL: restores /sys. */
void sli_pci_set_root(const char *root);

#endif
