/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lender of CUDA devices. Once a batch has arrived, the host enqueues GetNext's kernels in the
 * caller's stream, as in a launch of one batch (cuda_program.c):
 *
 *     begin -> gather -> next
 *
 * Work that the caller enqueues after them sees the batch. Each held batch has a set of tensors. A
 * gather into a set waits for the readers of the set's previous batch: by an event that release()
 * recorded in the caller's stream, or, if the caller did not release that batch, by an event
 * recorded in the stream of the previous call. Gathers share one state, so they run one after the
 * other, also in different streams. `event` is recorded after the last gather, and the host waits
 * for it.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "cuda_device_int.h"
#include "cuda_error_int.h"
#include "cuda_ops.h"
#include "error_int.h"
#include "lender_maps.h"
#include "lender_streams.h"
#include "shared_memory.h"
#include "status_int.h"
#include "step_capture.h"
#include "step_graph.h"

/* Page-locked memory that host and kernels both access. */
typedef struct shared_part {
    _Alignas(64) sli_getnext_command command;
    _Alignas(64) sli_getnext_report report;
    _Alignas(64) uint64_t stop; /* stop word; always 0: one-batch launches are not stopped */
    _Alignas(64) sli_getnext_state initial; /* copied to the kernels' state at the start */
} shared_part;

/* A set of tensors. */
typedef struct lender_set {
    sli_gather gather;
    sli_kernel_launch launch;
    cudaEvent_t readers; /* recorded after the readers of the set's released batch */
    bool recorded;       /* `readers` is recorded, and no gather waits for it yet */
    bool released; /* released by the caller; else its readers are in the stream of the previous
                      call */
} lender_set;

typedef struct cuda_lender {
    batch_lender base;
    const data_feed *data;
    const cuda_device *device;
    cudaStream_t own;   /* the library's stream, for calls that pass no stream */
    lender_stream last; /* of the previous call; its handle is NULL: no call yet */
    cudaEvent_t event;  /* recorded after the last gather, in its stream */
    lender_set *sets;
    uint32_t set_count;
    uint64_t given;           /* batches whose kernels were enqueued */
    sli_error error;          /* error of an earlier call; each later call returns it again */
    sli_getnext_state *state; /* in device memory */
    shared_memory memory;
    shared_part *shared; /* in `memory` */
    sli_getnext getnext; /* argument of the kernels */
    sli_kernel_launch begin;
    sli_kernel_launch next;
    lender_maps maps;
} cuda_lender;

static cuda_lender *lender_of(batch_lender *lender)
{
    return (cuda_lender *)lender;
}

static sluice_status keep_error(cuda_lender *l, sluice_status status)
{
    sli_error_take(status, &l->error);
    return status;
}

static sluice_status fail_cuda(const cuda_lender *l, cudaError_t error, const char *what)
{
    return sli_cuda_fail(error, "device cuda:%u: %s", l->device->ordinal, what);
}

/* ---- streams of the caller ------------------------------------------------------------------- */

/* The context is current. stream: the caller's; NULL: the library's. */
static sluice_status identify(const cuda_lender *l, cudaStream_t stream, lender_stream *stream_out)
{
    return lender_stream_identify(l->device, stream != NULL ? stream : l->own, stream_out);
}

/*
 * Finds the stream in which readers of the set may still run, if it differs from `stream` and the
 * batch was not released by release(); else NULL. Fails if its handle is no longer that stream's.
 */
static sluice_status find_readers(const cuda_lender *l, uint32_t set, const lender_stream *stream,
                                  const char *function, cudaStream_t *before_out)
{
    const bool differs = l->last.id != stream->id && !l->sets[set].released;

    *before_out = differs ? l->last.handle : NULL;
    return *before_out != NULL ? lender_stream_check_same(l->device, &l->last, function)
                               : SLUICE_OK;
}

