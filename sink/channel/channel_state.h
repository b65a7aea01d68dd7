/* SPDX-License-Identifier: Apache-2.0 */
/* A channel: the data channel for a loop of the user's own, which is its consumer. */
#ifndef SLUICE_CHANNEL_STATE_H
#define SLUICE_CHANNEL_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "feed.h"
#include "held_batches.h"
#include "lender.h"
#include "status_int.h"

struct sluice_channel {
    data_feed data;
    batch_lender *lender;
    uint64_t first_batch;
    uint64_t seed;
    uint64_t batches;  /* after each rewind; UINT64_MAX: without end */
    bool tells_passes; /* END_OF_PASS is asked for */

    pthread_mutex_t
        lock; /* guards the two below, and the engine's pointer while it is not started */
    bool start_called;
    bool stopped;
    _Atomic bool started; /* the engine is there */

    /* What follows is the consumer's; the counters have any thread as a reader. */
    held_batches held;
    uint64_t base;        /* the first batch is behind this one */
    uint64_t pass;        /* of the last batch */
    bool in_pass;         /* END_OF_PASS has not been answered since */
    _Atomic uint64_t seq; /* of the next batch */
    _Atomic uint64_t given;
    _Atomic uint64_t samples;
    _Atomic uint64_t wait_ns;
};

static inline bool channel_is_started(sluice_channel *channel)
{
    /* Pairs with the release store in sluice_channel_start(): seeing it, the engine is seen. */
    return atomic_load_explicit(&channel->started, memory_order_acquire);
}

static inline sluice_status channel_not_started(const char *function)
{
    return sli_fail(SLUICE_E_INVALID, "%s: call sluice_channel_start() first", function);
}

#endif
