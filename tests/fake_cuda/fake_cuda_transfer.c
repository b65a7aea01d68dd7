/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's copies and fills, and memory that is allocated in a stream's order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "fake_cuda_work.h"

enum { POISON = 0xA5 };

static fake_area *areas;

static void sleep_us(int64_t duration_us)
{
    struct timespec left = {.tv_sec = duration_us / 1000000,
                            .tv_nsec = duration_us % 1000000 * 1000};

    while (duration_us > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

static fake_place place_of(const void *address, size_t bytes)
{
    fake_place place = {.block = fake_block_of(address, bytes),
                        .range = fake_range_of(address, bytes),
                        .area = fake_area_of(address, bytes)};

    place.device = place.block != NULL || place.area != NULL;
    place.at = place.block != NULL
                   ? place.block->storage + ((uintptr_t)address - (uintptr_t)place.block->address)
                   : (unsigned char *)(uintptr_t)address;
    return place;
}

static bool is_devices(const fake_place *place, CUcontext context)
{
    return place->device && (place->block == NULL || place->block->context == context);
}

/* Does a side of a copy lie where its direction says? */
static bool side_fits(const fake_place *place, CUcontext context, bool device,
                      enum cudaMemcpyKind way)
{
    return place->device ? (device || way == cudaMemcpyDefault) && is_devices(place, context)
                         : !device || way == cudaMemcpyDefault;
}

static void hold_place(fake_place *place, int by)
{
    if (place->block != NULL) {
        place->block->copies += by;
    }
    if (place->range != NULL) {
        place->range->copies += by;
    }
    if (place->area != NULL && by > 0) {
        place->area->holders++;
    } else if (place->area != NULL) {
        fake_area_release(place->area);
    }
}

cudaError_t fake_pin(CUcontext context, fake_work *work)
{
    const enum cudaMemcpyKind way = work->way;
    const bool copy = work->kind == FAKE_COPY;

    work->to_place = place_of(work->to, work->bytes);
    if (!copy && !is_devices(&work->to_place, context)) {
        return cudaErrorInvalidValue;
    }
    if (copy) {
        work->from_place = place_of(work->from, work->bytes);
        if (!side_fits(&work->to_place, context,
                       way == cudaMemcpyHostToDevice || way == cudaMemcpyDeviceToDevice, way) ||
            !side_fits(&work->from_place, context,
                       way == cudaMemcpyDeviceToHost || way == cudaMemcpyDeviceToDevice, way)) {
            return cudaErrorInvalidValue;
        }
        hold_place(&work->from_place, 1);
    }
    hold_place(&work->to_place, 1);
    work->pinned = true;
    return cudaSuccess;
}

void fake_unpin(fake_work *work)
{
    if (work->pinned) {
        hold_place(&work->to_place, -1);
        if (work->kind == FAKE_COPY) {
            hold_place(&work->from_place, -1);
        }
        work->pinned = false;
    }
}

/* ---- copies ---------------------------------------------------------------------------------- */

bool fake_feeds(const fake_work *work)
{
    return work->kind == FAKE_COPY && work->pinned && work->to_place.device &&
           !work->from_place.device;
}

static void count_pageable(const fake_work *work)
{
    if ((!work->to_place.device && work->to_place.range == NULL) ||
        (!work->from_place.device && work->from_place.range == NULL)) {
        fake_count_pageable();
    }
}

void fake_do_transfer(CUcontext context, fake_work *work)
{
    const bool feeds = fake_feeds(work);
    cudaError_t error = context->broken;
    int64_t duration_us =
        (feeds ? fake_copy_us() : 0) + (feeds || work->kind == FAKE_WORD ? fake_jitter_us() : 0);

    if (error == cudaSuccess && !work->pinned) {
        error = fake_pin(context, work) != cudaSuccess ? cudaErrorIllegalAddress : cudaSuccess;
    }
    if (error == cudaSuccess && feeds) {
        error = fake_copy_fails();
    }
    if (error == cudaSuccess) {
        pthread_mutex_unlock(&fake_lock);
        sleep_us(duration_us);
        if (work->kind == FAKE_COPY) {
            memmove(work->to_place.at, work->from_place.at, work->bytes);
        } else if (work->kind == FAKE_WORD) {
            __atomic_store_n((uint64_t *)(void *)work->to_place.at, work->word, __ATOMIC_RELEASE);
        } else {
            memset(work->to_place.at, work->value, work->bytes);
        }
        pthread_mutex_lock(&fake_lock);
    } else {
        context->broken = error;
    }
    if (work->kind == FAKE_COPY && work->pinned) {
        count_pageable(work);
    }
    fake_unpin(work);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind way,
                            cudaStream_t stream)
{
    cudaError_t error = fake_call();
    fake_work work = {.kind = FAKE_COPY, .to = to, .from = from, .bytes = bytes, .way = way};

    pthread_mutex_lock(&fake_lock);
    error = fake_give(__func__, stream, &work, error);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = fake_call();
    fake_work work = {.kind = FAKE_SET, .to = to, .value = value, .bytes = bytes};

    pthread_mutex_lock(&fake_lock);
    error = fake_give(__func__, stream, &work, error);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

CUresult fake_stream_mem_ops(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops,
                             unsigned int flags)
{
    cudaError_t error = fake_call_of("cuStreamBatchMemOp");

    pthread_mutex_lock(&fake_lock);
    if (count == 0 || count > 255 || flags != 0) {
        fake_forbidden("cuStreamBatchMemOp: not 1 to 255 operations");
    }
    for (unsigned int i = 0; i < count && (i == 0 || error == cudaSuccess); i++) {
        const struct CUstreamMemOpWriteValueParams_st *write = &ops[i].writeValue;
        fake_work work = {.kind = FAKE_WORD,
                          .to = (void *)(uintptr_t)write->address,
                          .bytes = 8,
                          .word = write->value64};

        if (write->operation != CU_STREAM_MEM_OP_WRITE_VALUE_64 ||
            write->flags != CU_STREAM_WRITE_VALUE_DEFAULT || write->address % 8 != 0) {
            fake_forbidden("cuStreamBatchMemOp: not the fenced write of 8 bytes that the library "
                           "means");
        }
        error = fake_give("cuStreamBatchMemOp", stream, &work, error);
        if (error == cudaErrorInvalidValue) {
            fake_forbidden("cuStreamBatchMemOp: not into memory of the stream's device");
        }
    }
    pthread_mutex_unlock(&fake_lock);
    return (CUresult)error;
}

/* In the caller, behind the work of the legacy default stream. */
static cudaError_t transfer_now(const char *call, fake_work *work, cudaError_t error)
{
    CUcontext context;

    pthread_mutex_lock(&fake_lock);
    context = fake_context(call);
    error = error != cudaSuccess ? error : context->broken;
    if (error == cudaSuccess) {
        fake_wait_legacy(context);
    }
    error = error != cudaSuccess ? error : fake_pin(context, work);
    if (error == cudaSuccess) {
        const bool copy = work->kind == FAKE_COPY;

        pthread_mutex_unlock(&fake_lock);
        if (copy) {
            memmove(work->to_place.at, work->from_place.at, work->bytes);
        } else if (work->kind == FAKE_WORD) {
            __atomic_store_n((uint64_t *)(void *)work->to_place.at, work->word, __ATOMIC_RELEASE);
        } else {
            memset(work->to_place.at, work->value, work->bytes);
        }
        pthread_mutex_lock(&fake_lock);
        fake_unpin(work);
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind way)
{
    fake_work work = {.kind = FAKE_COPY, .to = to, .from = from, .bytes = bytes, .way = way};

    return transfer_now(__func__, &work, fake_call());
}

cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    fake_work work = {.kind = FAKE_SET, .to = to, .value = value, .bytes = bytes};

    return transfer_now(__func__, &work, fake_call());
}

/* ---- memory in a stream's order -------------------------------------------------------------- */

fake_area *fake_area_of(const void *address, size_t bytes)
{
    const uintptr_t first = (uintptr_t)address;

    for (fake_area *area = areas; area != NULL; area = area->next) {
        const uintptr_t start = (uintptr_t)area->address;

        if (first >= start && first + bytes <= start + area->bytes) {
            return area;
        }
    }
    return NULL;
}

void fake_area_release(fake_area *area)
{
    fake_area **link = &areas;

    if (--area->holders > 0) {
        return;
    }
    while (*link != area) {
        link = &(*link)->next;
    }
    *link = area->next;
    free(area->address);
    free(area);
    fake_live.blocks--;
}

static fake_area *new_area(size_t bytes)
{
    fake_area *area = calloc(1, sizeof(*area));

    if (area != NULL) {
        area->address = aligned_alloc(256, (bytes + 255) / 256 * 256);
    }
    if (area == NULL || area->address == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return NULL;
    }
    memset(area->address, POISON, bytes);
    area->bytes = bytes;
    area->holders = 1;
    area->next = areas;
    areas = area;
    fake_live.blocks++;
    return area;
}

/* Both in graphs: what a node allocates is there as long as the graph is. */
void fake_do_memory(const fake_work *work)
{
    fake_area *area = work->area;

    if (work->kind == FAKE_ALLOC) {
        memset(area->address, POISON, area->bytes);
    } else if (work->kind == FAKE_FREE && !area->freed) {
        area->freed = true;
        fake_area_release(area); /* the allocation's own hold; the work has another */
    }
}

cudaError_t cudaMallocAsync(void **address_out, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = fake_call();
    fake_work work = {.kind = FAKE_ALLOC};
    cudaError_t entered;

    pthread_mutex_lock(&fake_lock);
    entered = fake_enter_stream(__func__, &stream);
    error = error != cudaSuccess ? error : entered;
    if (error == cudaSuccess) {
        void *address;

        work.area = new_area(bytes);
        address = work.area->address;
        if (stream->capture != NULL) {
            work.area->freed = true; /* it has no hold of its own: the nodes have all */
            error = fake_capture_add(stream, &work, NULL);
        }
        *address_out = error == cudaSuccess ? address : *address_out;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaFreeAsync(void *address, cudaStream_t stream)
{
    cudaError_t error = fake_call();
    fake_work work = {.kind = FAKE_FREE};
    cudaError_t given;

    pthread_mutex_lock(&fake_lock);
    work.area = fake_area_of(address, 1);
    if (work.area == NULL || work.area->address != address) {
        fake_forbidden("cudaFreeAsync: nothing of cudaMallocAsync's begins there");
    }
    work.area->holders++;
    given = fake_give(__func__, stream, &work, cudaSuccess); /* whatever the call answers */
    error = error != cudaSuccess ? error : given;
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* ---- work ------------------------------------------------------------------------------------ */

fake_work fake_work_copy(const fake_work *work)
{
    fake_work copy = *work;

    if (work->kernel != NULL) {
        const fake_kernel_call *call = work->kernel;

        copy.kernel = fake_kernel_call_make(call->kernel, call->blocks, call->threads, call->args);
    }
    if (work->area != NULL) {
        work->area->holders++;
    }
    return copy;
}

void fake_work_free(fake_work *work)
{
    fake_unpin(work);
    free(work->kernel);
    free(work->tickets);
    if (work->area != NULL) {
        fake_area_release(work->area);
    }
    *work = (fake_work){.kind = FAKE_NOTHING};
}
