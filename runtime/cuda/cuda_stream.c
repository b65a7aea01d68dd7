/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of a CUDA device: one or two CUDA streams, into which callers submit copies directly,
 * and a thread for the host work that follows copies. A job of the thread stores a word or calls a
 * function. If copies were submitted before the job, an event is recorded after them, and the
 * thread waits for the event first. So copies run back to back, independent of pending host work: a
 * word is stored when the copies before it are done, while later copies may be in flight. A copy
 * after a call waits for the call, in the calling thread.
 *
 * A thread that waits for the device polls before it blocks: the stream's thread polls the event of
 * its job, and a caller of cuda_stream_wait() the CUDA stream, unless jobs are pending.
 *
 * The number of the job that failed is stored with the error: earlier jobs are done, later ones are
 * skipped.
 */
#define _GNU_SOURCE
#include "cuda_stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "cuda_error_int.h"
#include "cuda_poll.h"
#include "log_int.h"
#include "status_int.h"

/* ---- errors ---------------------------------------------------------------------------------- */

void cuda_stream_keep_error(cuda_stream *stream, uint64_t job_number, sluice_status status)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->error.status == SLUICE_OK || job_number < stream->error_at) {
        sli_error_take(status, &stream->error);
        stream->error_at = job_number;
    }
    pthread_mutex_unlock(&stream->lock);
}

bool cuda_stream_has_failed(cuda_stream *stream, uint64_t job_number)
{
    bool failed;

    pthread_mutex_lock(&stream->lock);
    failed = stream->error.status != SLUICE_OK && stream->error_at <= job_number;
    pthread_mutex_unlock(&stream->lock);
    return failed;
}

/* True if all submitted jobs are finished. */
static bool is_idle(cuda_stream *stream)
{
    bool idle;

    pthread_mutex_lock(&stream->lock);
    idle = stream->done == stream->given;
    pthread_mutex_unlock(&stream->lock);
    return idle;
}

bool cuda_stream_is_reached(cuda_stream *stream, uint64_t record)
{
    bool reached;

    pthread_mutex_lock(&stream->lock);
    reached = stream->records_done >= record;
    pthread_mutex_unlock(&stream->lock);
    return reached;
}

cudaEvent_t cuda_stream_event(const cuda_stream *stream, uint64_t record)
{
    return stream->events[(record - 1) % stream->event_capacity];
}

/* ---- the stream's thread --------------------------------------------------------------------- */

static void count_wake(cuda_stream *stream)
{
    atomic_fetch_add_explicit(&stream->wakes, 1, memory_order_relaxed);
}

/* Waits until the copies before this job are done. */
static void wait_for_copies(cuda_stream *stream, uint64_t job_number, cudaEvent_t event)
{
    cudaError_t error = cuda_poll_event(event, stream->device->poll_ns);

    if (error == cudaErrorNotReady) {
        error = cudaEventSynchronize(event);
        count_wake(stream);
    }
    if (error != cudaSuccess) {
        cuda_stream_keep_error(
            stream, job_number,
            sli_cuda_fail(error, "device cuda:%u: a copy to the device", stream->device->ordinal));
    }
}

static void run_job(cuda_stream *stream, uint64_t job_number, const stream_job *job)
{
    bool failed;

    if (job->event != NULL) {
        wait_for_copies(stream, job_number, job->event);
    }
    failed = cuda_stream_has_failed(stream, job_number);
    if (job->kind == JOB_WRITE) {
        if (!failed && job->word != NULL) {
            /* Pairs with the acquire load of the thread that polls the word: the data is copied. */
            __atomic_store_n(job->word, job->value, __ATOMIC_RELEASE);
        }
        if (job->wake != NULL) {
            sli_event_notify(job->wake);
        }
    } else if (job->kind == JOB_CALL && !failed) {
        job->call(job->arg);
    }
}

/* Wakes the callers in wait_moved(). The lock is held. */
static void wake_callers(cuda_stream *stream)
{
    if (stream->callers_wait > 0) {
        pthread_cond_broadcast(&stream->moved);
    }
}

