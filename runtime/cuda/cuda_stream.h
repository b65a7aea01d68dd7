/* SPDX-License-Identifier: Apache-2.0 */
/* State of a stream of a CUDA device: its CUDA streams, its thread and the thread's jobs. */
#ifndef SLUICE_CUDA_STREAM_H
#define SLUICE_CUDA_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend_int.h"
#include "cuda_device_int.h"
#include "error_int.h"
#include "stream_handles.h"

/* The queue's copier submits at least this many jobs per copy, and a copy needs one event. */
enum { JOBS_OF_AN_EVENT = 3 };

typedef struct stream_job {
    enum { JOB_MARK, JOB_WRITE, JOB_CALL, JOB_END } kind;
    cudaEvent_t event; /* event that the job waits for; NULL: no event */
    bool is_record;    /* the event is one of `events`, recorded after the copies before the job */
    uint64_t *word;    /* WRITE: the word to store into; NULL: no store */
    uint64_t value;    /* WRITE: the value to store */
    sli_event *wake;   /* WRITE: event to notify; may be NULL */
    void (*call)(void *arg); /* CALL: the function */
    void *arg;               /* CALL: its argument */
} stream_job;

typedef struct cuda_stream {
    const cuda_device *device;
    stream_handles handles;
    cudaEvent_t *events; /* (event_capacity), used in turn; created when the stream is opened */
    uint32_t event_count;
    uint32_t event_capacity;
    uint32_t job_capacity;
    sli_thread thread;

    /* Used between begin_submit and end_submit only. */
    bool has_copies;         /* the current CUDA stream has work with no event recorded after it */
    bool published;          /* words were stored in the current CUDA stream since the last
                                switch to it */
    uint64_t ordered_behind; /* number of the event record that the next stored words wait for;
                                0: no wait */

    _Atomic uint64_t wakes;

    pthread_mutex_t lock;  /* guards the following; never held across a CUDA call */
    pthread_cond_t put;    /* a job was submitted; the thread waits on it */
    pthread_cond_t moved;  /* a job is done, or a submission has ended; callers wait on it */
    bool thread_waits;     /* the stream's thread waits on put */
    uint32_t callers_wait; /* number of callers that wait on moved */
    bool submitting;  /* a thread submits; only one at a time, so CUDA work and jobs have the same
                         order */
    stream_job *jobs; /* (job_capacity), a ring */
    uint64_t given;   /* number of jobs submitted so far; changed only by the submitting thread */
    uint64_t done;    /* number of jobs finished so far */
    uint64_t records; /* number of events recorded for submitted jobs so far */
    uint64_t records_done; /* number of these events whose jobs are finished */
    uint64_t calls_given;  /* number of calls among the submitted jobs */
    uint64_t calls_done;   /* number of these calls that are finished */
    sli_error error;       /* error of the failed job with the lowest number */
    uint64_t error_at;     /* number of the failed job; later jobs are skipped */
} cuda_stream;

/* Entries of the backend's table (backend_int.h). Copy, publish, mark and order are in
 * cuda_stream_submit.c. */
sluice_status cuda_stream_open(void *state, const char *name, sli_stream_use use,
                               const sli_cpus *cpus, uint32_t jobs, void **stream_out);
void cuda_stream_close(void *stream);
sluice_status cuda_stream_copy(void *stream, void *to, const void *from, size_t bytes);
sluice_status cuda_stream_publish(void *stream, uint64_t *words, const uint64_t *values,
                                  uint32_t count);
sluice_status cuda_stream_mark(void *stream, uint64_t *mark_out);
sluice_status cuda_stream_order(void *stream, uint64_t mark, void *native);
sluice_status cuda_stream_write(void *stream, uint64_t *word, uint64_t value, sli_event *wake);
sluice_status cuda_stream_call(void *stream, void (*call)(void *arg), void *arg);
sluice_status cuda_stream_wait(void *stream, int64_t timeout_ns);
sluice_status cuda_stream_status(void *stream);
const sli_thread *cuda_stream_thread(const void *stream);

/* Shared with cuda_stream_submit.c. */

/* Stores the calling thread's last error unless an earlier job has failed. */
void cuda_stream_keep_error(cuda_stream *stream, uint64_t job_number, sluice_status status);

/* True if this job or an earlier one has failed. */
bool cuda_stream_has_failed(cuda_stream *stream, uint64_t job_number);

/* Begins a submission: waits until no other thread submits and a job and an event are free; with
 * behind_calls also until all calls are done. Returns OK, after which the caller must call
 * cuda_stream_end_submit(), or TIMEOUT. */
sluice_status cuda_stream_begin_submit(cuda_stream *stream, bool behind_calls, int64_t deadline_ns);
void cuda_stream_end_submit(cuda_stream *stream);

/* Adds a job with number `job_number`, between begin_submit and end_submit. It is added even if an
 * error is returned. */
sluice_status cuda_stream_put_job(cuda_stream *stream, uint64_t job_number, stream_job job);

/* True if the stream's thread has seen that the work before this record is done. */
bool cuda_stream_is_reached(cuda_stream *stream, uint64_t record);

/* The event of record number `record`; numbers start at 1. */
cudaEvent_t cuda_stream_event(const cuda_stream *stream, uint64_t record);

#endif
