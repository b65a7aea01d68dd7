/* SPDX-License-Identifier: Apache-2.0 */
/* The default number of slots of a feed. */
#ifndef SLUICE_SLOT_COUNT_H
#define SLUICE_SLOT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct slot_request {
    uint32_t workers;
    uint32_t batch_size;
    uint64_t slot_bytes; /* size of one slot */
    uint64_t free_bytes; /* free memory where the slots will be allocated */
    bool kernels;        /* GetNext is a kernel */
    bool lends;          /* steps read the slot itself, in host memory */
} slot_request;

/* Returns 3 to SLI_MAX_SLOTS. The caller also applies the configured memory bound. */
uint32_t slot_count(const slot_request *request);

#endif
