/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's streams: a thread for each, or one a device, which does what is in its list. */
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

void fake_streams_start(void)
{
    least_concurrency = false;
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
    while (work->event->done < work->record) {
        pthread_cond_wait(&fake_changed, &fake_lock);
    }
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
        op->work.event->waits--;
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
        if (op == NULL || (fake_feeds(&op->work) && fake_copies_held())) {
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
    op->stream = stream;
    op->work = *work;
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

static bool is_default(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

/* Whether the thread has the stream's device, and no stream that waits for all others. */
cudaError_t fake_enter_stream(const char *call, cudaStream_t stream)
{
    if (is_default(stream)) {
        const cudaError_t refused = fake_capture_refuses("the default stream");

        if (refused == cudaSuccess) {
            fake_forbidden("the default stream");
        }
        return cudaErrorStreamCaptureImplicit;
    }
    if (fake_context(call) != stream->context) {
        fake_forbidden("a stream of another device than the thread's");
    }
    return stream->context->broken;
}

cudaError_t fake_give(const char *call, cudaStream_t stream, fake_work *work, cudaError_t error)
{
    const cudaError_t entered = fake_enter_stream(call, stream);

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

static cudaError_t create_stream(cudaStream_t *stream_out, unsigned int flags, cudaError_t error)
{
    CUcontext context;
    cudaStream_t stream;

    if (flags != cudaStreamNonBlocking) {
        fake_forbidden("a stream that waits for the legacy default stream");
    }
    pthread_mutex_lock(&fake_lock);
    context = fake_context("cudaStreamCreateWithFlags");
    error = error != cudaSuccess ? error : context->broken;
    if (error == cudaSuccess) {
        stream = calloc(1, sizeof(*stream));
        if (stream == NULL) {
            fake_forbidden("the machine has no memory for the fake");
        }
        stream->context = context;
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
    return create_stream(stream_out, flags, fake_call());
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream_out, unsigned int flags, int priority)
{
    (void)priority;
    return create_stream(stream_out, flags, fake_call());
}

static void check_own(cudaStream_t stream)
{
    if (is_default(stream)) {
        fake_forbidden("the default stream");
    }
}

CUresult fake_stream_context(CUstream stream, CUcontext *context)
{
    const cudaError_t error = fake_call_of("cuStreamGetCtx");

    pthread_mutex_lock(&fake_lock);
    check_own(stream);
    if (error == cudaSuccess) {
        *context = stream->context;
    }
    pthread_mutex_unlock(&fake_lock);
    return (CUresult)error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    check_own(stream);
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
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    check_own(stream);
    if (error == cudaSuccess && stream->capture != NULL) {
        error = fake_capture_spoil(stream, cudaErrorStreamCaptureUnsupported);
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    error = error == cudaSuccess && stream->pending > 0 ? cudaErrorNotReady : error;
    pthread_mutex_unlock(&fake_lock);
    return error == cudaErrorNotReady ? error : fake_answer(error);
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
