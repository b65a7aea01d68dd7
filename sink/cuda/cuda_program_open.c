/* SPDX-License-Identifier: Apache-2.0 */
/* Creates a sink program on CUDA: its memory and the arguments of its kernels. */
#include <string.h>

#include "alloc_int.h"
#include "cuda_error_int.h"
#include "cuda_program.h"
#include "rng_int.h"

enum { ALIGNMENT = 64 };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t rates_bytes(const cuda_program *p)
{
    const bool has_rates = p->learning_rate.function != NULL || p->learning_rate.count > 0;

    return has_rates ? p->capacity * sizeof(float) : 0;
}

static void *address_of(const cuda_program *p, const void *host)
{
    return shared_memory_address(&p->memory, host);
}

static sluice_status take_shared(cuda_program *p)
{
    const size_t traces_at = round_up(sizeof(shared_part), ALIGNMENT);
    const size_t rates_at = traces_at + round_up(p->capacity * sizeof(step_trace), ALIGNMENT);
    sluice_status st =
        shared_memory_open(p->feed->config.device, rates_at + rates_bytes(p), &p->memory);

    if (st == SLUICE_OK) {
        p->shared = (shared_part *)(void *)p->memory.host;
        p->traces = (step_trace *)(void *)(p->memory.host + traces_at);
        p->rates = (float *)(void *)(p->memory.host + rates_at);
    }
    return st;
}

static size_t device_bytes(const cuda_program *p)
{
    return round_up(sizeof(device_part), ALIGNMENT) + rates_bytes(p);
}

/* Allocates device memory and initializes it. */
static sluice_status take_device_memory(cuda_program *p)
{
    void *block = NULL;
    sluice_status st = sli_device_alloc(p->feed->config.device, device_bytes(p), &block);

    if (st != SLUICE_OK) {
        return st;
    }
    p->part = block;
    if (rates_bytes(p) > 0) {
        p->device_rates =
            (float *)(void *)((uint8_t *)block + round_up(sizeof(device_part), ALIGNMENT));
    }
    sli_getnext_state_init(&p->shared->initial.getnext);
    return sli_stream_copy(&p->stream, block, &p->shared->initial, sizeof(device_part));
}

static sluice_status take_records(cuda_program *p, const program_config *config)
{
    const size_t rows = (size_t)p->micro_batches * p->batch_size;

    p->records = sli_calloc(p->capacity, sizeof(*p->records));
    if (config->record_samples) {
        p->samples = sli_calloc(p->capacity * rows, sizeof(*p->samples));
    }
    return p->records != NULL && (!config->record_samples || p->samples != NULL)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_NO_MEMORY, "records of %u steps", p->capacity);
}

/* Fills in the arguments of GetNext's kernels. */
static sluice_status describe_getnext(cuda_program *p)
{
    sli_getnext *g = &p->control.getnext;

    sli_queue_getnext(p->feed->queue, g);
    g->state = &p->part->getnext;
    g->micro_batches = p->micro_batches;
    g->turn = 1;
    g->command = address_of(p, &p->shared->command);
    g->report = address_of(p, &p->shared->getnext);
    g->stop = address_of(p, &p->shared->never);
    p->device_stop = address_of(p, &p->shared->stop);
    p->turn_command = address_of(p, &p->shared->turns);
    return sli_queue_gather(p->feed->queue, 0, &p->gather);
}

static void describe_digest(cuda_program *p)
{
    uint32_t count = 0;
    const sluice_tensor *tensors = sli_queue_outputs(p->feed->queue, 0, &count);

    p->control.column_count = count;
    p->digest.count = count;
    p->digest.sums = p->part->state.digests;
    for (uint32_t i = 0; i < count; i++) {
        p->digest.columns[i] = tensors[i].data;
        p->digest.bytes[i] = tensors[i].bytes;
    }
    step_digest_launch(&p->digest, &p->chain.digest);
}

