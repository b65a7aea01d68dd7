/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the pack stage. */
#ifndef SLUICE_PACK_WINDOWS_H
#define SLUICE_PACK_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pack_windows_args {
    const char *column;
    uint64_t seq;
    bool split;
    uint64_t pad;
} pack_windows_args;

#endif