/* Sleeps until the job with this number is submitted. The lock is held. */
static void await_job(cuda_stream *stream, uint64_t job_number)
{
    while (stream->given == job_number) {
        stream->thread_waits = true;
        pthread_cond_wait(&stream->put, &stream->lock);
        stream->thread_waits = false;
        count_wake(stream);
    }
}

static void stream_main(void *arg)
{
    cuda_stream *stream = arg;
    stream_job job = {.kind = JOB_MARK};
    const sluice_status entered = sli_cuda_enter_thread(stream->device);

    if (entered != SLUICE_OK) {
        cuda_stream_keep_error(stream, 0, entered);
    }
    for (uint64_t job_number = 0; job.kind != JOB_END; job_number++) {
        pthread_mutex_lock(&stream->lock);
        await_job(stream, job_number);
        job = stream->jobs[job_number % stream->job_capacity];
        pthread_mutex_unlock(&stream->lock);

        run_job(stream, job_number, &job);

        pthread_mutex_lock(&stream->lock);
        stream->done++;
        stream->records_done += job.is_record;
        stream->calls_done += job.kind == JOB_CALL;
        wake_callers(stream);
        pthread_mutex_unlock(&stream->lock);
    }
    if (entered == SLUICE_OK) {
        sli_cuda_leave_thread(stream->device);
    }
}

/* ---- submitting ------------------------------------------------------------------------------ */

