/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a channel's batches are lent to a loop of the user's own. channel.c knows which batch is
 * next and waits for it on the host; a kind of device brings one table of what it then does.
 */
#ifndef SLUICE_LENDER_H
#define SLUICE_LENDER_H

#include "feed.h"

typedef struct batch_lender batch_lender;

typedef struct lender_ops {
    sluice_status (*create)(const data_feed *data, batch_lender **lender_out);

    /* Waits for what it has enqueued; the queue is stopped and still there. NULL is fine. */
    void (*destroy)(batch_lender *lender);

    /* May the next batch be lent in this stream (NULL: none was given), into this set of tensors?
     * Changes nothing; reports an error of an earlier call. */
    sluice_status (*check)(batch_lender *lender, uint32_t set, void *stream);

    /* Lends batch seq, which is there, in a set of tensors. Where the batch that had the set was
     * not released by release(), its readers are in the stream of the call before. */
    sluice_status (*lend)(batch_lender *lender, uint64_t seq, uint32_t set, void *stream,
                          sli_inputs *inputs_out);

    /* The loop has released the batch in the set: the next batch in it comes behind all that the
     * stream holds now; NULL: its readers are done. E_INVALID: no stream for it; nothing has
     * changed. */
    sluice_status (*release)(batch_lender *lender, uint32_t set, void *stream);

    /* Frees the slot of batch seq. In the order of batches. */
    void (*free_slot)(batch_lender *lender, uint64_t seq);

    /* Frees the slot of batch seq, which is there, without a look at it; the set is free. */
    sluice_status (*pass_over)(batch_lender *lender, uint64_t seq, uint32_t set);

    /* Looks, while a batch is late, whether the device still works; NULL: it does. */
    sluice_status (*look)(batch_lender *lender);
} lender_ops;

/* What every kind of lender begins with. */
struct batch_lender {
    const lender_ops *ops;
};

#endif
