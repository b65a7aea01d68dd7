/* SPDX-License-Identifier: Apache-2.0 */
/* The lender of a host device, which runs GetNext on the calling thread. */
#include "host_ops.h"

#include "alloc_int.h"
#include "clock_int.h"
#include "error_int.h"
#include "rng_int.h"
#include "status_int.h"

typedef struct host_lender {
    batch_lender base;
    const data_feed *data;
    sli_error error; /* of a device map; each later call returns it again */
    uint64_t step;   /* the view of device maps points to the fields from here on */
    uint64_t epoch;
    uint64_t random_key;
    uint32_t micro;
    float learning_rate;
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
               : sli_fail(SLUICE_E_INVALID, "%s: device %s has no streams: stream must be NULL",
                          function, sluice_device_name(l->data->config.device));
}

static sluice_status host_check(batch_lender *lender, uint32_t set, void *stream)
{
    const host_lender *l = (const host_lender *)lender;

    (void)set;
    return l->error.status != SLUICE_OK ? sli_error_raise(&l->error)
                                        : check_stream(l, stream, "sluice_channel_get_next");
}

/* Calls the device maps of a batch; *inputs become those after the maps. */
static sluice_status call_maps(host_lender *l, const lend_request *request, sli_inputs *inputs)
{
    const uint64_t start = sli_ticks();
    sluice_step view = {.struct_size = sizeof(view),
                        .input_count = inputs->count,
                        .micro_batches = 1,
                        .inputs = inputs->tensors,
                        .valid_rows = &inputs->header->valid_rows,
                        .step = &l->step,
                        .epoch = &l->epoch,
                        .learning_rate = &l->learning_rate,
                        .random_key = &l->random_key,
                        .micro = &l->micro};
    sluice_status st;

    l->step = request->number;
    l->epoch = inputs->header->pass;
    l->random_key = sli_mix_in(sli_mix64(l->data->config.settings.seed), l->step);
    st = device_maps_call(l->data->config.maps, request->set, &view);
    if (st != SLUICE_OK) {
        sli_error_take(st, &l->error);
        return st;
    }
    inputs->tensors = view.inputs;
    inputs->count = view.input_count;
    l->base.map_ticks = sli_ticks() - start;
    return SLUICE_OK;
}

static sluice_status host_lend(batch_lender *lender, const lend_request *request,
                               sli_inputs *inputs_out)
{
    host_lender *l = (host_lender *)lender;
    const sluice_status st =
        sli_queue_get_next_into(l->data->queue, request->seq, request->set, inputs_out);

    return st == SLUICE_OK && l->data->config.maps->count > 0 ? call_maps(l, request, inputs_out)
                                                              : st;
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
