/* SPDX-License-Identifier: Apache-2.0 */
/* Which lender serves which kind of device, and the one for the host's. */
#include "lender.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

static const lender_ops *const tables[] = {
#if defined(SLI_HAVE_CUDA)
    &cuda_lender_ops,
#endif
    &host_lender_ops};

const lender_ops *lender_ops_of(const sluice_device *device)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        if (strcmp(tables[i]->kind, device->backend->kind) == 0) {
            return tables[i];
        }
    }
    return NULL;
}

/* ---- the host's: GetNext on the calling thread ----------------------------------------------- */

typedef struct host_lender {
    batch_lender base;
    const data_channel *data;
} host_lender;

static sluice_status host_create(const data_channel *data, batch_lender **lender_out)
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

static sluice_status host_check(batch_lender *lender, void *stream)
{
    const host_lender *l = (const host_lender *)lender;

    return stream == NULL
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "sluice_channel_get_next: device %s has no streams: want stream NULL",
                          sluice_device_name(l->data->config.device));
}

static sluice_status host_lend(batch_lender *lender, uint64_t seq, void *stream,
                               sli_inputs *inputs_out)
{
    (void)stream;
    return sli_queue_get_next(((host_lender *)lender)->data->queue, seq, inputs_out);
}

static void host_give_back(batch_lender *lender, uint64_t seq)
{
    sli_queue_step_done(((host_lender *)lender)->data->queue, seq);
}

const lender_ops host_lender_ops = {
    .kind = "host",
    .create = host_create,
    .destroy = host_destroy,
    .check = host_check,
    .lend = host_lend,
    .give_back = host_give_back,
};
