/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA device. No code of ours runs on it here, so a C compiler and cudart are all that this
 * folder needs; cudart looks for the driver when a device is opened.
 *
 * Which device a CUDA call means is a property of the thread. Threads of the library and of its
 * user come by in any order, so each entry point pushes the device's context and pops it again:
 * the caller's own is current afterwards, or none. Setting the device and setting it back would
 * not do: cudaSetDevice() makes a context where there is none, and so every process that opens
 * cuda:3 would take memory on device 0 by going back to it. A thread of the library that stays
 * inside for long pushes once: what it enters again meanwhile is only counted.
 *
 * Streams are non-blocking ones: nothing waits for the legacy default stream, or it for us.
 */
#ifndef SLUICE_CUDA_DEVICE_H
#define SLUICE_CUDA_DEVICE_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "backend_int.h"

/* Calls of the driver, found at open: the library is not linked with it. */
typedef struct cuda_driver {
    PFN_cuDeviceGet_v2000 device_get;
    PFN_cuDevicePrimaryCtxRetain_v7000 context_retain;
    PFN_cuDevicePrimaryCtxRelease_v11000 context_release;
    PFN_cuCtxPushCurrent_v4000 context_push;
    PFN_cuCtxPopCurrent_v4000 context_pop;
    PFN_cuDeviceGetAttribute_v2000 device_attribute;
    PFN_cuDeviceGetName_v2000 device_name;
    PFN_cuStreamBatchMemOp_v11070 stream_mem_ops;
    PFN_cuStreamGetCtx_v9020 stream_context;
} cuda_driver;

typedef struct cuda_device {
    uint32_t ordinal;
    CUdevice handle;
    CUcontext context; /* the primary one, which cudart uses too; retained until close */
    cuda_driver driver;
} cuda_device;

/*
 * A call of the driver, as that version of CUDA has it. call_out is the address of a pointer to a
 * function. What the driver does not have is an error of the device.
 */
sluice_status sli_cuda_find_call(const cuda_device *device, const char *name, unsigned version,
                                 void *call_out);

/* Makes the device's context the calling thread's. After OK, one leave. */
sluice_status sli_cuda_enter(const cuda_device *device);
void sli_cuda_leave(const cuda_device *device);

/*
 * The same for a thread of the library's own, for as long as it uses the device. A user's capture
 * of mode global, his default, would forbid all threads to wait for an event, and be spoilt by one
 * that tries; one in mode relaxed is none of its business. No code of a user's runs in between:
 * what his own captures must not hold would no longer be refused.
 */
sluice_status sli_cuda_enter_thread(const cuda_device *device);
void sli_cuda_leave_thread(const cuda_device *device);

/*
 * Gives something back by one call of CUDA; there is nobody to tell of an error. The call is made
 * without the context, too, where that cannot be entered: CUDA knows whose the object is.
 */
void sli_cuda_give_back(const cuda_device *device, cudaError_t (*call)(void *), void *object,
                        const char *name);

sluice_status sli_cuda_stream_open(void *state, const char *name, const sli_cpus *cpus,
                                   void **stream_out);
void sli_cuda_stream_close(void *stream);
sluice_status sli_cuda_stream_copy(void *stream, void *to, const void *from, size_t bytes);
sluice_status sli_cuda_stream_publish(void *stream, uint64_t *words, const uint64_t *values,
                                      uint32_t count);
sluice_status sli_cuda_stream_write(void *stream, uint64_t *word, uint64_t value, sli_event *wake);
sluice_status sli_cuda_stream_call(void *stream, void (*call)(void *arg), void *arg);
sluice_status sli_cuda_stream_wait(void *stream, int64_t timeout_ns);
sluice_status sli_cuda_stream_status(void *stream);

/*
 * For what only CUDA can put into a stream. enqueue(arg) is called with the device's context
 * current, and gives the handle what it likes; the stream's wait waits for that, too. After an
 * error in the stream it is left out, as copies are; one that it returns is the stream's.
 */
sluice_status sli_cuda_stream_enqueue(void *stream, sluice_status (*enqueue)(void *arg), void *arg);
cudaStream_t sli_cuda_stream_handle(void *stream);

#endif
