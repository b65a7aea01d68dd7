/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface of a lender, which lends a channel's batches to a user's own loop. channel_batches.c
 * waits on the host for the next batch; the device's lender then provides its tensors.
 */
#ifndef SLUICE_LENDER_H
#define SLUICE_LENDER_H

#include "feed.h"

typedef struct batch_lender batch_lender;

typedef struct lender_ops {
    sluice_status (*create)(const data_feed *data, batch_lender **lender_out);

    /* Waits for all work that the lender has enqueued. The queue is stopped and not yet destroyed.
     * lender may be NULL. */
    void (*destroy)(batch_lender *lender);

    /* May the next batch be lent in this stream (NULL: the caller passed none), into this set of
     * tensors? Has no side effects. Returns an error of an earlier call again. */
    sluice_status (*check)(batch_lender *lender, uint32_t set, void *stream);

    /* Lends batch seq, which has arrived, in a set of tensors. If the previous batch of the set was
     * not released by release(), its readers are in the stream that was passed to the previous
     * call. */
    sluice_status (*lend)(batch_lender *lender, uint64_t seq, uint32_t set, void *stream,
                          sli_inputs *inputs_out);

    /* Releases the batch in the set. The set is overwritten only after all work that is in the
     * stream now; stream NULL: all readers are done. E_INVALID: the stream is not usable; the batch
     * stays held. */
    sluice_status (*release)(batch_lender *lender, uint32_t set, void *stream);

    /* Frees the slot of batch seq; called in the order of batches. */
    void (*free_slot)(batch_lender *lender, uint64_t seq);

    /* Frees the slot of batch seq, which has arrived, without reading it. No batch is held in the
     * set. */
    sluice_status (*discard)(batch_lender *lender, uint64_t seq, uint32_t set);

    /* Called at intervals while a batch is late: returns the error of a device that has failed.
     * NULL: the device cannot fail by itself. */
    sluice_status (*poll_device)(batch_lender *lender);
} lender_ops;

/* First member of every lender. */
struct batch_lender {
    const lender_ops *ops;
};

#endif
