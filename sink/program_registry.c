/* SPDX-License-Identifier: Apache-2.0 */
/* Which programs run on which kind of device. */
#include <string.h>

#include "program.h"

static const program_ops *const tables[] = {&host_program_ops};

const program_ops *program_ops_of(const sluice_device *device)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (strcmp(tables[i]->kind, device->backend->kind) == 0) {
            return tables[i];
        }
    }
    return NULL;
}