/* Checks the stream of the previous call, in which readers of the set may still run. */
static sluice_status check_readers(const cuda_lender *l, uint32_t set, const lender_stream *stream,
                                   const char *function)
{
    cudaStream_t before;
    const sluice_status st = find_readers(l, set, stream, function, &before);

    return st != SLUICE_OK || before == NULL
               ? st
               : lender_stream_check_captures(l->device, before, function,
                                              "the stream of the call before");
}

static sluice_status cuda_check(batch_lender *lender, uint32_t set, void *stream)
{
    static const char function[] = "sluice_channel_get_next";
    const cuda_lender *l = lender_of(lender);
    lender_stream used;
    sluice_status st;

    if (l->error.status != SLUICE_OK) {
        return sli_error_raise(&l->error);
    }
    st = sli_cuda_enter(l->device);
    if (st != SLUICE_OK) {
        return st;
    }
    if (stream != NULL) {
        st = lender_stream_check(l->device, stream, function);
    }
    if (st == SLUICE_OK) {
        st = identify(l, stream, &used);
    }
    if (st == SLUICE_OK) {
        st = check_readers(l, set, &used, function);
    }
    sli_cuda_leave(l->device);
    return st;
}

/* ---- batches --------------------------------------------------------------------------------- */

static cudaError_t wait_in(cudaStream_t stream, cudaEvent_t event)
{
    return cudaStreamWaitEvent(stream, event, 0);
}

/* Makes the stream wait for the last gather and for the readers of the set's previous batch. */
static sluice_status order_streams(cuda_lender *l, uint32_t number, const lender_stream *stream)
{
    lender_set *set = &l->sets[number];
    cudaError_t error = cudaSuccess;
    cudaStream_t before;
    const sluice_status st = find_readers(l, number, stream, "a channel", &before);

    if (st != SLUICE_OK) {
        return st;
    }
    if (before != NULL) {
        error = cudaEventRecord(l->event, before);
    }
    if (error == cudaSuccess && l->last.handle != NULL && l->last.id != stream->id) {
        error = wait_in(stream->handle, l->event);
    }
    if (error == cudaSuccess && set->recorded) {
        error = wait_in(stream->handle, set->readers);
        set->recorded = false;
    }
    return error == cudaSuccess ? SLUICE_OK : fail_cuda(l, error, "to wait for another stream");
}

/* Enqueues the three kernels of a batch. */
static sluice_status launch_kernels(cuda_lender *l, uint32_t set, cudaStream_t stream)
{
    const sli_kernel_launch *launches[] = {&l->begin, &l->sets[set].launch, &l->next};
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < sizeof(launches) / sizeof(launches[0]) && st == SLUICE_OK; i++) {
        st = step_graph_launch_kernel(launches[i], stream);
    }
    return st;
}

/* Enqueues a batch and, unless it is discarded, its device maps. */
static sluice_status enqueue_batch(cuda_lender *l, const lend_request *request, bool discards)
{
    const uint32_t set = request->set;
    lender_stream stream;
    sluice_status st = identify(l, request->stream, &stream);

    if (st == SLUICE_OK) {
        st = order_streams(l, set, &stream);
    }
    if (st == SLUICE_OK) {
        st = launch_kernels(l, set, stream.handle);
    }
    if (st == SLUICE_OK && !discards) {
        st = lender_maps_call(&l->maps, request, stream.handle);
    }
    if (st == SLUICE_OK) {
        const cudaError_t error = cudaEventRecord(l->event, stream.handle);

        st = error == cudaSuccess ? SLUICE_OK : fail_cuda(l, error, "cudaEventRecord");
    }
    if (st != SLUICE_OK) {
        /* No event marks the end of the enqueued work, and the caller may free the tensors next. */
        sli_cuda_warn(cudaStreamSynchronize(stream.handle), "cudaStreamSynchronize");
        return st;
    }
    l->last = stream;
    l->sets[set].released = false;
    l->given++;
    return SLUICE_OK;
}

/* Raises the error for a gather that ended without releasing the slot: the kernels did not find the
 * batch that the host found. */
