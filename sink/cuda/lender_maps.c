/* SPDX-License-Identifier: Apache-2.0 */
#include "lender_maps.h"

#include "cuda_device_int.h"
#include "rng_int.h"
#include "step_graph.h"

static size_t frames_bytes(const lender_maps *m)
{
    return m->data->held * sizeof(*m->frames);
}

sluice_status lender_maps_open(lender_maps *maps, const data_feed *data)
{
    lender_maps *m = maps;
    void *frames = NULL;
    sluice_status st;

    m->data = data;
    if (data->config.maps->count == 0) {
        return SLUICE_OK;
    }
    st = sli_device_alloc(data->config.device, frames_bytes(m), &frames);
    if (st != SLUICE_OK) {
        return st;
    }
    m->frames = frames;
    step_batch_launch(&m->batch, &m->launch);
    return step_graph_load_kernel(&m->launch, 1);
}

void lender_maps_close(lender_maps *maps)
{
    if (maps->frames != NULL) {
        sli_device_free(maps->data->config.device, maps->frames, frames_bytes(maps));
    }
}

/* The view of the maps of a batch. All addresses are in device memory. */
static sluice_step view_of(const lender_maps *m, uint32_t set, cudaStream_t stream)
{
    step_frame *frame = &m->frames[set];
    sluice_step view = {
        .struct_size = sizeof(view),
        .micro_batches = 1,
        .valid_rows = &sli_queue_device_header(m->data->queue, set)->valid_rows,
        .step = &frame->step,
        .epoch = &frame->epoch,
        .stream = stream,
        .learning_rate = &frame->learning_rate,
        .random_key = &frame->random_key,
        .micro = &frame->micro,
    };

    view.inputs = sli_queue_outputs(m->data->queue, set, &view.input_count);
    return view;
}

static sluice_status call_maps(const lender_maps *m, uint32_t set, sluice_step *view)
{
    const cuda_device *device = m->data->config.device->state;
    cuda_entry outer;
    sluice_status st = sli_cuda_begin_user(device, &outer);

    if (st == SLUICE_OK) {
        st = device_maps_call(m->data->config.maps, set, view);
        sli_cuda_end_user(device, &outer);
    }
    return st;
}

sluice_status lender_maps_call(lender_maps *maps, const lend_request *request, cudaStream_t stream)
{
    lender_maps *m = maps;
    sluice_step view;
    sluice_status st;

    if (m->frames == NULL) {
        return SLUICE_OK;
    }
    m->batch = (batch_frame){
        .header = sli_queue_device_header(m->data->queue, request->set),
        .frame = &m->frames[request->set],
        .number = request->number,
        .random_key = sli_mix_in(sli_mix64(m->data->config.settings.seed), request->number)};
    st = step_graph_launch_kernel(&m->launch, stream);
    if (st == SLUICE_OK) {
        view = view_of(m, request->set, stream);
        st = call_maps(m, request->set, &view);
    }
    return st;
}

void lender_maps_take(const lender_maps *maps, uint32_t set, sli_inputs *inputs)
{
    const device_maps *m = maps->data->config.maps;

    if (maps->frames != NULL) {
        inputs->tensors = device_maps_inputs(m, set);
        inputs->count = m->column_count;
    }
}
