/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of a CUDA device: a CUDA stream, into which callers put copies themselves, and a thread
 * for what the host does behind them. A job of that thread stores a word or calls a function; where
 * copies were given before it, an event is recorded behind these and the thread sleeps on it first.
 * So copies run back to back, whatever the host has still to do for earlier ones: a word is stored
 * when its copies are done, while later copies may be under way. A copy behind a call waits for it,
 * in its caller.
 *
 * An error counts from its place on: jobs given before it are done, those behind it are left out.
 */
#define _GNU_SOURCE
#include "cuda_device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "cuda_error.h"
#include "log_int.h"
#include "status_int.h"

/* Whoever gives a stream more than this waits until it has caught up. */
enum { JOB_CAPACITY = 64 };

/* Words that are published by one call; the driver takes no more than 255. */
enum { MEM_OPS = 64 };

typedef struct stream_job {
    enum { JOB_MARK, JOB_WRITE, JOB_CALL, JOB_END } kind;
    bool has_event; /* copies were given before it: the event of its place is behind them */
    uint64_t *word; /* WRITE, as the next two */
    uint64_t value;
    sli_event *wake;         /* may be NULL */
    void (*call)(void *arg); /* CALL */
    void *arg;
} stream_job;

typedef struct cuda_stream {
    const cuda_device *device;
    cudaStream_t handle;
    cudaEvent_t events[JOB_CAPACITY]; /* one for each place of jobs: none is made later */
    uint32_t event_count;
    sli_thread thread;
    pthread_mutex_t lock; /* guards what follows; never held across a call of CUDA */
    pthread_cond_t changed;
    bool giving;     /* somebody puts something in: CUDA's order and that of jobs are one */
    bool has_copies; /* that no event is behind; whoever has `giving` reads and writes it */
    stream_job jobs[JOB_CAPACITY];
    uint64_t given;       /* jobs put in, ever */
    uint64_t done;        /* jobs finished, ever */
    uint64_t calls_given; /* of them, calls */
    uint64_t calls_done;
    sluice_status status; /* first error, kept */
    uint64_t error_at;    /* jobs from this one on are behind it */
    char error[SLI_ERROR_SIZE];
} cuda_stream;

/* ---- errors ---------------------------------------------------------------------------------- */

/* Keeps the calling thread's last error unless there is one at an earlier place. */
static void keep_error(cuda_stream *stream, uint64_t place, sluice_status status)
{
    pthread_mutex_lock(&stream->lock);
    if (stream->status == SLUICE_OK || place < stream->error_at) {
        stream->status = status;
        stream->error_at = place;
        snprintf(stream->error, sizeof(stream->error), "%s", sluice_last_error());
    }
    pthread_mutex_unlock(&stream->lock);
}

/* Is there an error before job number place? */
static bool has_failed(cuda_stream *stream, uint64_t place)
{
    bool failed;

    pthread_mutex_lock(&stream->lock);
    failed = stream->status != SLUICE_OK && stream->error_at <= place;
    pthread_mutex_unlock(&stream->lock);
    return failed;
}

/* ---- the stream's thread --------------------------------------------------------------------- */

/* Sleeps until the copies before job number place are done. */
static void wait_for_copies(cuda_stream *stream, uint64_t place)
{
    const cudaError_t error = cudaEventSynchronize(stream->events[place % JOB_CAPACITY]);

    if (error != cudaSuccess) {
        keep_error(
            stream, place,
            sli_cuda_fail(error, "device cuda:%u: a copy to the device", stream->device->ordinal));
    }
}

static void run_job(cuda_stream *stream, uint64_t place, const stream_job *job)
{
    bool failed;

    if (job->has_event) {
        wait_for_copies(stream, place);
    }
    failed = has_failed(stream, place);
    if (job->kind == JOB_WRITE) {
        if (!failed) {
            /* Pairs with the acquire load of whoever polls the word: what was copied is there. */
            __atomic_store_n(job->word, job->value, __ATOMIC_RELEASE);
        }
        if (job->wake != NULL) {
            sli_event_notify(job->wake);
        }
    } else if (job->kind == JOB_CALL && !failed) {
        job->call(job->arg);
    }
}

