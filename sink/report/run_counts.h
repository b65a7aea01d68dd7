/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a run, for its report. */
#ifndef SLUICE_RUN_COUNTS_H
#define SLUICE_RUN_COUNTS_H

#include <stdint.h>

typedef struct run_counts {
    uint64_t steps;
    uint64_t samples;
    uint64_t launches;
    uint64_t syncs;
    uint64_t yields;
    uint64_t digest;                 /* of all steps so far */
    uint64_t nan_steps;              /* with a non-finite output */
    uint64_t first_nan_step;         /* the first of nan_steps */
    uint64_t checkpoints;            /* written checkpoints, excluding early and best ones */
    uint64_t validations;            /* completed validations */
    double validation_seconds;       /* in these validations */
    uint64_t validation_bad_samples; /* replaced or zeroed in them */
    uint64_t host_wait_ticks; /* time in which the device was idle while the host waited for data */
} run_counts;

#endif
