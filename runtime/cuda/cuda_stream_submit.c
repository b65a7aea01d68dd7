/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submission of work to the CUDA streams of a stream: copies, words in device memory, launches; and
 * ordering with other streams.
 */
#include "cuda_stream.h"

#include "cuda_error_int.h"
#include "status_int.h"

/* Work for the CUDA stream itself; one of a copy, a publish, or other work. */
typedef struct device_job {
    void *to; /* copy: destination; the next two: source and size */
    const void *from;
    size_t bytes;
    uint64_t *words; /* publish: the words; the next two: values and count */
    const uint64_t *values;
    uint32_t count;
    sluice_status (*enqueue)(void *arg); /* other work: submits it; else NULL */
    void *arg;
} device_job;

/*
 * Switches later copies to the other CUDA stream, so that they run in parallel with the pending
 * copies. Switches only if words are stored after the pending copies and an event is recorded after
 * these words, since the next words wait for that event; and only if the pending copies are not
 * done yet.
 */
static void alternate_streams(cuda_stream *stream)
{
    if (stream->handles.count > 1 && stream->published && !stream->has_copies &&
        !cuda_stream_is_reached(stream, stream->records)) {
        stream_handles_alternate(&stream->handles);
        stream->ordered_behind = stream->records;
        stream->published = false;
    }
}

/* Keeps words in order: later words wait for the words in the other CUDA stream. */
static sluice_status keep_order(cuda_stream *stream)
{
    const uint64_t behind = stream->ordered_behind;

    stream->ordered_behind = 0;
    if (behind == 0) {
        return SLUICE_OK;
    }
    return stream_handles_wait(&stream->handles, cuda_stream_event(stream, behind));
}

/* Submits the job; the context is current. */
static sluice_status submit_job(cuda_stream *stream, const device_job *job)
{
    sluice_status st;

    if (job->enqueue != NULL) {
        return job->enqueue(job->arg);
    }
    if (job->words == NULL) {
        alternate_streams(stream);
        return stream_handles_copy(&stream->handles, job->to, job->from, job->bytes);
    }
    st = keep_order(stream);
    if (st == SLUICE_OK) {
        st = stream_handles_store(&stream->handles, job->words, job->values, job->count);
        stream->published = true;
    }
    return st;
}

/* Submits work to the CUDA stream. After an error in the stream work is skipped: a copy returns OK,
 * all other work returns the error, since the device may never see it. */
static sluice_status submit_to_device(cuda_stream *stream, const device_job *job)
{
    sluice_status st = cuda_stream_begin_submit(stream, true, INT64_MAX);

    if (cuda_stream_has_failed(stream, stream->given)) {
        cuda_stream_end_submit(stream);
        return job->to != NULL ? SLUICE_OK : cuda_stream_status(stream);
    }
    st = sli_cuda_enter(stream->device);
    if (st == SLUICE_OK) {
        st = submit_job(stream, job);
        sli_cuda_leave(stream->device);
    }
    if (st == SLUICE_OK) {
        stream->has_copies = true;
    } else {
        cuda_stream_keep_error(stream, stream->given, st);
    }
    cuda_stream_end_submit(stream);
    return st;
}

sluice_status cuda_stream_copy(void *handle, void *to, const void *from, size_t bytes)
{
    return submit_to_device(handle, &(device_job){.to = to, .from = from, .bytes = bytes});
}

sluice_status cuda_stream_publish(void *handle, uint64_t *words, const uint64_t *values,
                                  uint32_t count)
{
    return submit_to_device(handle,
                            &(device_job){.words = words, .values = values, .count = count});
}

sluice_status sli_cuda_stream_enqueue(void *handle, sluice_status (*enqueue)(void *arg), void *arg)
{
    return submit_to_device(handle, &(device_job){.enqueue = enqueue, .arg = arg});
}

/* ---- order with other streams ---------------------------------------------------------------- */

/* A mark is the number of the last recorded event. */
sluice_status cuda_stream_mark(void *handle, uint64_t *mark_out)
{
    cuda_stream *stream = handle;
    sluice_status st = cuda_stream_begin_submit(stream, false, INT64_MAX);

    if (st == SLUICE_OK && stream->has_copies) {
        st = cuda_stream_put_job(stream, stream->given, (stream_job){.kind = JOB_MARK});
    }
    *mark_out = stream->records;
    cuda_stream_end_submit(stream);
    return st;
}

/*
 * The event may have been recorded again after later copies. Waiting for these, too, keeps the
 * order and cannot deadlock: work in the CUDA streams of copies does not wait for steps.
 */
sluice_status cuda_stream_order(void *handle, uint64_t mark, void *native)
{
    cuda_stream *stream = handle;
    cudaError_t error;
    sluice_status st;

    if (cuda_stream_is_reached(stream, mark)) {
        return SLUICE_OK;
    }
    st = sli_cuda_enter(stream->device);
    if (st != SLUICE_OK) {
        return st;
    }
    error = cudaStreamWaitEvent(native, cuda_stream_event(stream, mark), 0);
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "device cuda:%u: cudaStreamWaitEvent", stream->device->ordinal);
    }
    sli_cuda_leave(stream->device);
    return st;
}