static void stream_main(void *arg)
{
    cuda_stream *stream = arg;
    stream_job job = {.kind = JOB_MARK};
    const sluice_status entered = sli_cuda_enter_thread(stream->device);

    if (entered != SLUICE_OK) {
        keep_error(stream, 0, entered);
    }
    for (uint64_t place = 0; job.kind != JOB_END; place++) {
        pthread_mutex_lock(&stream->lock);
        while (stream->given == place) {
            pthread_cond_wait(&stream->changed, &stream->lock);
        }
        job = stream->jobs[place % JOB_CAPACITY];
        pthread_mutex_unlock(&stream->lock);

        run_job(stream, place, &job);

        pthread_mutex_lock(&stream->lock);
        stream->done++;
        stream->calls_done += job.kind == JOB_CALL;
        pthread_cond_broadcast(&stream->changed);
        pthread_mutex_unlock(&stream->lock);
    }
    if (entered == SLUICE_OK) {
        sli_cuda_leave_thread(stream->device);
    }
}

/* ---- giving it something --------------------------------------------------------------------- */

/* A point of time for wait_changed(); INT64_MAX: never. */
static int64_t deadline_after(int64_t timeout_ns)
{
    const int64_t now = sli_now_ns();

    return timeout_ns < 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

/* Waits for a change; the lock is held. False when the deadline is reached. */
static bool wait_changed(cuda_stream *stream, int64_t deadline_ns)
{
    const struct timespec deadline = {.tv_sec = deadline_ns / 1000000000,
                                      .tv_nsec = deadline_ns % 1000000000};

    if (deadline_ns == INT64_MAX) {
        pthread_cond_wait(&stream->changed, &stream->lock);
        return true;
    }
    return pthread_cond_timedwait(&stream->changed, &stream->lock, &deadline) != ETIMEDOUT;
}

/* Waits for the right to give something, and room for a job. After OK, one end_giving(). */
static sluice_status begin_giving(cuda_stream *stream, bool behind_calls, int64_t deadline_ns)
{
    bool in_time = true;
    bool mine = false;

    pthread_mutex_lock(&stream->lock);
    for (;;) {
        mine = !stream->giving && stream->given - stream->done < JOB_CAPACITY &&
               (!behind_calls || stream->calls_given == stream->calls_done);
        if (mine || !in_time) {
            break;
        }
        in_time = wait_changed(stream, deadline_ns);
    }
    stream->giving = stream->giving || mine;
    pthread_mutex_unlock(&stream->lock);
    return mine ? SLUICE_OK : SLUICE_TIMEOUT;
}

static void end_giving(cuda_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->giving = false;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
}

/* Records the event of job number place behind the copies given so far. */
static sluice_status record_event(cuda_stream *stream, uint64_t place)
{
    sluice_status st = sli_cuda_enter(stream->device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = cudaEventRecord(stream->events[place % JOB_CAPACITY], stream->handle);
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "device cuda:%u: cudaEventRecord", stream->device->ordinal);
    }
    sli_cuda_leave(stream->device);
    return st;
}

/* Puts a job in, whose number is place; `giving` is held. The job is there whatever it returns. */
static sluice_status put_job(cuda_stream *stream, uint64_t place, stream_job job)
{
    sluice_status st = SLUICE_OK;

    if (stream->has_copies) {
        st = record_event(stream, place);
        if (st != SLUICE_OK) {
            keep_error(stream, place, st);
        }
        job.has_event = st == SLUICE_OK;
        stream->has_copies = st != SLUICE_OK; /* the next job, or wait, tries again */
    }
    pthread_mutex_lock(&stream->lock);
    stream->jobs[place % JOB_CAPACITY] = job;
    stream->given++;
    stream->calls_given += job.kind == JOB_CALL;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return st;
}

