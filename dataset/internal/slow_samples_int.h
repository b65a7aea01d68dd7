/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest samples of a run. */
#ifndef SLUICE_SLOW_SAMPLES_INT_H
#define SLUICE_SLOW_SAMPLES_INT_H

#include <stdint.h>

enum { SLI_SLOW_SAMPLES = 16 };

/* The longest time of a sample in a stage. */
typedef struct sli_slow_sample {
    uint64_t sample;
    uint64_t ticks;
    const char *stage; /* of the plan */
    char name[256];
} sli_slow_sample;

typedef struct sli_slow_samples {
    uint32_t count;
    sli_slow_sample of[SLI_SLOW_SAMPLES]; /* (count), the slowest first */
} sli_slow_samples;

#endif
