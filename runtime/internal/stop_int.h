/* SPDX-License-Identifier: Apache-2.0 */
/* Polling a cancellation token. */
#ifndef SLUICE_STOP_INT_H
#define SLUICE_STOP_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <sluice/stop.h>

/* One lock-free word, so that a signal handler may set it. */
struct sluice_stop {
    _Atomic int requested;
};

/* True if a stop has been requested. A NULL token never requests a stop. */
static inline bool sli_stop_is_requested(const sluice_stop *stop)
{
    /* Pairs with the release store in sluice_stop_request(): once the request is seen, hooks that
     * are called afterwards also see what was written before the request. */
    return stop != NULL && atomic_load_explicit(&stop->requested, memory_order_acquire) != 0;
}

#endif
