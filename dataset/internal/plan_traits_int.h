/* SPDX-License-Identifier: Apache-2.0 */
/* What a report must know of a pipeline to say what limits it, and which changes apply to it. */
#ifndef SLUICE_PLAN_TRAITS_INT_H
#define SLUICE_PLAN_TRAITS_INT_H

#include "plan_int.h"

/* What runs in a stage of the profile. */
enum {
    SLI_STAGE_USER = 1,   /* a function of the user: its source, map or filter */
    SLI_STAGE_SERIAL = 2, /* one worker at a time */
    SLI_STAGE_READ = 4,
    SLI_STAGE_DECODE = 8,
    SLI_STAGE_PIXELS = 16, /* geometry, colours and conversions of images */
    SLI_STAGE_BATCH = 32   /* an item is a batch: its worker holds a slot */
};

typedef struct sli_plan_traits {
    uint32_t stages[12];   /* (plan->stage_count) SLI_STAGE_* */
    bool converts_on_host; /* workers run conversions that GetNext of a device with kernels could
                              run */
    bool packs;            /* `sluice pack` takes its source: encoded images and at most labels */
    uint64_t samples_per_pass; /* of this rank; 0: unknown */
    uint64_t cached_bytes;     /* of a sample, if `cache` followed the last stage before the first
                                  that draws random numbers; 0: unknown, or it would spare nothing */
    char cached_after[64];     /* name of that stage */
} sli_plan_traits;

void sli_plan_traits_get(const sli_plan *plan, sli_plan_traits *traits_out);

#endif