static sluice_status fail_for_slot(const cuda_lender *l)
{
    const sli_getnext_report *report = &l->shared->report;
    const unsigned long long seq = report->seq;

    return report->end == SLI_GETNEXT_CORRUPT
               ? sli_fail(SLUICE_E_CORRUPT, "the slot of batch %llu holds another batch", seq)
               : sli_fail(SLUICE_E_DEVICE, "batch %llu was ready for the host, not for the device",
                          seq);
}

static bool all_gathered(const cuda_lender *l)
{
    sli_queue_stats stats;

    sli_queue_stats_get(l->data->queue, &stats);
    return stats.consumed >= l->given;
}

/* Calls call(event) in relaxed capture mode, so that it does not invalidate the user's stream
 * captures in any thread. */
static cudaError_t call_relaxed(cudaEvent_t event, cudaError_t (*call)(cudaEvent_t))
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaError_t error = cudaThreadExchangeStreamCaptureMode(&mode);

    if (error != cudaSuccess) {
        return error;
    }
    error = call(event);
    sli_cuda_warn(cudaThreadExchangeStreamCaptureMode(&mode),
                  "cudaThreadExchangeStreamCaptureMode");
    return error;
}

static sluice_status wait_for_gather(const cuda_lender *l)
{
    const cudaError_t error = call_relaxed(l->event, cudaEventSynchronize);

    if (error != cudaSuccess) {
        return fail_cuda(l, error, "a gather");
    }
    return all_gathered(l) ? SLUICE_OK : fail_for_slot(l);
}

static sluice_status cuda_lend(batch_lender *lender, const lend_request *request,
                               sli_inputs *inputs_out)
{
    const sli_queue *queue = lender_of(lender)->data->queue;
    cuda_lender *l = lender_of(lender);
    sluice_status st = sli_cuda_enter(l->device);

    if (st != SLUICE_OK) {
        return st;
    }
    st = enqueue_batch(l, request, false);
    if (st == SLUICE_OK && request->stream == NULL) {
        st = wait_for_gather(l);
    }
    sli_cuda_leave(l->device);
    if (st != SLUICE_OK) {
        return keep_error(l, st);
    }
    inputs_out->tensors = sli_queue_outputs(queue, request->set, &inputs_out->count);
    inputs_out->header = sli_queue_header(queue, request->seq);
    inputs_out->samples = sli_queue_samples(queue, request->seq);
    lender_maps_take(&l->maps, request->set, inputs_out);
    return SLUICE_OK;
}

/* Records set->readers in the stream. The context is current. */
static sluice_status record_readers(cuda_lender *l, lender_set *set, cudaStream_t stream)
{
    sluice_status st = lender_stream_check(l->device, stream, "sluice_channel_release");

    if (st == SLUICE_OK) {
        const cudaError_t error = cudaEventRecord(set->readers, stream);

        st = error == cudaSuccess ? SLUICE_OK : fail_cuda(l, error, "cudaEventRecord");
    }
    return st;
}

static sluice_status cuda_release(batch_lender *lender, uint32_t number, void *stream)
{
    cuda_lender *l = lender_of(lender);
    lender_set *set = &l->sets[number];
    sluice_status st = l->error.status != SLUICE_OK ? sli_error_raise(&l->error) : SLUICE_OK;

    if (st == SLUICE_OK && stream != NULL) {
        st = sli_cuda_enter(l->device);
        if (st == SLUICE_OK) {
            st = record_readers(l, set, stream);
            sli_cuda_leave(l->device);
        }
    }
    if (st == SLUICE_OK) {
        set->recorded = stream != NULL;
        set->released = true;
    }
    return st;
}

/* A no-op: the gather frees the slot. */
static void cuda_free_slot(batch_lender *lender, uint64_t seq)
{
    (void)lender;
    (void)seq;
}

/* Runs the batch's kernels, which free the slot. */
static sluice_status cuda_discard(batch_lender *lender, uint64_t seq, uint32_t set)
{
    const lend_request request = {.seq = seq, .set = set};
    cuda_lender *l = lender_of(lender);
    sluice_status st = sli_cuda_enter(l->device);

    if (st != SLUICE_OK) {
        return st;
    }
    st = enqueue_batch(l, &request, true);
    sli_cuda_leave(l->device);
    l->sets[set].released = st == SLUICE_OK; /* a discarded batch has no readers */
    return st == SLUICE_OK ? st : keep_error(l, st);
}

