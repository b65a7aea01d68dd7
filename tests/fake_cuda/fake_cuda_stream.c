/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's streams: a thread for each, or one a device, which does what is in its list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_work.h"

typedef struct stream_op {
    struct stream_op *next;
    cudaStream_t stream;
    fake_work work;
} stream_op;

struct fake_worker {
    pthread_t thread;
    stream_op *first;
    stream_op *end;
    uint64_t streams;
    bool stop;
};

cudaStream_t fake_streams;

static fake_worker *shared[FAKE_DEVICES]; /* where streams share a thread */
static bool least_concurrency;
static bool defaults_allowed;
static int64_t copies_given;
static int64_t waiting; /* streams, for an event */

void fake_streams_start(void)
{
    least_concurrency = false;
    defaults_allowed = false;
    copies_given = 0;
}

void fake_cuda_allow_default_streams(bool allow)
{
    pthread_mutex_lock(&fake_lock);
    defaults_allowed = allow;
    pthread_mutex_unlock(&fake_lock);
}

int64_t fake_cuda_waits(void)
{
    int64_t waits;

    pthread_mutex_lock(&fake_lock);
    waits = waiting;
    pthread_mutex_unlock(&fake_lock);
    return waits;
}

void fake_cuda_least_concurrency(bool least)
{
    pthread_mutex_lock(&fake_lock);
    least_concurrency = least;
    pthread_mutex_unlock(&fake_lock);
}

/* ---- the device's side ----------------------------------------------------------------------- */

static void wait_for_event(const fake_work *work)
{
    waiting++;
    while (work->event->done < work->record) {
        pthread_cond_wait(&fake_changed, &fake_lock);
    }
    waiting--;
}

void fake_do(CUcontext context, fake_work *work)
{
    switch (work->kind) {
    case FAKE_COPY:
    case FAKE_SET:
    case FAKE_WORD:
        fake_do_transfer(context, work);
        break;
    case FAKE_RECORD:
        work->event->done = work->record;
        work->event->done_ns = fake_now_ns();
        break;
    case FAKE_WAIT:
        wait_for_event(work);
        break;
    case FAKE_GRAPH:
        fake_do_graph(context, work);
        break;
    default:
        if (context->broken != cudaSuccess) {
            break; /* nothing more runs there */
        }
        if (work->kind == FAKE_KERNEL) {
            fake_do_kernel(context, work->kernel);
        } else if (work->kind == FAKE_HOST) {
            pthread_mutex_unlock(&fake_lock);
            work->call(work->arg);
            pthread_mutex_lock(&fake_lock);
        } else {
            fake_do_memory(work);
        }
        break;
    }
}

static bool is_sink(const fake_work *work)
{
    return work->kind == FAKE_KERNEL || work->kind == FAKE_GRAPH;
}

static void do_op(stream_op *op)
{
    CUcontext context = op->stream->context;

    fake_do(context, &op->work);
    context->sinks -= is_sink(&op->work);
    if (op->work.kind == FAKE_WAIT) {
        fake_event_unwait(op->work.event);
    }
}

