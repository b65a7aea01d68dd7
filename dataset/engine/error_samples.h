/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a run that could not be used: counts, and the names of the first hundred. */
#ifndef SLUICE_ERROR_SAMPLES_H
#define SLUICE_ERROR_SAMPLES_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine_int.h"

typedef struct error_samples {
    _Atomic uint64_t failed; /* 1 if a sample ended the run, by the policy */
    _Atomic uint64_t replaced;
    _Atomic uint64_t zeroed;
    _Atomic uint64_t zeroed_in_pass; /* rows zeroed in the first whole pass */
    pthread_mutex_t lock;            /* guards additions to the fields below */
    _Atomic uint32_t count;          /* of first; entries below it never change */
    sli_error_sample first[SLI_ERROR_SAMPLES];
} error_samples;

void error_samples_init(error_samples *errors);
void error_samples_fini(error_samples *errors);

/*
 * Notes that a sample failed in a stage, with its name and a text; ignored if the list is full, or
 * has the sample already.
 */
void error_samples_note(error_samples *errors, uint64_t sample, const char *name, const char *stage,
                        const char *text);

#endif
