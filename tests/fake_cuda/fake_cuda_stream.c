/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's streams and events: a thread for each stream, which does what is in its list. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fake_cuda_state.h"

typedef struct stream_op {
    struct stream_op *next;
    cudaEvent_t event; /* to be recorded; NULL: a copy */
    uint64_t record;   /* how often it was, with this */
    unsigned char *to;
    const void *from;
    size_t bytes;
    fake_block *block;
    fake_range *range;              /* NULL: `from` is not page-locked */
    enum { COPY, WORD, FILL } kind; /* where there is no event */
    uint64_t value;                 /* WORD: to be stored; FILL: of each byte */
} stream_op;

struct CUevent_st {
    CUcontext context;
    uint64_t recorded;
    uint64_t done;
};

struct CUstream_st {
    CUcontext context;
    pthread_t thread;
    stream_op *first;
    stream_op *end;
    uint64_t pending;
    bool stop;
};

/* ---- the device's side ----------------------------------------------------------------------- */

static void sleep_us(int64_t duration_us)
{
    struct timespec left = {.tv_sec = duration_us / 1000000,
                            .tv_nsec = duration_us % 1000000 * 1000};

    while (duration_us > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* Does a copy; the lock is held, and is not while bytes move. */
static void do_copy(CUcontext context, stream_op *op)
{
    const cudaError_t error = context->broken != cudaSuccess ? context->broken : fake_copy_fails();
    const int64_t duration_us = fake_copy_us();

    if (error == cudaSuccess) {
        pthread_mutex_unlock(&fake_lock);
        sleep_us(duration_us);
        memcpy(op->to, op->from, op->bytes);
        pthread_mutex_lock(&fake_lock);
    } else {
        context->broken = error;
    }
    op->block->copies--;
    if (op->range != NULL) {
        op->range->copies--;
    } else {
        fake_count_pageable();
    }
}

/* Stores a word, or fills a block; the lock is held. */
static void do_store(CUcontext context, stream_op *op)
{
    if (context->broken == cudaSuccess && op->kind == FILL) {
        memset(op->to, (int)op->value, op->bytes);
    } else if (context->broken == cudaSuccess) {
        __atomic_store_n((uint64_t *)(void *)op->to, op->value, __ATOMIC_RELEASE);
    }
    op->block->copies--;
}

static void *stream_main(void *arg)
{
    struct CUstream_st *stream = arg;

    pthread_mutex_lock(&fake_lock);
    for (;;) {
        stream_op *op = stream->first;

        if (op == NULL && stream->stop) {
            break;
        }
        if (op == NULL || (op->event == NULL && op->kind == COPY && fake_copies_held())) {
            pthread_cond_wait(&fake_changed, &fake_lock);
            continue;
        }
        if (op->event == NULL && op->kind != COPY) {
            do_store(stream->context, op);
        } else if (op->event == NULL) {
            do_copy(stream->context, op);
        } else {
            op->event->done = op->record;
        }
        stream->first = op->next;
        stream->pending--;
        free(op);
        pthread_cond_broadcast(&fake_changed);
    }
    pthread_mutex_unlock(&fake_lock);
    return NULL;
}

/* Puts an operation in; the lock is held. */
static void submit(cudaStream_t stream, const stream_op *op)
{
    stream_op *own = malloc(sizeof(*own));

    if (own == NULL) {
        fake_forbidden("the machine has no memory for the fake");
    }
    *own = *op;
    own->next = NULL;
    if (stream->first == NULL) {
        stream->first = own;
    } else {
        stream->end->next = own;
    }
    stream->end = own;
    stream->pending++;
    pthread_cond_broadcast(&fake_changed);
}

/* ---- streams --------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream_out, unsigned int flags)
{
    cudaError_t error = fake_call();
    cudaStream_t stream;

    if (flags != cudaStreamNonBlocking) {
        fake_forbidden("a stream that waits for the legacy default stream");
    }
    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : fake_context("cudaStreamCreateWithFlags")->broken;
    if (error == cudaSuccess) {
        stream = calloc(1, sizeof(*stream));
        if (stream == NULL) {
            fake_forbidden("the machine has no memory for the fake");
        }
        stream->context = fake_context("cudaStreamCreateWithFlags");
        if (pthread_create(&stream->thread, NULL, stream_main, stream) != 0) {
            fake_forbidden("the machine has no thread for the fake");
        }
        fake_live.streams++;
        *stream_out = stream;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    while (stream->pending > 0) {
        pthread_cond_wait(&fake_changed, &fake_lock);
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (stream->pending > 0) {
        fake_forbidden("cudaStreamDestroy does not wait: host memory may still be read");
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    stream->stop = true;
    fake_live.streams--;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
    pthread_join(stream->thread, NULL);
    free(stream);
    return fake_answer(error);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    cudaError_t error = fake_call();
    stream_op op = {.from = from, .bytes = bytes};

    if (kind != cudaMemcpyHostToDevice) {
        fake_forbidden("cudaMemcpyAsync: a direction that the fake has not");
    }
    pthread_mutex_lock(&fake_lock);
    if (fake_context("cudaMemcpyAsync") != stream->context) {
        fake_forbidden("cudaMemcpyAsync: the stream is another device's");
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    op.block = fake_block_of(to, bytes);
    op.range = fake_range_of(from, bytes);
    if (error == cudaSuccess && (op.block == NULL || op.block->context != stream->context)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        op.to = op.block->storage + ((uintptr_t)to - (uintptr_t)op.block->address);
        op.block->copies++;
        if (op.range != NULL) {
            op.range->copies++;
        }
        submit(stream, &op);
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* Gives the stream a word or a fill; the lock is held. */
static cudaError_t store_later(cudaStream_t stream, void *to, size_t bytes, stream_op op)
{
    op.block = fake_block_of(to, bytes);
    if (op.block == NULL || op.block->context != stream->context) {
        return cudaErrorInvalidValue;
    }
    op.to = op.block->storage + ((uintptr_t)to - (uintptr_t)op.block->address);
    op.bytes = bytes;
    op.block->copies++;
    submit(stream, &op);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (fake_context("cudaMemsetAsync") != stream->context) {
        fake_forbidden("cudaMemsetAsync: the stream is another device's");
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    if (error == cudaSuccess) {
        error = store_later(stream, to, bytes, (stream_op){.kind = FILL, .value = (uint64_t)value});
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

CUresult fake_stream_mem_ops(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops,
                             unsigned int flags)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (fake_context("cuStreamBatchMemOp") != stream->context || count == 0 || count > 255 ||
        flags != 0) {
        fake_forbidden("cuStreamBatchMemOp: another device's stream, or not 1 to 255 operations");
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    for (unsigned int i = 0; i < count && error == cudaSuccess; i++) {
        const struct CUstreamMemOpWriteValueParams_st *write = &ops[i].writeValue;

        if (write->operation != CU_STREAM_MEM_OP_WRITE_VALUE_64 ||
            write->flags != CU_STREAM_WRITE_VALUE_DEFAULT || write->address % 8 != 0 ||
            store_later(stream, (void *)(uintptr_t)write->address, 8,
                        (stream_op){.kind = WORD, .value = write->value64}) != cudaSuccess) {
            fake_forbidden("cuStreamBatchMemOp: not the fenced write of 8 bytes that the library "
                           "means, or not into memory of the stream's device");
        }
    }
    pthread_mutex_unlock(&fake_lock);
    return (CUresult)error;
}

/* ---- events ---------------------------------------------------------------------------------- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event_out, unsigned int flags)
{
    cudaError_t error = fake_call();
    cudaEvent_t event;

    if (flags != (cudaEventBlockingSync | cudaEventDisableTiming)) {
        fake_forbidden("an event that burns a processor while it is waited for");
    }
    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : fake_context("cudaEventCreateWithFlags")->broken;
    if (error == cudaSuccess) {
        event = calloc(1, sizeof(*event));
        if (event == NULL) {
            fake_forbidden("the machine has no memory for the fake");
        }
        event->context = fake_context("cudaEventCreateWithFlags");
        fake_live.events++;
        *event_out = event;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (fake_context("cudaEventRecord") != stream->context || event->context != stream->context) {
        fake_forbidden("cudaEventRecord: the stream or the event is another device's");
    }
    error = error != cudaSuccess ? error : stream->context->broken;
    error = error != cudaSuccess ? error : fake_record_fails();
    if (error == cudaSuccess) {
        submit(stream, &(stream_op){.event = event, .record = ++event->recorded});
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    while (event->done < event->recorded && event->context->broken == cudaSuccess) {
        pthread_cond_wait(&fake_changed, &fake_lock);
    }
    error = error != cudaSuccess ? error : event->context->broken;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (event->done < event->recorded) {
        fake_forbidden("cudaEventDestroy: the event is still to be recorded");
    }
    error = error != cudaSuccess ? error : event->context->broken;
    fake_live.events--;
    pthread_mutex_unlock(&fake_lock);
    free(event);
    return fake_answer(error);
}
