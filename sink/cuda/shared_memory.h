/* SPDX-License-Identifier: Apache-2.0 */
/* Page-locked host memory that kernels read and write in place, to communicate with the host. */
#ifndef SLUICE_SHARED_MEMORY_H
#define SLUICE_SHARED_MEMORY_H

#include "device_int.h"

typedef struct shared_memory {
    sluice_device *device;
    size_t bytes;
    uint8_t *host;      /* initially zero; NULL: not allocated */
    uint8_t *on_device; /* device address of `host`; NULL: not allocated */
} shared_memory;

/* Allocates whole pages, since only whole pages can be locked. Call shared_memory_close() also
 * after a failure. */
sluice_status shared_memory_open(sluice_device *device, size_t bytes, shared_memory *memory_out);

/* Frees the memory, if any. The device must no longer use it. */
void shared_memory_close(shared_memory *memory);

/* The device address of a host address in the memory. */
static inline void *shared_memory_address(const shared_memory *memory, const void *host)
{
    return memory->on_device + ((const uint8_t *)host - memory->host);
}

#endif
