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
static uint64_t ids;
static int64_t copies_given;
static int64_t waiting; /* streams, for an event */

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
        fake_event_record(work);
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

/* Puts work in behind all that the stream has. */
static void append(cudaStream_t stream, fake_work *work)
{
    fake_worker *worker = stream->worker;
    stream_op *op = calloc(1, sizeof(*op));

    if (op == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return;
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

void fake_submit(cudaStream_t stream, fake_work *work)
{
    if (stream->blocking && !fake_users_calls()) {
        fake_forbidden("work in a stream that waits for the legacy default stream");
    }
    fake_order_legacy(stream);
    append(stream, work);
}

void fake_order_behind(cudaStream_t stream, cudaStream_t first)
{
    cudaEvent_t event = first->pending > 0 ? calloc(1, sizeof(*event)) : NULL;
    fake_work work = {.kind = FAKE_RECORD, .event = event, .record = 1};

    if (event == NULL) {
        return;
    }
    event->context = stream->context;
    event->recorded = 1;
    append(first, &work);
    work.kind = FAKE_WAIT;
    append(stream, &work);
    event->destroyed = true; /* once that has been waited for */
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Whether the thread has the stream's device. */
cudaError_t fake_enter_stream(const char *call, cudaStream_t *stream)
{
    cudaError_t error = cudaSuccess;

    fake_resolve(call, stream);
    if (fake_is_legacy(*stream)) {
        error = fake_capture_refuses_legacy(true);
    }
    if (fake_context(call) != (*stream)->context) {
        fake_forbidden("a stream of another device than the thread's");
    }
    if ((*stream)->destroyed) {
        fake_forbidden("a stream that was destroyed");
    }
    return error != cudaSuccess ? error : (*stream)->context->broken;
}

cudaError_t fake_give(const char *call, cudaStream_t stream, fake_work *work, cudaError_t error)
{
    const cudaError_t entered = fake_enter_stream(call, &stream);

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

cudaStream_t fake_stream_new(CUcontext context, bool blocking, int priority)
{
    cudaStream_t stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return NULL;
    }
    stream->context = context;
    stream->id = ++ids;
    stream->blocking = blocking;
    stream->priority = priority > 0 ? 0 : priority < FAKE_HIGHEST ? FAKE_HIGHEST : priority;
    stream->worker = worker_for(context->device);
    stream->next = fake_streams;
    fake_streams = stream;
    return stream;
}

static cudaError_t create_stream(cudaStream_t *stream_out, unsigned int flags, int priority,
                                 cudaError_t error)
{
    CUcontext context;

    pthread_mutex_lock(&fake_lock);
    context = fake_context("cudaStreamCreateWithFlags");
    error = error != cudaSuccess ? error : context->broken;
    if (error == cudaSuccess && flags != cudaStreamNonBlocking && flags != cudaStreamDefault) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        fake_live.streams++;
        *stream_out = fake_stream_new(context, flags == cudaStreamDefault, priority);
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

/* Of a green context's stream: which knows no other answer. */
CUresult fake_stream_context(CUstream stream, CUcontext *context)
{
    cudaError_t error = fake_call_of("cuStreamGetCtx");

    pthread_mutex_lock(&fake_lock);
    fake_resolve("cuStreamGetCtx", &stream);
    if (error == cudaSuccess && stream->green != NULL) {
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess) {
        *context = stream->context;
    }
    pthread_mutex_unlock(&fake_lock);
    return (CUresult)error;
}

CUresult fake_stream_contexts(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
    cudaError_t error = fake_call_of("cuStreamGetCtx");

    pthread_mutex_lock(&fake_lock);
    fake_resolve("cuStreamGetCtx", &stream);
    if (error == cudaSuccess) {
        *context = stream->context;
        *green = stream->green;
    }
    pthread_mutex_unlock(&fake_lock);
    return (CUresult)error;
}

void fake_cuda_make_green(cudaStream_t stream)
{
    pthread_mutex_lock(&fake_lock);
    stream->green = (CUgreenCtx)(void *)stream; /* any that is not NULL */
    pthread_mutex_unlock(&fake_lock);
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    fake_resolve(__func__, &stream);
    if (error == cudaSuccess) {
        *id = stream->id;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* For what may be called from another device than the stream's. */
static cudaError_t enter_waiting(const char *call, cudaStream_t *stream, cudaError_t error)
{
    fake_resolve(call, stream);
    return error == cudaSuccess && fake_is_legacy(*stream) ? fake_capture_refuses_legacy(true)
                                                           : error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    error = enter_waiting(__func__, &stream, error);
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

    pthread_mutex_lock(&fake_lock);
    error = enter_waiting(__func__, &stream, error);
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

/* Ends a stream without work; gives up the lock meanwhile. */
static void end_stream(cudaStream_t stream)
{
    cudaStream_t *link = &fake_streams;
    fake_worker *worker = stream->worker;

    while (*link != stream) {
        link = &(*link)->next;
    }
    *link = stream->next;
    worker->stop = --worker->streams == 0;
    if (worker->stop) {
        if (shared[stream->context->device] == worker) {
            shared[stream->context->device] = NULL;
        }
        pthread_cond_broadcast(&fake_changed);
        pthread_mutex_unlock(&fake_lock);
        pthread_join(worker->thread, NULL);
        pthread_mutex_lock(&fake_lock);
        free(worker);
    }
    free(stream);
}

void fake_streams_start(void)
{
    cudaStream_t stream;

    pthread_mutex_lock(&fake_lock);
    stream = fake_streams;
    while (stream != NULL) {
        if (!stream->destroyed && !stream->is_default) {
            stream = stream->next;
            continue;
        }
        while (stream->pending > 0) {
            pthread_cond_wait(&fake_changed, &fake_lock);
        }
        end_stream(stream);
        stream = fake_streams;
    }
    least_concurrency = false;
    copies_given = 0;
    fake_defaults_start();
    pthread_mutex_unlock(&fake_lock);
}

/* Does not wait. The library must, since host memory may still be read; a user need not. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (stream->pending > 0 && !fake_users_calls()) {
        fake_forbidden("cudaStreamDestroy does not wait: host memory may still be read");
    }
    if (stream->capture != NULL || stream->is_default || stream->destroyed) {
        fake_forbidden("cudaStreamDestroy: the stream captures, is a default one, or is no more");
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    fake_live.streams--;
    stream->destroyed = true;
    if (stream->pending == 0) {
        end_stream(stream);
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}
