/* SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

#include <string.h>

#if defined(SLI_HAVE_CUDA)
#include "cuda_ops.h"
#endif
#include "host_ops.h"

typedef struct device_entry {
    const char *kind; /* as the device's backend names it */
    const program_ops *programs;
    const lender_ops *lender;
} device_entry;

static const device_entry entries[] = {
#if defined(SLI_HAVE_CUDA)
    {"cuda", &cuda_program_ops, &cuda_lender_ops},
#endif
    {"host", &host_program_ops, &host_lender_ops},
};

static const device_entry *find_entry(const sluice_device *device)
{
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        if (strcmp(entries[i].kind, device->backend->kind) == 0) {
            return &entries[i];
        }
    }
    return NULL;
}

const program_ops *device_programs(const sluice_device *device)
{
    const device_entry *entry = find_entry(device);

    return entry != NULL ? entry->programs : NULL;
}

const lender_ops *device_lender(const sluice_device *device)
{
    const device_entry *entry = find_entry(device);

    return entry != NULL ? entry->lender : NULL;
}