static sluice_status give(cuda_stream *stream, stream_job job)
{
    sluice_status st = begin_giving(stream, false, INT64_MAX);

    if (st == SLUICE_OK) {
        st = put_job(stream, stream->given, job); /* only who has `giving` changes it */
        end_giving(stream);
    }
    return st;
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* The CUDA stream and its events; the context is current. */
static sluice_status make_handles(cuda_stream *stream, const char *name)
{
    cudaError_t error = cudaStreamCreateWithFlags(&stream->handle, cudaStreamNonBlocking);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: stream %s", stream->device->ordinal, name);
    }
    while (error == cudaSuccess && stream->event_count < JOB_CAPACITY) {
        error = cudaEventCreateWithFlags(&stream->events[stream->event_count],
                                         cudaEventBlockingSync | cudaEventDisableTiming);
        stream->event_count += error == cudaSuccess;
    }
    return error == cudaSuccess ? SLUICE_OK
                                : sli_cuda_fail(error, "device cuda:%u: events of stream %s",
                                                stream->device->ordinal, name);
}

static void free_stream(cuda_stream *stream)
{
    const bool entered = sli_cuda_enter(stream->device) == SLUICE_OK;

    if (stream->handle != NULL) {
        /* Nothing may read host memory after the stream is gone, also when an event was refused. */
        sli_cuda_warn(cudaStreamSynchronize(stream->handle), "cudaStreamSynchronize");
        for (uint32_t i = 0; i < stream->event_count; i++) {
            sli_cuda_warn(cudaEventDestroy(stream->events[i]), "cudaEventDestroy");
        }
        sli_cuda_warn(cudaStreamDestroy(stream->handle), "cudaStreamDestroy");
    }
    if (entered) {
        sli_cuda_leave(stream->device);
    }
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    sli_free(stream);
}