static cudaError_t query_event(const cuda_lender *l)
{
    const cudaError_t error = call_relaxed(l->event, cudaEventQuery);

    if (error == cudaErrorNotReady && cudaPeekAtLastError() == cudaErrorNotReady) {
        (void)cudaGetLastError(); /* not an error: clears CUDA's last error */
    }
    return error;
}

/* Detects a device failure while a batch is late: a failed device frees no slots, so no further
 * batch arrives and no other call would notice. */
static sluice_status cuda_poll_device(batch_lender *lender)
{
    cuda_lender *l = lender_of(lender);
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
        st = keep_error(l, fail_cuda(l, error, "a gather"));
    } else if (error == cudaSuccess && !all_gathered(l)) {
        st = keep_error(l, fail_for_slot(l));
    }
    sli_cuda_leave(l->device);
    return st;
}

/* ---- making ---------------------------------------------------------------------------------- */

static sluice_status allocate_memory(cuda_lender *l)
{
    sluice_device *device = l->data->config.device;
    sluice_status st = shared_memory_open(device, sizeof(*l->shared), &l->memory);
    void *block = NULL;

    if (st != SLUICE_OK) {
        return st;
    }
    l->shared = (shared_part *)(void *)l->memory.host;
    l->shared->command.steps = 1; /* each launch is one batch */
    l->shared->command.spin_ns = (uint64_t)device->caps.spin_ns;
    sli_getnext_state_init(&l->shared->initial);
    st = sli_device_alloc(device, sizeof(*l->state), &block);
    l->state = block;
    return st;
}

/* Fills in the gather launch of each set. Call after l->getnext is filled in. */
static sluice_status describe_sets(cuda_lender *l)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < l->set_count && st == SLUICE_OK; i++) {
        lender_set *set = &l->sets[i];

        set->released = true; /* a new set has no readers */
        st = sli_queue_gather(l->data->queue, i, &set->gather);
        if (st == SLUICE_OK) {
            sli_getnext_gather_launch(&l->getnext, &set->gather, &set->launch);
        }
    }
    return st;
}

static sluice_status describe_kernels(cuda_lender *l)
{
    sli_getnext *g = &l->getnext;

    sli_queue_getnext(l->data->queue, g);
    g->state = l->state;
    g->command = shared_memory_address(&l->memory, &l->shared->command);
    g->report = shared_memory_address(&l->memory, &l->shared->report);
    g->stop = shared_memory_address(&l->memory, &l->shared->stop);
    g->micro_batches = 1;
    sli_getnext_begin_launch(g, &l->begin);
    sli_getnext_next_launch(g, &l->next);
    return describe_sets(l);
}

static cudaError_t create_event(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventBlockingSync | cudaEventDisableTiming);
}

static sluice_status load_kernels(cuda_lender *l)
{
    uint32_t multiprocessors = 0;
    sluice_status st = step_graph_count_multiprocessors(l->device, &multiprocessors);

    if (st == SLUICE_OK) {
        st = step_graph_load_kernel(&l->begin, multiprocessors);
    }
    for (uint32_t i = 0; i < l->set_count && st == SLUICE_OK; i++) {
        st = step_graph_load_kernel(&l->sets[i].launch, multiprocessors);
    }
    return st == SLUICE_OK ? step_graph_load_kernel(&l->next, multiprocessors) : st;
}

/* Creates all streams and events and loads all kernels now, since creating them later could
 * synchronize with the device. The device's context must be current. */
