/* SPDX-License-Identifier: Apache-2.0 */
/* The times of the operations of samples, which workers measure on one sample in many. */
#ifndef SLUICE_OPERATION_COUNTS_INT_H
#define SLUICE_OPERATION_COUNTS_INT_H

#include <stdbool.h>
#include <stdint.h>

enum { SLI_OPERATIONS = 64 };

typedef struct sli_operation_count {
    const char *name;  /* "resize", "resize#2", "others"; owned by the plan */
    const char *stage; /* of the profile: its name */
    bool is_rest;      /* what belongs to no stage of the pipeline: "other", "boxes" */
    uint64_t measured; /* samples of which it was measured */
    uint64_t ticks;    /* of all samples, estimated */
} sli_operation_count;

typedef struct sli_operation_counts {
    uint32_t count;
    sli_operation_count of[SLI_OPERATIONS]; /* (count) those that were measured, by stage */
} sli_operation_counts;

#endif
