/* SPDX-License-Identifier: Apache-2.0 */
/* State of a sluice_channel. Its consumer is the user's own loop. */
#ifndef SLUICE_CHANNEL_STATE_H
#define SLUICE_CHANNEL_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "error_int.h"
#include "feed.h"
#include "held_batches.h"
#include "lender.h"
#include "run_series.h"
#include "start_clocks.h"
#include "status_int.h"
#include "wait_probe.h"

/* The wait of the current get_next for its batch. */
typedef struct channel_wait {
    uint64_t since_ticks; /* up to here it is counted; 0: get_next does not wait */
    int64_t since_ns;
    uint64_t ticks; /* how long it has waited so far */
} channel_wait;

/* What was seen so far, for reports. */
typedef struct channel_seen {
    run_series series;
    wait_probe waits; /* of the workers */
} channel_seen;

/* What the consumer's thread looks at in its calls, also while it waits (channel_watch.h). */
typedef struct channel_watch {
    uint64_t requests;    /* for reports so far, as of the last poll */
    uint64_t due_ticks;   /* when the consumer's thread looks again */
    pthread_mutex_t lock; /* of what follows, which reports of any thread copy */
    channel_seen seen;
} channel_watch;

struct sluice_channel {
    device_maps maps;
    data_feed data;
    start_clocks start; /* written before `started` is set */
    batch_lender *lender;
    sluice_channel_position begin; /* at the first batch */
    uint64_t batches; /* batches until END_OF_DATA, from the start or the last rewind; UINT64_MAX:
                         no limit */
    int64_t stall_warning_ns; /* a longer wait for a batch is logged */
    bool end_of_pass;         /* get_next returns END_OF_PASS */

    /* Guards start_called, stopped and failure, data.engine until `started` is set, and writes of
     * step_times and of the counters of steps. */
    pthread_mutex_t lock;
    bool start_called;
    bool stopped;
    sli_error failure;    /* last error of the pipeline or the device that get_next returned */
    _Atomic bool started; /* data.engine is set */
    _Atomic uint64_t step_times; /* that the loop has published */

    /* Written only by the consumer's thread; the atomic counters are read by any thread. */
    held_batches held;
    uint64_t base;       /* sequence number of the last batch before the start or the last rewind */
    uint64_t pass;       /* pass of the last batch */
    bool in_pass;        /* a batch was returned since the last END_OF_PASS */
    uint64_t lent_ticks; /* when the last batch was lent; 0 after the next get_next */
    channel_wait wait;
    channel_watch watch;  /* begins at the start */
    uint32_t until_depth; /* batches until the next sample of the queue's depth */
    _Atomic uint64_t seq; /* sequence number of the next batch in the queue, from 1 */
    _Atomic uint64_t given;
    _Atomic uint64_t samples;
    _Atomic uint64_t wait_ns;
};

static inline bool channel_is_started(sluice_channel *channel)
{
    /* Pairs with the release store in start_channel(), which follows the store of data.engine. */
    return atomic_load_explicit(&channel->started, memory_order_acquire);
}

static inline sluice_status channel_not_started(const char *function)
{
    return sli_fail(SLUICE_E_INVALID, "%s: call sluice_channel_start() first", function);
}

#endif