/* A deadline for wait_moved(); INT64_MAX: no deadline. */
static int64_t deadline_after(int64_t timeout_ns)
{
    const int64_t now = sli_now_ns();

    return timeout_ns < 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

/* Waits on `moved`; the lock is held. False when the deadline has passed. */
static bool wait_moved(cuda_stream *stream, int64_t deadline_ns)
{
    const struct timespec deadline = {.tv_sec = deadline_ns / 1000000000,
                                      .tv_nsec = deadline_ns % 1000000000};
    int error;

    stream->callers_wait++;
    error = deadline_ns == INT64_MAX
                ? pthread_cond_wait(&stream->moved, &stream->lock)
                : pthread_cond_timedwait(&stream->moved, &stream->lock, &deadline);
    stream->callers_wait--;
    if (error == ETIMEDOUT) {
        return false;
    }
    count_wake(stream);
    return true;
}

sluice_status cuda_stream_begin_submit(cuda_stream *stream, bool behind_calls, int64_t deadline_ns)
{
    bool in_time = true;
    bool mine = false;

    pthread_mutex_lock(&stream->lock);
    for (;;) {
        mine = !stream->submitting && stream->given - stream->done < stream->job_capacity &&
               stream->records - stream->records_done < stream->event_capacity &&
               (!behind_calls || stream->calls_given == stream->calls_done);
        if (mine || !in_time) {
            break;
        }
        in_time = wait_moved(stream, deadline_ns);
    }
    stream->submitting = stream->submitting || mine;
    pthread_mutex_unlock(&stream->lock);
    return mine ? SLUICE_OK : SLUICE_TIMEOUT;
}

void cuda_stream_end_submit(cuda_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->submitting = false;
    wake_callers(stream);
    pthread_mutex_unlock(&stream->lock);
}

/* Records the next event after all copies submitted so far. */
static sluice_status record_event(cuda_stream *stream)
{
    sluice_status st = sli_cuda_enter(stream->device);

    if (st != SLUICE_OK) {
        return st;
    }
    st = stream_handles_record(&stream->handles, cuda_stream_event(stream, stream->records + 1));
    sli_cuda_leave(stream->device);
    return st;
}

/* Appends a job. Called between begin_submit and end_submit. */
static void add_job(cuda_stream *stream, uint64_t job_number, const stream_job *job)
{
    pthread_mutex_lock(&stream->lock);
    stream->jobs[job_number % stream->job_capacity] = *job;
    stream->given++;
    stream->records += job->is_record;
    stream->calls_given += job->kind == JOB_CALL;
    if (stream->thread_waits) {
        pthread_cond_signal(&stream->put);
    }
    pthread_mutex_unlock(&stream->lock);
}

sluice_status cuda_stream_put_job(cuda_stream *stream, uint64_t job_number, stream_job job)
{
    sluice_status st = SLUICE_OK;

    if (stream->has_copies) {
        st = record_event(stream);
        if (st != SLUICE_OK) {
            cuda_stream_keep_error(stream, job_number, st);
        }
        job.is_record = st == SLUICE_OK;
        job.event = job.is_record ? cuda_stream_event(stream, stream->records + 1) : NULL;
        stream->has_copies = st != SLUICE_OK; /* on failure the next job or wait retries */
    }
    add_job(stream, job_number, &job);
    return st;
}

static sluice_status submit_job(cuda_stream *stream, stream_job job)
{
    sluice_status st = cuda_stream_begin_submit(stream, false, INT64_MAX);

    if (st == SLUICE_OK) {
        st = cuda_stream_put_job(stream, stream->given, job);
        cuda_stream_end_submit(stream);
    }
    return st;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* Creates the CUDA streams and the events. The context is current. */
static sluice_status make_handles(cuda_stream *stream, const char *name, sli_stream_use use)
{
    sluice_status st = stream_handles_open(&stream->handles, stream->device, name, use);
    cudaError_t error = cudaSuccess;

    if (st != SLUICE_OK) {
        return st;
    }
    while (error == cudaSuccess && stream->event_count < stream->event_capacity) {
        error = cudaEventCreateWithFlags(&stream->events[stream->event_count],
                                         cudaEventBlockingSync | cudaEventDisableTiming);
        stream->event_count += error == cudaSuccess;
    }
    return error == cudaSuccess ? SLUICE_OK
                                : sli_cuda_fail(error, "device cuda:%u: events of stream %s",
                                                stream->device->ordinal, name);
}

static void free_memory(cuda_stream *stream)
{
    sli_free(stream->jobs);
    sli_free(stream->events);
    sli_free(stream);
}

static void free_stream(cuda_stream *stream)
{
    const bool entered = sli_cuda_enter(stream->device) == SLUICE_OK;

    /* No copy may read host memory after the stream is closed, even if an event was not recorded.
     */
    stream_handles_synchronize(&stream->handles);
    for (uint32_t i = 0; i < stream->event_count; i++) {
        sli_cuda_warn(cudaEventDestroy(stream->events[i]), "cudaEventDestroy");
    }
    stream_handles_close(&stream->handles);
    if (entered) {
        sli_cuda_leave(stream->device);
    }
    pthread_cond_destroy(&stream->put);
    pthread_cond_destroy(&stream->moved);
    pthread_mutex_destroy(&stream->lock);
    free_memory(stream);
}

/* Allocates a stream with capacity for `jobs` jobs; NULL: out of memory. */
static cuda_stream *make_stream(uint32_t jobs)
{
    cuda_stream *stream = sli_calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return NULL;
    }
    stream->job_capacity = jobs;
    stream->event_capacity = jobs / JOBS_OF_AN_EVENT;
    stream->jobs = sli_calloc(stream->job_capacity, sizeof(*stream->jobs));
    stream->events = sli_calloc(stream->event_capacity, sizeof(cudaEvent_t));
    if (stream->jobs == NULL || stream->events == NULL) {
        free_memory(stream);
        return NULL;
    }
    return stream;
}

sluice_status cuda_stream_open(void *state, const char *name, sli_stream_use use,
                               const sli_cpus *cpus, uint32_t jobs, void **stream_out)
{
    cuda_stream *stream = make_stream(jobs);
    sluice_status st;

    if (stream == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "stream %s", name);
    }
    stream->device = state;
    pthread_mutex_init(&stream->lock, NULL);
    sli_cond_init(&stream->put);
    sli_cond_init(&stream->moved);
    st = sli_cuda_enter(stream->device);
    if (st == SLUICE_OK) {
        st = make_handles(stream, name, use);
        sli_cuda_leave(stream->device);
    }
    if (st == SLUICE_OK) {
        st = sli_thread_start(&stream->thread, name, cpus, stream_main, stream);
    }
    if (st != SLUICE_OK) {
        free_stream(stream);
        return st;
    }
    *stream_out = stream;
    return SLUICE_OK;
}

