/* SPDX-License-Identifier: Apache-2.0 */
/* The slowest samples of a worker: by name and stage, each pair once. */
#ifndef SLUICE_SLOW_SAMPLES_H
#define SLUICE_SLOW_SAMPLES_H

#include <pthread.h>

#include "slow_samples_int.h"

typedef struct slow_samples {
    uint64_t least; /* ticks that a sample must exceed to be listed; only the worker uses it */
    pthread_mutex_t lock;
    sli_slow_samples list;
} slow_samples;

void slow_samples_init(slow_samples *slow);
void slow_samples_fini(slow_samples *slow);

/* Adds a sample to a list if it is among the slowest. One that is listed with this stage keeps its
 * longer time. */
void slow_samples_insert(sli_slow_samples *list, const sli_slow_sample *sample);

/* Adds a sample of the worker. Called by the worker if ticks > slow->least. */
void slow_samples_add(slow_samples *slow, const sli_slow_sample *sample);

/* Adds the worker's samples to *list. Callable from any thread. */
void slow_samples_merge(slow_samples *slow, sli_slow_samples *list);

#endif
