/* SPDX-License-Identifier: Apache-2.0 */
#include "shared_memory.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

enum { PAGE = 4096 };

sluice_status shared_memory_open(sluice_device *device, size_t bytes, shared_memory *memory_out)
{
    void *on_device = NULL;
    sluice_status st;

    memory_out->device = device;
    memory_out->bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    memory_out->host = sli_aligned_alloc(PAGE, memory_out->bytes);
    if (memory_out->host == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu bytes that are shared with %s", bytes,
                        sluice_device_name(device));
    }
    memset(memory_out->host, 0, memory_out->bytes);
    st = sli_device_register(device, memory_out->host, memory_out->bytes);
    if (st != SLUICE_OK) {
        sli_free(memory_out->host);
        memory_out->host = NULL;
        return st;
    }
    st = sli_device_address(device, memory_out->host, &on_device);
    memory_out->on_device = on_device;
    return st;
}

void shared_memory_close(shared_memory *memory)
{
    if (memory->host != NULL) {
        sli_device_unregister(memory->device, memory->host, memory->bytes);
    }
    sli_free(memory->host);
    memset(memory, 0, sizeof(*memory));
}
