/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of a serial map, with the time that workers wait for it. */
#ifndef SLUICE_SERIAL_LOCK_H
#define SLUICE_SERIAL_LOCK_H

#include <pthread.h>

#include "profiler_int.h"

/* Locks; adds the time until another worker has left the map to counters->lock_ticks. Without
 * counters the time is not counted. */
static inline void serial_lock(pthread_mutex_t *lock, sli_counters *counters)
{
    uint64_t start;

    if (pthread_mutex_trylock(lock) == 0) {
        return;
    }
    start = sli_ticks();
    pthread_mutex_lock(lock);
    if (counters != NULL) {
        sli_counter_add(&counters->lock_ticks, sli_ticks() - start);
    }
}

#endif
