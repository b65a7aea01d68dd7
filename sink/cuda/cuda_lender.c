/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lending on CUDA: behind a batch that the host has seen to be there, GetNext's kernels go into the
 * caller's stream, as in a launch of one batch (cuda_program.c):
 *
 *     begin -> gather -> next
 *
 * Whatever the caller enqueues behind them sees the batch. The tensors are the same for each, so a
 * gather waits for what reads the one before: in the same stream by itself, in another one by an
 * event behind all that the stream of the call before holds. The same event then stands behind the
 * gather: it is what to wait for, on the host and when the channel closes.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "cuda_device.h"
#include "cuda_error.h"
#include "lender.h"
#include "shared_memory.h"
#include "status_int.h"
#include "step_graph.h"

/* What host and device tell each other. */
typedef struct shared_part {
    _Alignas(64) sli_getnext_command command;
    _Alignas(64) sli_getnext_report report;
    _Alignas(64) uint64_t stop;             /* 0: nothing is stopped half-way */
    _Alignas(64) sli_getnext_state initial; /* what the kernels' state begins with */
} shared_part;

enum { LAUNCHES = 3 };

typedef struct cuda_lender {
    batch_lender base;
    const data_channel *data;
    const cuda_device *device;
    cudaStream_t own;     /* for callers who give none */
    cudaStream_t last;    /* of the call before; NULL: there was none */
    cudaEvent_t event;    /* behind the last gather */
    uint64_t given;       /* batches whose kernels are in a stream */
    sluice_status failed; /* said again by every call, as the next */
    char error[SLI_ERROR_SIZE];
    sli_getnext_state *state; /* in device memory */
    shared_memory memory;
    shared_part *shared; /* in memory */
    sli_getnext getnext; /* arguments of kernels, as the next */
    sli_gather gather;
    sli_kernel_launch launches[LAUNCHES];
} cuda_lender;

static cuda_lender *of(batch_lender *lender)
{
    return (cuda_lender *)lender;
}

static sluice_status keep_error(cuda_lender *l, sluice_status status)
{
    l->failed = status;
    snprintf(l->error, sizeof(l->error), "%s", sluice_last_error());
    return status;
}

static sluice_status fail(const cuda_lender *l, cudaError_t error, const char *what)
{
    return sli_cuda_fail(error, "device cuda:%u: %s", l->device->ordinal, what);
}

/* ---- which stream ---------------------------------------------------------------------------- */

static sluice_status check_captures(const cuda_lender *l, cudaStream_t stream, const char *which)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &capture);

    if (error != cudaSuccess) {
        return fail(l, error, "cudaStreamIsCapturing");
    }
    return capture == cudaStreamCaptureStatusNone
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "sluice_channel_get_next: %s is being captured; a batch is fetched "
                          "outside the graph that reads it",
                          which);
}

/* The context is current. */
static sluice_status check_stream(const cuda_lender *l, cudaStream_t stream)
{
    CUcontext context = NULL;
    const cudaError_t error = (cudaError_t)l->device->driver.stream_context(stream, &context);

    if (error != cudaSuccess) {
        return fail(l, error, "cuStreamGetCtx");
    }
    if (context != l->device->context) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_channel_get_next: the stream is another device's; want one of %s",
                        sluice_device_name(l->data->config.device));
    }
    return check_captures(l, stream, "the stream");
}

/* The stream that the tensors' readers may be in, where the next batch goes into another one. */
static cudaStream_t stream_before(const cuda_lender *l, cudaStream_t stream)
{
    return l->last != stream ? l->last : NULL;
}