void cuda_stream_close(void *handle)
{
    cuda_stream *stream = handle;

    submit_job(stream, (stream_job){.kind = JOB_END});
    sli_thread_join(&stream->thread);
    free_stream(stream);
}

cudaStream_t sli_cuda_stream_handle(void *handle)
{
    const stream_handles *handles = &((cuda_stream *)handle)->handles;

    return handles->at[handles->current];
}

/* ---- calls of the backend -------------------------------------------------------------------- */

sluice_status cuda_stream_write(void *handle, uint64_t *word, uint64_t value, sli_event *wake)
{
    return submit_job(handle,
                      (stream_job){.kind = JOB_WRITE, .word = word, .value = value, .wake = wake});
}

sluice_status cuda_stream_call(void *handle, void (*call)(void *arg), void *arg)
{
    return submit_job(handle, (stream_job){.kind = JOB_CALL, .call = call, .arg = arg});
}

sluice_status sli_cuda_stream_notify(void *handle, cudaEvent_t event, sli_event *wake)
{
    cuda_stream *stream = handle;
    const stream_job job = {.kind = JOB_WRITE, .event = event, .wake = wake};
    const sluice_status st = cuda_stream_begin_submit(stream, false, INT64_MAX);

    if (st == SLUICE_OK) {
        add_job(stream, stream->given, &job);
        cuda_stream_end_submit(stream);
    }
    return st;
}

/*
 * Polls until all work submitted to the device is done. Called between begin_submit and end_submit.
 * True: the work is done, or it failed and the error is stored. False: the work takes longer, jobs
 * are pending, or polling is not possible.
 */
static bool poll_until_done(cuda_stream *stream)
{
    cudaError_t error;

    if (stream->device->poll_ns == 0 || stream->handles.count > 1 || !is_idle(stream) ||
        sli_cuda_enter_thread(stream->device) != SLUICE_OK) {
        return false;
    }
    error = cuda_poll_stream(sli_cuda_stream_handle(stream), stream->device->poll_ns);
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        cuda_stream_keep_error(
            stream, stream->given,
            sli_cuda_fail(error, "device cuda:%u: cudaStreamQuery", stream->device->ordinal));
    }
    sli_cuda_leave_thread(stream->device);
    stream->has_copies = error == cudaErrorNotReady;
    return error != cudaErrorNotReady;
}

sluice_status cuda_stream_wait(void *handle, int64_t timeout_ns)
{
    cuda_stream *stream = handle;
    const int64_t deadline_ns = deadline_after(timeout_ns);
    uint64_t last;
    sluice_status st = cuda_stream_begin_submit(stream, false, deadline_ns);

    if (st != SLUICE_OK) {
        return st;
    }
    if (stream->has_copies && !poll_until_done(stream)) {
        (void)cuda_stream_put_job(stream, stream->given,
                                  (stream_job){.kind = JOB_MARK}); /* the error is raised below */
    }
    last = stream->given;
    cuda_stream_end_submit(stream);

    pthread_mutex_lock(&stream->lock);
    while (stream->done < last && st == SLUICE_OK) {
        st = wait_moved(stream, deadline_ns) ? SLUICE_OK : SLUICE_TIMEOUT;
    }
    if (stream->done >= last) {
        st = sli_error_raise(&stream->error);
    }
    pthread_mutex_unlock(&stream->lock);
    return st;
}

uint64_t sli_cuda_stream_wakes(void *handle)
{
    return atomic_load_explicit(&((cuda_stream *)handle)->wakes, memory_order_relaxed);
}

sluice_status cuda_stream_status(void *handle)
{
    cuda_stream *stream = handle;
    sluice_status st;

    pthread_mutex_lock(&stream->lock);
    st = sli_error_raise(&stream->error);
    pthread_mutex_unlock(&stream->lock);
    return st;
}

const sli_thread *cuda_stream_thread(const void *handle)
{
    return &((const cuda_stream *)handle)->thread;
}