static void *worker_main(void *arg)
{
    fake_worker *worker = arg;

    pthread_mutex_lock(&fake_lock);
    for (;;) {
        stream_op *op = worker->first;

        if (op == NULL && worker->stop) {
            break;
        }
        if (op == NULL || (fake_feeds(&op->work) && fake_copies_held(op->work.number))) {
            pthread_cond_wait(&fake_changed, &fake_lock);
            continue;
        }
        do_op(op);
        worker->first = op->next;
        op->stream->pending--;
        fake_work_free(&op->work);
        free(op);
        pthread_cond_broadcast(&fake_changed);
    }
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

/* ---- the host's side ------------------------------------------------------------------------- */

void fake_submit(cudaStream_t stream, fake_work *work)
{
    fake_worker *worker = stream->worker;
    stream_op *op = calloc(1, sizeof(*op));

    if (op == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return;
    }
    if (stream->blocking) {
        fake_forbidden("work in a stream that waits for the legacy default stream");
    }
    op->stream = stream;
    op->work = *work;
    op->work.number = fake_feeds(work) ? copies_given++ : -1;
    if (worker->first == NULL) {
        worker->first = op;
    } else {
        worker->end->next = op;
    }
    worker->end = op;
    stream->pending++;
    stream->context->sinks += is_sink(work);
    if (work->kind == FAKE_WAIT) {
        work->event->waits++;
    }
    pthread_cond_broadcast(&fake_changed);
}

/* ---- the default streams --------------------------------------------------------------------- */

bool fake_is_legacy(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy;
}

bool fake_is_default(cudaStream_t stream)
{
    return fake_is_legacy(stream) || stream == cudaStreamPerThread;
}

/* May the stream be used now? The thread's does not know of captures in other streams. */
static cudaError_t enter_default(const char *call, cudaStream_t stream)
{
    const CUcontext context = fake_context(call);
    const cudaError_t error =
        fake_is_legacy(stream) ? fake_capture_refuses_legacy(true) : cudaSuccess;

    if (error == cudaSuccess && !defaults_allowed) {
        fake_forbidden("the default stream");
    }
    return error != cudaSuccess ? error : context->broken;
}

/* In the caller, behind nothing: there is no work in a blocking stream to wait for. */
static cudaError_t do_now(const char *call, fake_work *work)
{
    const CUcontext context = fake_context(call);
    cudaError_t error = fake_has_places(work) ? fake_pin(context, work) : cudaSuccess;

    if (error == cudaSuccess) {
        if (work->kind == FAKE_KERNEL) {
            fake_load(call, work->kernel->kernel);
        }
        fake_do(context, work);
    }
    fake_work_free(work);
    return error;
}

static cudaError_t give_default(const char *call, cudaStream_t stream, fake_work *work,
                                cudaError_t error)
{
    const cudaError_t entered = enter_default(call, stream);

    error = error != cudaSuccess ? error : entered;
    if (error == cudaSuccess) {
        return do_now(call, work);
    }
    fake_work_free(work);
    return error;
}

/* What a wait for the stream, or a query, answers: nothing is under way there. */
static cudaError_t ask_default(const char *call, cudaStream_t stream, cudaError_t error)
{
    cudaError_t entered;

    pthread_mutex_lock(&fake_lock);
    entered = enter_default(call, stream);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error != cudaSuccess ? error : entered);
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Whether the thread has the stream's device. */
cudaError_t fake_enter_stream(const char *call, cudaStream_t stream)
{
    if (fake_is_default(stream)) {
        const cudaError_t error = enter_default(call, stream);

        if (error == cudaSuccess) {
            fprintf(stderr, "fake CUDA: %s: the fake has not that of a default stream\n", call);
            abort();
        }
        return error;
    }
    if (fake_context(call) != stream->context) {
        fake_forbidden("a stream of another device than the thread's");
    }
    return stream->context->broken;
}

cudaError_t fake_give(const char *call, cudaStream_t stream, fake_work *work, cudaError_t error)
{
    cudaError_t entered;

    if (fake_is_default(stream)) {
        return give_default(call, stream, work, error);
    }
    entered = fake_enter_stream(call, stream);
    error = error != cudaSuccess ? error : entered;
    if (error == cudaSuccess && fake_has_places(work)) {
        error = fake_pin(stream->context, work);
    }
    if (error != cudaSuccess) {
        fake_work_free(work);
        return error;
    }
    if (stream->capture != NULL) {
        fake_unpin(work);
        return fake_capture_add(stream, work, NULL);
    }
    if (work->kind == FAKE_KERNEL) {
        fake_load(call, work->kernel->kernel);
    }
    fake_submit(stream, work);
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t call, void *arg)
{
    cudaError_t error = fake_call();
    fake_work work = {.kind = FAKE_HOST, .call = call, .arg = arg};

    pthread_mutex_lock(&fake_lock);
    error = fake_give(__func__, stream, &work, error);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* A thread for a stream of that device. */
static fake_worker *worker_for(int device)
{
    fake_worker *worker = least_concurrency ? shared[device] : NULL;

    if (worker == NULL) {
        worker = calloc(1, sizeof(*worker));
        if (worker == NULL || pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            fake_forbidden("the machine has no thread for the fake");
            return NULL;
        }
        if (least_concurrency) {
            shared[device] = worker;
        }
    }
    worker->streams++;
    return worker;
}

static cudaError_t create_stream(cudaStream_t *stream_out, unsigned int flags, int priority,
                                 cudaError_t error)
{
    CUcontext context;
    cudaStream_t stream;

    pthread_mutex_lock(&fake_lock);
    context = fake_context("cudaStreamCreateWithFlags");
    error = error != cudaSuccess ? error : context->broken;
    if (error == cudaSuccess && flags != cudaStreamNonBlocking && flags != cudaStreamDefault) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        stream = calloc(1, sizeof(*stream));
        if (stream == NULL) {
            fake_forbidden("the machine has no memory for the fake");
        }
        stream->context = context;
        stream->blocking = flags == cudaStreamDefault;
        stream->priority = priority > 0 ? 0 : priority < FAKE_HIGHEST ? FAKE_HIGHEST : priority;
        stream->worker = worker_for(context->device);
        stream->next = fake_streams;
        fake_streams = stream;
        fake_live.streams++;
        *stream_out = stream;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream_out, unsigned int flags)
{
    return create_stream(stream_out, flags, 0, fake_call());
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream_out, unsigned int flags, int priority)
{
    return create_stream(stream_out, flags, priority, fake_call());
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *lowest, int *highest)
{
    const cudaError_t error = fake_call();

    if (error == cudaSuccess) {
        *lowest = 0;
        *highest = FAKE_HIGHEST;
    }
    return fake_answer(error);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    const cudaError_t error = fake_call();

    if (error == cudaSuccess) {
        *priority = stream->priority;
    }
    return fake_answer(error);
}

CUresult fake_stream_context(CUstream stream, CUcontext *context)
{
    const cudaError_t error = fake_call_of("cuStreamGetCtx");

    pthread_mutex_lock(&fake_lock);
    if (fake_is_default(stream)) {
        fake_forbidden("cuStreamGetCtx: the fake has not that of a default stream");
    }
    if (error == cudaSuccess) {
        *context = stream->context;
    }
    pthread_mutex_unlock(&fake_lock);
    return (CUresult)error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = fake_call();

    if (fake_is_default(stream)) {
        return ask_default(__func__, stream, error);
    }
    pthread_mutex_lock(&fake_lock);
    if (error == cudaSuccess && stream->capture != NULL) {
        error = fake_capture_spoil(stream, cudaErrorStreamCaptureUnsupported);
    }
    while (stream->pending > 0) {
        pthread_cond_wait(&fake_changed, &fake_lock);
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = fake_query();

    if (fake_is_default(stream)) {
        return ask_default(__func__, stream, error);
    }
    pthread_mutex_lock(&fake_lock);
    if (error == cudaSuccess && stream->capture != NULL) {
        error = fake_capture_spoil(stream, cudaErrorStreamCaptureUnsupported);
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    error = error == cudaSuccess && stream->pending > 0 ? cudaErrorNotReady : error;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error); /* NotReady is kept as the last error, too */
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = fake_call();
    CUcontext context;
    cudaStream_t stream;

    pthread_mutex_lock(&fake_lock);
    context = fake_context(__func__);
    stream = fake_streams;
    while (stream != NULL) {
        if (stream->context == context && stream->pending > 0) {
            pthread_cond_wait(&fake_changed, &fake_lock);
            stream = fake_streams; /* others may have come and gone */
        } else {
            stream = stream->next;
        }
    }
    error = error != cudaSuccess ? error : context->broken;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

static void remove_stream(cudaStream_t stream)
{
    cudaStream_t *link = &fake_streams;

    while (*link != stream) {
        link = &(*link)->next;
    }
    *link = stream->next;
    fake_live.streams--;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = fake_call();
    fake_worker *worker;

    pthread_mutex_lock(&fake_lock);
    if (stream->pending > 0) {
        fake_forbidden("cudaStreamDestroy does not wait: host memory may still be read");
    }
    if (stream->capture != NULL) {
        fake_forbidden("cudaStreamDestroy: the stream captures");
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    remove_stream(stream);
    worker = stream->worker;
    worker->stop = --worker->streams == 0;
    if (worker->stop && shared[stream->context->device] == worker) {
        shared[stream->context->device] = NULL;
    }
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    if (worker->streams == 0) {
        pthread_join(worker->thread, NULL);
        free(worker);
    }
    free(stream);
    return fake_answer(error);
}
