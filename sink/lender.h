/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a channel's batches are lent to a loop of the user's own. own_loop.c knows which batch is
 * next and waits for it on the host; a kind of device brings one table of what it then does.
 */
#ifndef SLUICE_LENDER_H
#define SLUICE_LENDER_H

#include "data_channel.h"

typedef struct batch_lender batch_lender;

typedef struct lender_ops {
    const char *kind; /* of device */
    sluice_status (*create)(const data_channel *data, batch_lender **lender_out);

    /* Waits for what it has enqueued; the queue is stopped and still there. NULL is fine. */
    void (*destroy)(batch_lender *lender);

    /* May the next batch be lent in this stream (NULL: none was given)? Changes nothing, but tells
     * of an error that an earlier call has met. */
    sluice_status (*check)(batch_lender *lender, void *stream);

    /* Lends batch seq, which is there; the one before is given back. */
    sluice_status (*lend)(batch_lender *lender, uint64_t seq, void *stream, sli_inputs *inputs_out);

    /* Gives batch seq back. */
    void (*give_back)(batch_lender *lender, uint64_t seq);

    /* Looks, while a batch is late, whether the device still works; NULL: it does. */
    sluice_status (*look)(batch_lender *lender);
} lender_ops;

/* What every kind of lender begins with. */
struct batch_lender {
    const lender_ops *ops;
};

extern const lender_ops host_lender_ops;
extern const lender_ops cuda_lender_ops; /* where the build has CUDA */

/* The table for a device; NULL when no channel serves its kind. */
const lender_ops *lender_ops_of(const sluice_device *device);

#endif