static sluice_status cuda_check(batch_lender *lender, void *stream)
{
    const cuda_lender *l = of(lender);
    const cudaStream_t before = stream_before(l, stream != NULL ? stream : l->own);
    sluice_status st;

    if (l->failed != SLUICE_OK) {
        return sli_fail_again(l->failed, l->error);
    }
    st = sli_cuda_enter(l->device);
    if (st != SLUICE_OK) {
        return st;
    }
    if (stream != NULL) {
        st = check_stream(l, stream);
    }
    if (st == SLUICE_OK && before != NULL) {
        st = check_captures(l, before, "the stream of the call before");
    }
    sli_cuda_leave(l->device);
    return st;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* The stream waits for all that the one of the call before holds, the tensors' readers among it. */
static sluice_status order_behind(const cuda_lender *l, cudaStream_t before, cudaStream_t stream)
{
    cudaError_t error = cudaEventRecord(l->event, before);

    if (error == cudaSuccess) {
        error = cudaStreamWaitEvent(stream, l->event, 0);
    }
    return error == cudaSuccess ? SLUICE_OK : fail(l, error, "to wait for another stream");
}

static sluice_status enqueue(cuda_lender *l, cudaStream_t stream)
{
    const cudaStream_t before = stream_before(l, stream);
    sluice_status st = before != NULL ? order_behind(l, before, stream) : SLUICE_OK;

    for (uint32_t i = 0; i < LAUNCHES && st == SLUICE_OK; i++) {
        st = step_graph_launch_kernel(&l->launches[i], stream);
    }
    if (st == SLUICE_OK) {
        const cudaError_t error = cudaEventRecord(l->event, stream);

        st = error == cudaSuccess ? SLUICE_OK : fail(l, error, "cudaEventRecord");
    }
    if (st != SLUICE_OK) {
        /* No event is behind what was enqueued, and the tensors may be freed. */
        sli_cuda_warn(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        return st;
    }
    l->last = stream;
    l->given++;
    return SLUICE_OK;
}

/* Its gather is done and has not released the slot: the device has not found what the host has. */
static sluice_status fail_for_slot(const cuda_lender *l)
{
    const sli_getnext_report *report = &l->shared->report;
    const unsigned long long seq = report->seq;

    return report->end == SLI_GETNEXT_CORRUPT
               ? sli_fail(SLUICE_E_CORRUPT, "the slot of batch %llu says another number", seq)
               : sli_fail(SLUICE_E_DEVICE,
                          "batch %llu was there for the host and not for the device", seq);
}

static bool all_gathered(const cuda_lender *l)
{
    sli_queue_stats stats;

    sli_queue_stats_get(l->data->queue, &stats);
    return stats.consumed >= l->given;
}

/* A call about the event that captures of the user's, under way in any thread, survive. */
static cudaError_t ask_of_event(const cuda_lender *l, cudaError_t (*call)(cudaEvent_t))
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);

    if (error != cudaSuccess) {
        return error;
    }
    error = call(l->event);
    sli_cuda_warn(cudaThreadExchangeStreamCaptureMode(&mode),
                  "cudaThreadExchangeStreamCaptureMode");
    return error;
}

static sluice_status wait_for_gather(const cuda_lender *l)
{
    const cudaError_t error = ask_of_event(l, cudaEventSynchronize);

    if (error != cudaSuccess) {
        return fail(l, error, "a gather");
    }
    return all_gathered(l) ? SLUICE_OK : fail_for_slot(l);
}

static sluice_status cuda_lend(batch_lender *lender, uint64_t seq, void *stream,
                               sli_inputs *inputs_out)
{
    cuda_lender *l = of(lender);
    sluice_status st = sli_cuda_enter(l->device);

    if (st != SLUICE_OK) {
        return st;
    }
    st = enqueue(l, stream != NULL ? stream : l->own);
    if (st == SLUICE_OK && stream == NULL) {
        st = wait_for_gather(l);
    }
    sli_cuda_leave(l->device);
    if (st != SLUICE_OK) {
        return keep_error(l, st);
    }
    inputs_out->tensors = sli_queue_outputs(l->data->queue, &inputs_out->count);
    inputs_out->header = sli_queue_header(l->data->queue, seq);
    inputs_out->samples = sli_queue_samples(l->data->queue, seq);
    return SLUICE_OK;
}

/* The gather has. */
static void cuda_give_back(batch_lender *lender, uint64_t seq)
{
    (void)lender;
    (void)seq;
}

static cudaError_t query_event(const cuda_lender *l)
{
    const cudaError_t error = ask_of_event(l, cudaEventQuery);

    if (error == cudaErrorNotReady && cudaPeekAtLastError() == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* it is none */
    }
    return error;
}

/* A slot that is not released is never filled: of a device that has broken no batch comes to tell.
 */
static sluice_status cuda_look(batch_lender *lender)
{
    cuda_lender *l = of(lender);
    cudaError_t error;
    sluice_status st;

    if (all_gathered(l)) {
        return SLUICE_OK;
    }
    st = sli_cuda_enter(l->device);
    if (st != SLUICE_OK) {
        return st;
    }
    error = query_event(l);
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        st = keep_error(l, fail(l, error, "a gather"));
    } else if (error == cudaSuccess && !all_gathered(l)) {
        st = keep_error(l, fail_for_slot(l));
    }
    sli_cuda_leave(l->device);
    return st;
}

/* ---- making ---------------------------------------------------------------------------------- */

static sluice_status take_memory(cuda_lender *l)
{
    sluice_device *device = l->data->config.device;
    sluice_status st = shared_memory_open(device, sizeof(*l->shared), &l->memory);
    void *block = NULL;

    if (st != SLUICE_OK) {
        return st;
    }
    l->shared = (shared_part *)(void *)l->memory.host;
    l->shared->command.steps = 1; /* each launch is a batch */
    l->shared->command.spin_ns = (uint64_t)device->caps.spin_ns;
    sli_getnext_state_init(&l->shared->initial);
    st = sli_device_alloc(device, sizeof(*l->state), &block);
    l->state = block;
    return st;
}

