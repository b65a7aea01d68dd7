/* SPDX-License-Identifier: Apache-2.0 */
/* What a run counts, for its report. */
#ifndef SLUICE_RUN_COUNTS_H
#define SLUICE_RUN_COUNTS_H

#include <stdint.h>

typedef struct run_counts {
    uint64_t steps;
    uint64_t samples;
    uint64_t launches;
    uint64_t syncs;
    uint64_t yields;
    uint64_t digest;          /* of all steps so far */
    uint64_t nan_steps;       /* with a non-finite output */
    uint64_t first_nan_step;  /* of those */
    uint64_t checkpoints;     /* that were written, without early and best ones */
    uint64_t validations;     /* that were completed */
    uint64_t host_wait_ticks; /* the device was idle while the host waited for data */
} run_counts;

#endif
