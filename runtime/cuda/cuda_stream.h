/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a stream of a CUDA device share: its thread's jobs, and the right to give. */
#ifndef SLUICE_CUDA_STREAM_H
#define SLUICE_CUDA_STREAM_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend_int.h"
#include "cuda_device_int.h"
#include "error_int.h"
#include "stream_handles.h"

/* A copy of the queue's copier brings so many jobs at least, and one event. */
enum { JOBS_OF_AN_EVENT = 3 };

typedef struct stream_job {
    enum { JOB_MARK, JOB_WRITE, JOB_CALL, JOB_END } kind;
    cudaEvent_t event; /* that it comes behind; NULL: none */
    bool is_record;    /* the event is the stream's own, behind the copies given before the job */
    uint64_t *word;    /* WRITE, as the next two; may be NULL */
    uint64_t value;
    sli_event *wake;         /* may be NULL */
    void (*call)(void *arg); /* CALL */
    void *arg;
} stream_job;

typedef struct cuda_stream {
    const cuda_device *device;
    stream_handles handles;
    cudaEvent_t *events; /* (event_capacity), taken in turn: none is made later */
    uint32_t event_count;
    uint32_t event_capacity;
    uint32_t job_capacity;
    sli_thread thread;

    /* Only the thread that has `giving` reads and writes these. */
    bool has_copies;         /* in the current CUDA stream, with no event behind them */
    bool published;          /* words are stored behind them */
    uint64_t ordered_behind; /* record that the next words come behind, in the other CUDA stream */

    _Atomic uint64_t wakes;

    pthread_mutex_t lock;  /* guards what follows; never held across a call of CUDA */
    pthread_cond_t put;    /* a job was, for the thread */
    pthread_cond_t moved;  /* a job is done, or nothing is being given: for callers */
    bool thread_waits;     /* for the one */
    uint32_t callers_wait; /* for the other: so many */
    bool giving;           /* a thread puts something in: CUDA's order and that of jobs are one */
    stream_job *jobs;      /* (job_capacity) */
    uint64_t given;        /* jobs put in, ever */
    uint64_t done;         /* jobs finished, ever */
    uint64_t records;      /* of events, ever: those behind jobs that were put in */
    uint64_t records_done;
    uint64_t calls_given; /* of the jobs, calls */
    uint64_t calls_done;
    sli_error error;   /* of the job with the lowest number */
    uint64_t error_at; /* jobs from this one on are behind it */
} cuda_stream;

/* Entries of the backend's table (backend_int.h); copy, publish, mark and order:
 * cuda_stream_submit.c */
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

/* What the files of a stream share. */

/* Keeps the calling thread's last error unless an earlier job has failed. */
void cuda_stream_keep_error(cuda_stream *stream, uint64_t job_number, sluice_status status);

/* Is there an error before this job? */
bool cuda_stream_has_failed(cuda_stream *stream, uint64_t job_number);

/* Waits for the right to give something, and room for a job. After OK, one
 * cuda_stream_end_giving(). */
sluice_status cuda_stream_begin_giving(cuda_stream *stream, bool behind_calls, int64_t deadline_ns);
void cuda_stream_end_giving(cuda_stream *stream);

/* Puts a job in, number `job_number`; `giving` is held. The job is there whatever it returns. */
sluice_status cuda_stream_put_job(cuda_stream *stream, uint64_t job_number, stream_job job);

/* Has the thread seen what is before that record? */
bool cuda_stream_is_reached(cuda_stream *stream, uint64_t record);

/* The event of record number `record`, from 1 on. */
cudaEvent_t cuda_stream_event(const cuda_stream *stream, uint64_t record);

#endif
