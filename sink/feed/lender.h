/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface of a lender, which lends a channel's batches to a user's own loop. channel_batches.c
 * waits on the host for the next batch; the device's lender then provides its tensors.
 */
#ifndef SLUICE_LENDER_H
#define SLUICE_LENDER_H

#include "feed.h"

typedef struct batch_lender batch_lender;

/* The next batch, which has arrived. */
typedef struct lend_request {
    uint64_t seq;
    uint64_t number; /* of the whole training, from 0 */
    uint32_t set;    /* set of tensors that the batch gets */
    void *stream;    /* of the caller; NULL: none */
} lend_request;

typedef struct lender_ops {
    sluice_status (*create)(const data_feed *data, batch_lender **lender_out);

    /* Waits for all work that the lender has enqueued. The queue is stopped and not yet destroyed.
     * lender may be NULL. */
    void (*destroy)(batch_lender *lender);

    /*
     * Checks whether the next batch may be lent in this stream into this set of tensors. stream is
     * NULL if the caller passed none. Has no side effects. Returns the error of an earlier call
     * again.
     */
    sluice_status (*check)(batch_lender *lender, uint32_t set, void *stream);

    /* Lends a batch, after its device maps. If the set's previous batch was not released by
     * release(), its readers are in the stream that was passed to the previous call. */
    sluice_status (*lend)(batch_lender *lender, const lend_request *request,
                          sli_inputs *inputs_out);

    /*
     * Releases the batch in the set. The set is overwritten only after all work that is now in the
     * stream; if stream is NULL, all readers are done already. Returns E_INVALID if the stream is
     * not usable; the batch then stays held.
     */
    sluice_status (*release)(batch_lender *lender, uint32_t set, void *stream);

    /* Frees the slot of batch seq; called in the order of batches. */
    void (*free_slot)(batch_lender *lender, uint64_t seq);

    /* Frees the slot of batch seq, which has arrived, without reading it. No batch is held in the
     * set. */
    sluice_status (*discard)(batch_lender *lender, uint64_t seq, uint32_t set);

    /* Called at intervals while a batch is late. Returns the device's error if the device has
     * failed. NULL if the device cannot fail by itself. */
    sluice_status (*poll_device)(batch_lender *lender);
} lender_ops;

/* First member of every lender. */
struct batch_lender {
    const lender_ops *ops;
    uint64_t map_ticks; /* time of the device maps in the last lend(), of a lender that calls them
                           on the host; else 0 */
};

#endif
