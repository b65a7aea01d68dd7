/* SPDX-License-Identifier: Apache-2.0 */
/* How a device hangs on its bus, as sysfs says: no library of a vendor is asked. */
#ifndef SLUICE_PCI_LINK_INT_H
#define SLUICE_PCI_LINK_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sli_pci_link {
    uint32_t generation;     /* 1 to 6 */
    uint32_t width;          /* lanes */
    uint32_t max_generation; /* what the device could have; as the two above where nobody knows */
    uint32_t max_width;
} sli_pci_link;

/* The link as it is now, of "0000:17:00.0"; false when nobody can tell. */
bool sli_pci_link_read(const char *bus_id, sli_pci_link *link_out);

/* "gen5 x16", or "gen3 x8 of gen5 x16" where it could be faster. */
bool sli_pci_link_is_slow(const sli_pci_link *link);
void sli_pci_link_format(const sli_pci_link *link, char *text, size_t size);

/* Tests: another folder in place of /sys, kept by the caller; NULL: /sys again. */
void sli_pci_set_root(const char *root);

#endif
