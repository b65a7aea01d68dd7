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
    uint64_t digest;                 /* combined digest of all steps so far */
    uint64_t nan_steps;              /* steps with a non-finite output */
    uint64_t first_nan_step;         /* first step with a non-finite output */
    uint64_t checkpoints;            /* written checkpoints, excluding early and best ones */
    uint64_t validations;            /* completed validations */
    double validation_seconds;       /* total duration of these validations */
    uint64_t validation_bad_samples; /* samples that these validations replaced or zeroed */
    uint64_t step_times;             /* of a channel: times of steps that its loop has published */
    uint64_t host_wait_ticks; /* time in which the device was idle while the host waited for data */
} run_counts;

#endif