sluice_status sli_cuda_stream_open(void *state, const char *name, const sli_cpus *cpus,
                                   void **stream_out)
{
    cuda_stream *stream = sli_calloc(1, sizeof(*stream));
    sluice_status st;

    if (stream == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "stream %s", name);
    }
    stream->device = state;
    pthread_mutex_init(&stream->lock, NULL);
    sli_cond_init(&stream->changed);
    st = sli_cuda_enter(stream->device);
    if (st == SLUICE_OK) {
        st = make_handles(stream, name);
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

void sli_cuda_stream_close(void *handle)
{
    cuda_stream *stream = handle;

    give(stream, (stream_job){.kind = JOB_END});
    sli_thread_join(&stream->thread);
    free_stream(stream);
}

/* ---- copies and words on the device ---------------------------------------------------------- */

/* Something for the CUDA stream itself. */
typedef struct device_job {
    void *to; /* of a copy, as the next two */
    const void *from;
    size_t bytes;
    uint64_t *words; /* to publish, as the next two */
    const uint64_t *values;
    uint32_t count;
    sluice_status (*enqueue)(void *arg); /* which does it */
    void *arg;
} device_job;

/* Each operation has a fence before it, for that is its default. */
static cudaError_t write_words(const cuda_stream *stream, const device_job *job)
{
    CUstreamBatchMemOpParams ops[MEM_OPS];
    CUresult result = CUDA_SUCCESS;

    for (uint32_t done = 0; done < job->count && result == CUDA_SUCCESS; done += MEM_OPS) {
        const uint32_t left = job->count - done;
        const uint32_t count = left < MEM_OPS ? left : MEM_OPS;

        memset(ops, 0, count * sizeof(ops[0]));
        for (uint32_t i = 0; i < count; i++) {
            ops[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
            ops[i].writeValue.address = (CUdeviceptr)(uintptr_t)&job->words[done + i];
            ops[i].writeValue.value64 = job->values[done + i];
            ops[i].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
        }
        result = stream->device->driver.stream_mem_ops(stream->handle, count, ops, 0);
    }
    return (cudaError_t)result;
}

/* The context is current. */
static sluice_status give_device(const cuda_stream *stream, const device_job *job)
{
    cudaError_t error;

    if (job->enqueue != NULL) {
        return job->enqueue(job->arg);
    }
    if (job->words != NULL) {
        error = write_words(stream, job);
        return error == cudaSuccess ? SLUICE_OK
                                    : sli_cuda_fail(error, "device cuda:%u: cuStreamBatchMemOp",
                                                    stream->device->ordinal);
    }
    error = cudaMemcpyAsync(job->to, job->from, job->bytes, cudaMemcpyHostToDevice, stream->handle);
    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: copy of %zu bytes to the device",
                               stream->device->ordinal, job->bytes);
}

/* Gives the CUDA stream something. What is given after an error is left out; but for a copy that
 * error is the answer, for nobody else could tell whether the device will ever see it. */
static sluice_status give_to_device(cuda_stream *stream, const device_job *job)
{
    sluice_status st = begin_giving(stream, true, INT64_MAX);

    if (has_failed(stream, stream->given)) {
        end_giving(stream);
        return job->to != NULL ? SLUICE_OK : sli_cuda_stream_status(stream);
    }
    st = sli_cuda_enter(stream->device);
    if (st == SLUICE_OK) {
        st = give_device(stream, job);
        sli_cuda_leave(stream->device);
    }
    if (st == SLUICE_OK) {
        stream->has_copies = true;
    } else {
        keep_error(stream, stream->given, st);
    }
    end_giving(stream);
    return st;
}

sluice_status sli_cuda_stream_copy(void *handle, void *to, const void *from, size_t bytes)
{
    return give_to_device(handle, &(device_job){.to = to, .from = from, .bytes = bytes});
}

sluice_status sli_cuda_stream_publish(void *handle, uint64_t *words, const uint64_t *values,
                                      uint32_t count)
{
    return give_to_device(handle, &(device_job){.words = words, .values = values, .count = count});
}

sluice_status sli_cuda_stream_enqueue(void *handle, sluice_status (*enqueue)(void *arg), void *arg)
{
    return give_to_device(handle, &(device_job){.enqueue = enqueue, .arg = arg});
}

cudaStream_t sli_cuda_stream_handle(void *handle)
{
    return ((cuda_stream *)handle)->handle;
}

/* ---- the rest of the backend's calls --------------------------------------------------------- */

sluice_status sli_cuda_stream_write(void *handle, uint64_t *word, uint64_t value, sli_event *wake)
{
    return give(handle,
                (stream_job){.kind = JOB_WRITE, .word = word, .value = value, .wake = wake});
}

sluice_status sli_cuda_stream_call(void *handle, void (*call)(void *arg), void *arg)
{
    return give(handle, (stream_job){.kind = JOB_CALL, .call = call, .arg = arg});
}

/* The stream's first error, handed to the calling thread; the lock is held. */
static sluice_status first_error(cuda_stream *stream)
{
    return stream->status == SLUICE_OK ? SLUICE_OK : sli_fail_again(stream->status, stream->error);
}

sluice_status sli_cuda_stream_wait(void *handle, int64_t timeout_ns)
{
    cuda_stream *stream = handle;
    const int64_t deadline_ns = deadline_after(timeout_ns);
    uint64_t last;
    sluice_status st = begin_giving(stream, false, deadline_ns);

    if (st != SLUICE_OK) {
        return st;
    }
    if (stream->has_copies) {
        (void)put_job(stream, stream->given, (stream_job){.kind = JOB_MARK}); /* error is kept */
    }
    last = stream->given;
    end_giving(stream);

    pthread_mutex_lock(&stream->lock);
    while (stream->done < last && st == SLUICE_OK) {
        st = wait_changed(stream, deadline_ns) ? SLUICE_OK : SLUICE_TIMEOUT;
    }
    if (stream->done >= last) {
        st = first_error(stream);
    }
    pthread_mutex_unlock(&stream->lock);
    return st;
}

sluice_status sli_cuda_stream_status(void *handle)
{
    cuda_stream *stream = handle;
    sluice_status st;

    pthread_mutex_lock(&stream->lock);
    st = first_error(stream);
    pthread_mutex_unlock(&stream->lock);
    return st;
}
