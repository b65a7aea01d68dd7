/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a run that could not be used: counts, and the first hundred by name. */
#ifndef SLUICE_ERROR_SAMPLES_H
#define SLUICE_ERROR_SAMPLES_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine_int.h"

typedef struct error_samples {
    _Atomic uint64_t failed; /* 1 when the policy let a sample end the run */
    _Atomic uint64_t replaced;
    _Atomic uint64_t zeroed;
    _Atomic uint64_t zeroed_in_pass; /* the first whole pass */
    pthread_mutex_t lock;            /* held to add to what follows */
    _Atomic uint32_t count;          /* of first; entries below it do not change any more */
    sli_error_sample first[SLI_ERROR_SAMPLES];
} error_samples;

void error_samples_init(error_samples *errors);
void error_samples_fini(error_samples *errors);

/* Notes a sample of that name that failed in a stage with a text, unless enough are known or it is
 * already. */
void error_samples_note(error_samples *errors, uint64_t sample, const char *name, const char *stage,
                        const char *text);

#endif
