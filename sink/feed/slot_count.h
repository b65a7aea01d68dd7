/* SPDX-License-Identifier: Apache-2.0 */
/* How many slots a feed has where the program names no number. */
#ifndef SLUICE_SLOT_COUNT_H
#define SLUICE_SLOT_COUNT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct slot_request {
    uint32_t workers;
    uint32_t batch_size;
    uint64_t slot_bytes; /* of one slot */
    uint64_t free_bytes; /* of the memory that the slots lie in, before they are taken */
    bool kernels;        /* GetNext is a kernel */
    bool lends;          /* steps are lent the slot itself, on the host */
} slot_request;

/* 3 to SLI_MAX_SLOTS. The bound on memory of the program comes on top. */
uint32_t slot_count(const slot_request *request);

#endif
