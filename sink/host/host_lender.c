/* SPDX-License-Identifier: Apache-2.0 */
/* The lender of a host device, which runs GetNext on the calling thread. */
#include "host_ops.h"

#include "alloc_int.h"
#include "status_int.h"

typedef struct host_lender {
    batch_lender base;
    const data_feed *data;
} host_lender;

static sluice_status host_create(const data_feed *data, batch_lender **lender_out)
{
    host_lender *l = sli_calloc(1, sizeof(*l));

    if (l == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a channel");
    }
    l->base.ops = &host_lender_ops;
    l->data = data;
    *lender_out = &l->base;
    return SLUICE_OK;
}

static void host_destroy(batch_lender *lender)
{
    sli_free(lender);
}

static sluice_status check_stream(const host_lender *l, const void *stream, const char *function)
{
    return stream == NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "%s: device %s has no streams: want stream NULL",
                          function, sluice_device_name(l->data->config.device));
}

static sluice_status host_check(batch_lender *lender, uint32_t set, void *stream)
{
    (void)set;
    return check_stream((const host_lender *)lender, stream, "sluice_channel_get_next");
}

static sluice_status host_lend(batch_lender *lender, uint64_t seq, uint32_t set, void *stream,
                               sli_inputs *inputs_out)
{
    (void)stream;
    return sli_queue_get_next_into(((host_lender *)lender)->data->queue, seq, set, inputs_out);
}

static sluice_status host_release(batch_lender *lender, uint32_t set, void *stream)
{
    (void)set;
    return check_stream((const host_lender *)lender, stream, "sluice_channel_release");
}

static void host_free_slot(batch_lender *lender, uint64_t seq)
{
    sli_queue_step_done(((host_lender *)lender)->data->queue, seq);
}

static sluice_status host_discard(batch_lender *lender, uint64_t seq, uint32_t set)
{
    (void)set;
    sli_queue_discard(((host_lender *)lender)->data->queue, seq);
    return SLUICE_OK;
}

const lender_ops host_lender_ops = {
    .create = host_create,
    .destroy = host_destroy,
    .check = host_check,
    .lend = host_lend,
    .release = host_release,
    .free_slot = host_free_slot,
    .discard = host_discard,
};
