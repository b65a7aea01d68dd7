/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of the host device: a thread that runs the jobs of a bounded ring in order. Copies are
 * asynchronous, like those of a GPU's copy engine, so tests without a GPU can detect a missing
 * wait.
 */
#define _GNU_SOURCE
#include "host_device.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "error_int.h"

typedef struct stream_job {
    enum { JOB_COPY, JOB_WRITE, JOB_CALL, JOB_END } kind;
    void *to;         /* COPY: destination; WRITE: the word; CALL: the argument */
    const void *from; /* COPY: source */
    uint64_t value;   /* COPY: bytes; WRITE: the value */
    sli_event *wake;  /* WRITE: event to notify; may be NULL */
    void (*call)(void *arg);
} stream_job;

typedef struct host_stream {
    host_device *device;
    sli_thread thread;
    pthread_mutex_t lock; /* guards everything below */
    pthread_cond_t changed;
    stream_job *jobs; /* (capacity) ring of jobs */
    uint32_t capacity;
    uint64_t given;  /* number of jobs submitted so far */
    uint64_t done;   /* number of jobs finished so far */
    sli_error error; /* the first error of a job */
} host_stream;

static void sleep_ns(int64_t duration_ns)
{
    struct timespec left = {.tv_sec = duration_ns / 1000000000,
                            .tv_nsec = duration_ns % 1000000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static sluice_status copy_block(host_device *device, const stream_job *job)
{
    int64_t start = sli_now_ns();
    int64_t least = device->latency_ns;
    int64_t took;

    if (atomic_load_explicit(&device->good_copies, memory_order_relaxed) >= 0 &&
        atomic_fetch_sub_explicit(&device->good_copies, 1, memory_order_relaxed) <= 0) {
        atomic_store_explicit(&device->good_copies, 0, memory_order_relaxed);
        return sli_fail(SLUICE_E_DEVICE, "copy of %llu bytes to the device failed (fail_after)",
                        (unsigned long long)job->value);
    }
    memcpy(job->to, job->from, job->value);
    if (device->bytes_per_second > 0) {
        least += (int64_t)((double)job->value / (double)device->bytes_per_second * 1e9);
    }
    took = sli_now_ns() - start;
    if (took < least) {
        sleep_ns(least - took);
    }
    return SLUICE_OK;
}

/* Runs one job, or skips it if `status`, the stream's error, is set. */
static sluice_status run_job(host_stream *stream, const stream_job *job, sluice_status status)
{
    switch (job->kind) {
    case JOB_COPY:
        return status == SLUICE_OK ? copy_block(stream->device, job) : status;
    case JOB_WRITE:
        if (status == SLUICE_OK) {
            /* Pairs with the acquire load of the thread that polls the word: the data is copied. */
            __atomic_store_n((uint64_t *)job->to, job->value, __ATOMIC_RELEASE);
        }
        return status;
    case JOB_CALL:
        if (status == SLUICE_OK) {
            job->call(job->to);
        }
        return status;
    case JOB_END:
        break;
    }
    return status;
}

static void keep_error(host_stream *stream, sluice_status status)
{
    pthread_mutex_lock(&stream->lock);
    sli_error_take(status, &stream->error);
    pthread_mutex_unlock(&stream->lock);
}

static void stream_main(void *arg)
{
    host_stream *stream = arg;
    stream_job job = {.kind = JOB_CALL};

    while (job.kind != JOB_END) {
        sluice_status before;
        sluice_status after;

        pthread_mutex_lock(&stream->lock);
        while (stream->given == stream->done) {
            pthread_cond_wait(&stream->changed, &stream->lock);
        }
        job = stream->jobs[stream->done % stream->capacity];
        before = stream->error.status;
        pthread_mutex_unlock(&stream->lock);

        after = run_job(stream, &job, before);

        if (before == SLUICE_OK && after != SLUICE_OK) {
            keep_error(stream, after);
        }
        /* Notifies before the job counts as done: a thread that waits for `done` may then free the
         * event. */
        if (job.kind == JOB_WRITE && job.wake != NULL) {
            sli_event_notify(job.wake);
        }
        pthread_mutex_lock(&stream->lock);
        stream->done++;
        pthread_cond_broadcast(&stream->changed);
        pthread_mutex_unlock(&stream->lock);
    }
}

static sluice_status add_job(host_stream *stream, stream_job job)
{
    pthread_mutex_lock(&stream->lock);
    while (stream->given - stream->done == stream->capacity) {
        pthread_cond_wait(&stream->changed, &stream->lock);
    }
    stream->jobs[stream->given % stream->capacity] = job;
    stream->given++;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return SLUICE_OK;
}

sluice_status host_stream_open(void *state, const char *name, sli_stream_use use,
                               const sli_cpus *cpus, uint32_t jobs, void **stream_out)
{
    host_stream *stream = sli_calloc(1, sizeof(*stream));
    stream_job *list = sli_calloc(jobs, sizeof(*list));
    sluice_status st;

    (void)use;
    if (stream == NULL || list == NULL) {
        sli_free(list);
        sli_free(stream);
        return sli_fail(SLUICE_E_NO_MEMORY, "stream %s", name);
    }
    stream->jobs = list;
    stream->capacity = jobs;
    stream->device = state;
    pthread_mutex_init(&stream->lock, NULL);
    sli_cond_init(&stream->changed);
    st = sli_thread_start(&stream->thread, name, cpus, stream_main, stream);
    if (st != SLUICE_OK) {
        pthread_cond_destroy(&stream->changed);
        pthread_mutex_destroy(&stream->lock);
        sli_free(stream->jobs);
        sli_free(stream);
        return st;
    }
    *stream_out = stream;
    return SLUICE_OK;
}

void host_stream_close(void *handle)
{
    host_stream *stream = handle;

    add_job(stream, (stream_job){.kind = JOB_END});
    sli_thread_join(&stream->thread);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    sli_free(stream->jobs);
    sli_free(stream);
}

sluice_status host_stream_copy(void *handle, void *to, const void *from, size_t bytes)
{
    return add_job(handle, (stream_job){.kind = JOB_COPY, .to = to, .from = from, .value = bytes});
}

sluice_status host_stream_write(void *handle, uint64_t *word, uint64_t value, sli_event *wake)
{
    return add_job(handle,
                   (stream_job){.kind = JOB_WRITE, .to = word, .value = value, .wake = wake});
}

sluice_status host_stream_call(void *handle, void (*call)(void *arg), void *arg)
{
    return add_job(handle, (stream_job){.kind = JOB_CALL, .call = call, .to = arg});
}

sluice_status host_stream_wait(void *handle, int64_t timeout_ns)
{
    host_stream *stream = handle;
    int64_t deadline_ns = sli_now_ns() + timeout_ns;
    struct timespec deadline = {.tv_sec = deadline_ns / 1000000000,
                                .tv_nsec = deadline_ns % 1000000000};
    sluice_status st = SLUICE_OK;

    pthread_mutex_lock(&stream->lock);
    while (stream->given != stream->done && st == SLUICE_OK) {
        if (timeout_ns < 0) {
            pthread_cond_wait(&stream->changed, &stream->lock);
        } else if (pthread_cond_timedwait(&stream->changed, &stream->lock, &deadline) ==
                   ETIMEDOUT) {
            st = SLUICE_TIMEOUT;
        }
    }
    if (stream->given == stream->done) {
        st = sli_error_raise(&stream->error);
    }
    pthread_mutex_unlock(&stream->lock);
    return st;
}

sluice_status host_stream_status(void *handle)
{
    host_stream *stream = handle;
    sluice_status st;

    pthread_mutex_lock(&stream->lock);
    st = sli_error_raise(&stream->error);
    pthread_mutex_unlock(&stream->lock);
    return st;
}

const sli_thread *host_stream_thread(const void *handle)
{
    return &((const host_stream *)handle)->thread;
}
