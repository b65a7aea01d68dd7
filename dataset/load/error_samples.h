/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a run that could not be used: counts, and the first hundred with their names. */
#ifndef SLUICE_ERROR_SAMPLES_H
#define SLUICE_ERROR_SAMPLES_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine_int.h"

typedef struct error_samples {
    _Atomic uint64_t failed; /* 1 if the error policy ended the run because of a sample */
    _Atomic uint64_t replaced;
    _Atomic uint64_t zeroed;
    _Atomic uint64_t zeroed_in_pass; /* rows that were zeroed in the first whole pass */
    pthread_mutex_t lock;            /* guards additions to first and count */
    _Atomic uint32_t count;          /* number of entries in first; existing entries never change */
    sli_error_sample first[SLI_ERROR_SAMPLES];
} error_samples;

void error_samples_init(error_samples *errors);
void error_samples_fini(error_samples *errors);

/*
 * Adds a failed sample to the list, with its name, the stage and the error text. No-op if the list
 * is full, or has the sample already.
 */
void error_samples_note(error_samples *errors, uint64_t sample, const char *name, const char *stage,
                        const char *text);

#endif
