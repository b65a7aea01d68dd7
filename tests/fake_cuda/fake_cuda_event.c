/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's events. */
#include <stdlib.h>
#include <time.h>

#include "fake_cuda_work.h"

int64_t fake_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static cudaError_t create_event(cudaEvent_t *event_out, unsigned int flags, cudaError_t error)
{
    CUcontext context;
    cudaEvent_t event;

    pthread_mutex_lock(&fake_lock);
    context = fake_context("cudaEventCreateWithFlags");
    error = error != cudaSuccess ? error : context->broken;
    if (error == cudaSuccess) {
        event = calloc(1, sizeof(*event));
        if (event == NULL) {
            fake_forbidden("the machine has no memory for the fake");
        }
        event->context = context;
        event->flags = flags;
        fake_live.events++;
        *event_out = event;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event_out, unsigned int flags)
{
    return create_event(event_out, flags, fake_call());
}

cudaError_t cudaEventCreate(cudaEvent_t *event_out)
{
    return create_event(event_out, cudaEventDefault, fake_call());
}

static cudaError_t record(cudaEvent_t event, cudaStream_t stream, bool external, cudaError_t error)
{
    fake_work work = {.kind = FAKE_RECORD, .event = event};
    const cudaError_t entered = fake_enter_stream("cudaEventRecord", &stream);

    error = error != cudaSuccess ? error : entered;
    if (event->context != stream->context) {
        fake_forbidden("cudaEventRecord: the event is another device's");
    }
    error = error != cudaSuccess ? error : fake_record_fails();
    if (error != cudaSuccess) {
        return error;
    }
    if (stream->capture == NULL) {
        if (external) {
            return cudaErrorInvalidValue;
        }
        event->capture = 0;
        work.record = ++event->recorded;
        fake_submit(stream, &work);
        return cudaSuccess;
    }
    if (external) {
        return fake_capture_add(stream, &work, NULL);
    }
    return fake_capture_record(stream, event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    error = record(event, stream, false, error);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    error = record(event, stream, (flags & cudaEventRecordExternal) != 0, error);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

static cudaError_t wait(cudaStream_t stream, cudaEvent_t event, bool external)
{
    fake_work work = {.kind = FAKE_WAIT, .event = event, .record = event->recorded};

    if (stream->capture != NULL && external) {
        return fake_capture_add(stream, &work, NULL);
    }
    if (external) {
        return cudaErrorInvalidValue;
    }
    if (stream->capture != NULL || event->capture != 0) {
        return fake_capture_wait(stream, event);
    }
    fake_submit(stream, &work);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    cudaError_t error = fake_call();
    cudaError_t entered;

    pthread_mutex_lock(&fake_lock);
    entered = fake_enter_stream(__func__, &stream);
    error = error != cudaSuccess ? error : entered;
    if (error == cudaSuccess) {
        error = wait(stream, event, (flags & cudaEventWaitExternal) != 0);
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if ((event->flags & cudaEventBlockingSync) == 0) {
        fake_forbidden("cudaEventSynchronize burns a processor without cudaEventBlockingSync");
    }
    error = error != cudaSuccess ? error : fake_captured_event(event);
    while (event->done < event->recorded && event->context->broken == cudaSuccess) {
        pthread_cond_wait(&fake_changed, &fake_lock);
    }
    error = error != cudaSuccess ? error : event->context->broken;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t error = fake_query();

    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : fake_captured_event(event);
    error = error != cudaSuccess ? error : event->context->broken;
    if (error == cudaSuccess && event->done < event->recorded) {
        error = cudaErrorNotReady;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error); /* NotReady is kept as the last error, too */
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : start->context->broken;
    if (error == cudaSuccess && (((start->flags | end->flags) & cudaEventDisableTiming) != 0 ||
                                 start->recorded == 0 || end->recorded == 0)) {
        error = cudaErrorInvalidResourceHandle;
    }
    if (error == cudaSuccess && (start->done < start->recorded || end->done < end->recorded)) {
        error = cudaErrorNotReady;
    }
    if (error == cudaSuccess) {
        *ms = (float)((double)(end->done_ns - start->done_ns) / 1e6);
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

static void free_unless_awaited(cudaEvent_t event)
{
    if (event->destroyed && event->waits == 0 && event->done == event->recorded) {
        fake_nodes_clear(&event->ends);
        free(event);
    }
}

void fake_event_unwait(cudaEvent_t event)
{
    event->waits--;
    free_unless_awaited(event);
}

void fake_event_record(const fake_work *work)
{
    work->event->done = work->record;
    work->event->done_ns = fake_now_ns();
    free_unless_awaited(work->event);
}

/* It may still be recorded, and streams may wait for it. */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : event->context->broken;
    fake_live.events--;
    event->destroyed = true;
    free_unless_awaited(event);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}