static sluice_status make_handles(cuda_lender *l)
{
    cudaError_t error = cudaStreamCreateWithFlags(&l->own, cudaStreamNonBlocking);
    sluice_status st;

    if (error == cudaSuccess) {
        error = create_event(&l->event);
    }
    for (uint32_t i = 0; i < l->set_count && error == cudaSuccess; i++) {
        error = create_event(&l->sets[i].readers);
    }
    if (error != cudaSuccess) {
        return fail_cuda(l, error, "the stream of a channel");
    }
    st = describe_kernels(l);
    return st == SLUICE_OK ? load_kernels(l) : st;
}

static sluice_status begin_state(cuda_lender *l)
{
    cudaError_t error = cudaMemcpyAsync(l->state, &l->shared->initial, sizeof(*l->state),
                                        cudaMemcpyHostToDevice, l->own);

    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(l->own);
    }
    return error == cudaSuccess ? SLUICE_OK : fail_cuda(l, error, "the state of a channel");
}

static sluice_status open_lender(cuda_lender *l)
{
    sluice_status st = allocate_memory(l);

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
    if (st == SLUICE_OK) {
        st = lender_maps_open(&l->maps, l->data);
    }
    sli_cuda_leave(l->device);
    return st;
}

/* Waits for the library's last kernel and for the readers of all released batches. */
static void wait_for_last(const cuda_lender *l, bool entered)
{
    cudaError_t error = l->given > 0 ? call_relaxed(l->event, cudaEventSynchronize) : cudaSuccess;

    for (uint32_t i = 0; i < l->set_count && error == cudaSuccess; i++) {
        if (l->sets[i].recorded) {
            error = call_relaxed(l->sets[i].readers, cudaEventSynchronize);
        }
    }
    if (error != cudaSuccess) {
        sli_cuda_warn(error, "cudaEventSynchronize");
        if (entered) {
            sli_cuda_warn(step_capture_synchronize(), "cudaDeviceSynchronize");
        }
    }
}

static void destroy_events(cuda_lender *l)
{
    if (l->event != NULL) {
        sli_cuda_warn(cudaEventDestroy(l->event), "cudaEventDestroy");
    }
    for (uint32_t i = 0; i < l->set_count; i++) {
        if (l->sets[i].readers != NULL) {
            sli_cuda_warn(cudaEventDestroy(l->sets[i].readers), "cudaEventDestroy");
        }
    }
}

static void cuda_destroy(batch_lender *lender)
{
    cuda_lender *l = lender_of(lender);
    bool entered;

    if (l == NULL) {
        return;
    }
    entered = sli_cuda_enter(l->device) == SLUICE_OK;
    wait_for_last(l, entered);
    destroy_events(l);
    if (l->own != NULL) {
        sli_cuda_warn(cudaStreamSynchronize(l->own), "cudaStreamSynchronize");
        sli_cuda_warn(cudaStreamDestroy(l->own), "cudaStreamDestroy");
    }
    if (entered) {
        sli_cuda_leave(l->device);
    }
    lender_maps_close(&l->maps);
    sli_device_free(l->data->config.device, l->state, sizeof(*l->state));
    shared_memory_close(&l->memory);
    sli_free(l->sets);
    sli_free(l);
}

static sluice_status cuda_create(const data_feed *data, batch_lender **lender_out)
{
    cuda_lender *l = sli_calloc(1, sizeof(*l));
    sluice_status st;

    if (l == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a channel");
    }
    l->base.ops = &cuda_lender_ops;
    l->data = data;
    l->device = data->config.device->state;
    l->sets = sli_calloc(data->held, sizeof(*l->sets));
    l->set_count = l->sets != NULL ? data->held : 0;
    st = l->sets != NULL ? open_lender(l) : sli_fail(SLUICE_E_NO_MEMORY, "a channel");
    if (st != SLUICE_OK) {
        cuda_destroy(&l->base);
        return st;
    }
    *lender_out = &l->base;
    return SLUICE_OK;
}

const lender_ops cuda_lender_ops = {
    .create = cuda_create,
    .destroy = cuda_destroy,
    .check = cuda_check,
    .lend = cuda_lend,
    .release = cuda_release,
    .free_slot = cuda_free_slot,
    .discard = cuda_discard,
    .poll_device = cuda_poll_device,
};
