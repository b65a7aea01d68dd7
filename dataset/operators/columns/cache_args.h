/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the stage cache. */
#ifndef SLUICE_CACHE_ARGS_H
#define SLUICE_CACHE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cache_args {
    uint64_t bytes; /* bound on the memory */
    bool shared;    /* by the ranks of a machine */
} cache_args;

#endif
