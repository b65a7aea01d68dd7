/* SPDX-License-Identifier: Apache-2.0 */
/* Page-locked host memory that kernels read and write in place: what host and device tell each
 * other. */
#ifndef SLUICE_SHARED_MEMORY_H
#define SLUICE_SHARED_MEMORY_H

#include "device_int.h"

typedef struct shared_memory {
    sluice_device *device;
    size_t bytes;
    uint8_t *host;      /* zeros at first; NULL: there is none */
    uint8_t *on_device; /* where the device sees it; NULL: it does not */
} shared_memory;

/* Pages of its own, for only whole ones are locked. What was made goes back by close. */
sluice_status shared_memory_open(sluice_device *device, size_t bytes, shared_memory *memory_out);

/* Also of none. The device is done with it. */
void shared_memory_close(shared_memory *memory);

/* Where the device finds what the host finds there. */
static inline void *shared_memory_address(const shared_memory *memory, const void *host)
{
    return memory->on_device + ((const uint8_t *)host - memory->host);
}

#endif
