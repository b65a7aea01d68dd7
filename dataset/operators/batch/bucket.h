/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the bucket stage. */
#ifndef SLUICE_BUCKET_H
#define SLUICE_BUCKET_H

#include "stage_param.h"

typedef struct bucket_args {
    const char *length;
    param_edges edges;
} bucket_args;

#endif
