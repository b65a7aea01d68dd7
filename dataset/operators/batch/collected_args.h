/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the stages that collect samples for batches: bucket and pack_windows. */
#ifndef SLUICE_COLLECTED_ARGS_H
#define SLUICE_COLLECTED_ARGS_H

#include "stage_param.h"

typedef struct bucket_args {
    const char *length;
    param_edges edges;
} bucket_args;

typedef struct pack_windows_args {
    const char *column;
    uint64_t seq;
    bool split;
    uint64_t pad;
} pack_windows_args;

#endif
