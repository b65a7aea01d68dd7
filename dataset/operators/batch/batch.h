/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the batch stage. */
#ifndef SLUICE_BATCH_H
#define SLUICE_BATCH_H

#include <stdbool.h>
#include <stdint.h>

typedef struct batch_args {
    uint64_t n;
    bool drop_remainder;
} batch_args;

#endif