static sluice_status describe_kernels(cuda_lender *l, uint32_t multiprocessors)
{
    sli_getnext *g = &l->getnext;
    sluice_status st;

    sli_queue_getnext(l->data->queue, g);
    g->state = l->state;
    g->command = shared_memory_address(&l->memory, &l->shared->command);
    g->report = shared_memory_address(&l->memory, &l->shared->report);
    g->stop = shared_memory_address(&l->memory, &l->shared->stop);
    g->micro_batches = 1;
    st = sli_queue_gather(l->data->queue, &l->gather);
    sli_getnext_begin_launch(g, &l->launches[0]);
    sli_getnext_gather_launch(g, &l->gather, multiprocessors, &l->launches[1]);
    sli_getnext_next_launch(g, &l->launches[2]);
    return st;
}

/* What takes the device's time, or memory, is made here, and nothing of it later. The context is
 * current. */
static sluice_status make_handles(cuda_lender *l)
{
    int multiprocessors = 0;
    cudaError_t error = cudaStreamCreateWithFlags(&l->own, cudaStreamNonBlocking);
    sluice_status st;

    if (error == cudaSuccess) {
        error = cudaEventCreateWithFlags(&l->event, cudaEventBlockingSync | cudaEventDisableTiming);
    }
    if (error == cudaSuccess) {
        error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                                       (int)l->device->ordinal);
    }
    if (error != cudaSuccess) {
        return fail(l, error, "the stream of a channel");
    }
    st = describe_kernels(l, (uint32_t)multiprocessors);
    for (uint32_t i = 0; i < LAUNCHES && st == SLUICE_OK; i++) {
        st = step_graph_load_kernel(&l->launches[i]);
    }
    return st;
}

static sluice_status begin_state(cuda_lender *l)
{
    cudaError_t error = cudaMemcpyAsync(l->state, &l->shared->initial, sizeof(*l->state),
                                        cudaMemcpyHostToDevice, l->own);

    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(l->own);
    }
    return error == cudaSuccess ? SLUICE_OK : fail(l, error, "the state of a channel");
}

static sluice_status open_lender(cuda_lender *l)
{
    sluice_status st = take_memory(l);

    if (st == SLUICE_OK) {
        st = sli_cuda_enter(l->device);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = make_handles(l);
    if (st == SLUICE_OK) {
        st = begin_state(l);
    }
    sli_cuda_leave(l->device);
    return st;
}

/* After it no kernel of ours runs. */
static void wait_for_last(const cuda_lender *l, bool entered)
{
    const cudaError_t error = l->given > 0 ? ask_of_event(l, cudaEventSynchronize) : cudaSuccess;

    if (error != cudaSuccess) {
        sli_cuda_warn(error, "cudaEventSynchronize");
        if (entered) {
            sli_cuda_warn(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        }
    }
}

static void cuda_destroy(batch_lender *lender)
{
    cuda_lender *l = of(lender);
    bool entered;

    if (l == NULL) {
        return;
    }
    entered = sli_cuda_enter(l->device) == SLUICE_OK;
    wait_for_last(l, entered);
    if (l->event != NULL) {
        sli_cuda_warn(cudaEventDestroy(l->event), "cudaEventDestroy");
    }
    if (l->own != NULL) {
        sli_cuda_warn(cudaStreamSynchronize(l->own), "cudaStreamSynchronize");
        sli_cuda_warn(cudaStreamDestroy(l->own), "cudaStreamDestroy");
    }
    if (entered) {
        sli_cuda_leave(l->device);
    }
    sli_device_free(l->data->config.device, l->state, sizeof(*l->state));
    shared_memory_close(&l->memory);
    sli_free(l);
}

static sluice_status cuda_create(const data_channel *data, batch_lender **lender_out)
{
    cuda_lender *l = sli_calloc(1, sizeof(*l));
    sluice_status st;

    if (l == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a channel");
    }
    l->base.ops = &cuda_lender_ops;
    l->data = data;
    l->device = data->config.device->state;
    st = open_lender(l);
    if (st != SLUICE_OK) {
        cuda_destroy(&l->base);
        return st;
    }
    *lender_out = &l->base;
    return SLUICE_OK;
}

const lender_ops cuda_lender_ops = {
    .kind = "cuda",
    .create = cuda_create,
    .destroy = cuda_destroy,
    .check = cuda_check,
    .lend = cuda_lend,
    .give_back = cuda_give_back,
    .look = cuda_look,
};