static sluice_status describe_kernels(cuda_program *p, const program_config *config)
{
    step_control *c = &p->control;
    sluice_status st = describe_getnext(p);

    c->frame = &p->part->frame;
    c->state = &p->part->state;
    c->rates = p->device_rates;
    c->first_step = p->plan->first_step;
    c->epoch_step = p->plan->epoch_step;
    c->epoch = p->plan->epoch;
    c->steps_per_epoch = p->plan->steps_per_epoch;
    c->epoch_is_pass = p->plan->unknown;
    c->seed = sli_mix64(config->seed);
    c->output_count = p->model.output_count;
    c->nan_guard = (uint8_t)config->nan_guard;
    c->traces = address_of(p, p->traces);
    c->report = address_of(p, &p->shared->report);
    if (st != SLUICE_OK) {
        return st;
    }
    step_begin_launch(c, &p->chain.begin);
    step_inner_launch(c, &p->chain.inner);
    step_next_launch(c, &p->chain.next);
    step_mark_launch(c, &p->chain.mark);
    sli_getnext_gather_launch(&c->getnext, &p->gather, &p->chain.gather);
    if (config->digest) {
        describe_digest(p);
    }
    return SLUICE_OK;
}

/* Fills in the step's view. All addresses are device addresses and stay the same for the whole run.
 */
static void describe_view(cuda_program *p)
{
    sluice_step *view = &p->view;
    step_frame *frame = &p->part->frame;

    view->struct_size = sizeof(*view);
    view->inputs = sli_queue_outputs(p->feed->queue, 0, &view->input_count);
    view->valid_rows = &sli_queue_device_header(p->feed->queue, 0)->valid_rows;
    view->step = &frame->step;
    view->epoch = &frame->epoch;
    view->outputs = frame->outputs;
    view->stream = p->handle;
    view->learning_rate = &frame->learning_rate;
    view->random_key = &frame->random_key;
    view->micro = &frame->micro;
    view->micro_batches = p->micro_batches;
}

static sluice_status make_events(cuda_program *p)
{
    sluice_status st = sli_cuda_enter(p->device);
    cudaError_t error = cudaSuccess;

    if (st != SLUICE_OK) {
        return st;
    }
    while (error == cudaSuccess && p->event_count < LAUNCH_EVENTS) {
        error = cudaEventCreateWithFlags(&p->events[p->event_count],
                                         cudaEventBlockingSync | cudaEventDisableTiming);
        p->event_count += error == cudaSuccess;
    }
    sli_cuda_leave(p->device);
    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "events of launches");
}

static cudaError_t destroy_event(void *event)
{
    return cudaEventDestroy(event);
}

sluice_status cuda_program_open(cuda_program *p, const program_config *config)
{
    sluice_device *device = config->feed->config.device;
    sluice_status st = sli_stream_open(device, "sluice/device", SLI_STREAM_STEPS,
                                       &config->feed->placement->device_cpus, 0, &p->stream);

    if (st == SLUICE_OK) {
        p->handle = sli_cuda_stream_handle(p->stream.handle);
        st = make_events(p);
    }
    if (st == SLUICE_OK) {
        st = take_shared(p);
    }
    if (st == SLUICE_OK) {
        st = take_device_memory(p);
    }
    if (st == SLUICE_OK) {
        st = take_records(p, config);
    }
    if (st == SLUICE_OK) {
        st = describe_kernels(p, config);
    }
    if (st == SLUICE_OK) {
        describe_view(p);
        st = sli_stream_wait(&p->stream, -1);
    }
    return st;
}

void cuda_program_close(cuda_program *p)
{
    sluice_device *device = p->feed->config.device;

    if (p->shared != NULL) {
        sli_ring_store_release(&p->shared->stop, 1);
    }
    sli_stream_close(&p->stream); /* waits for work in flight */
    for (uint32_t i = 0; i < p->event_count; i++) {
        sli_cuda_give_back(p->device, destroy_event, p->events[i], "cudaEventDestroy");
    }
    step_graph_destroy(p->device, &p->turns);
    step_graph_destroy(p->device, &p->graph);
    sli_device_free(device, p->part, device_bytes(p));
    shared_memory_close(&p->memory);
    sli_free(p->records);
    sli_free(p->samples);
    sli_free(p);
}
