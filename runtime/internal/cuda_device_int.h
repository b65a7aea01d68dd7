/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA device: its context, driver API entry points, and operations that only CUDA streams have.
 * It is built by a C compiler with cudart, which loads the driver when a device is opened.
 *
 * The current device of a CUDA call is a property of the calling thread. Each entry point of the
 * library pushes the device's context and pops it again, so that the caller's own context, or none,
 * is current afterwards. cudaSetDevice() cannot do this: setting the old device back creates a
 * context if it has none, so a process that opens cuda:3 would use memory on device 0. A library
 * thread that uses the device for a long time pushes the context once; nested calls only count.
 *
 * Streams are created with cudaStreamNonBlocking: they do not synchronize with the legacy default
 * stream. The one exception executes nothing: a step is captured in a blocking stream
 * (step_capture.c).
 */
#ifndef SLUICE_CUDA_DEVICE_INT_H
#define SLUICE_CUDA_DEVICE_INT_H

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "backend_int.h"

/* CUDA driver API entry points, resolved when the device is opened: the library is not linked with
 * libcuda. */
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
    PFN_cuStreamGetCtx_v12050 stream_contexts; /* NULL: an older driver, without green contexts */
} cuda_driver;

enum { CUDA_MOST_COPY_STREAMS = 2 };

typedef struct cuda_device {
    uint32_t ordinal;
    uint32_t copy_streams; /* number of CUDA streams that batch copies alternate between; 1 or 2 */
    int64_t poll_ns;       /* how long a host thread polls the device before it blocks */
    CUdevice handle;
    CUcontext context; /* the primary context, which cudart uses, too; retained until close */
    cuda_driver driver;
} cuda_device;

/* Converts a driver API result to a runtime API error: the numbers are the same. */
static inline cudaError_t sli_cuda_driver_error(CUresult result)
{
    return (cudaError_t)result;
}

/*
 * Resolves a CUDA driver API entry point for the given version (12000: CUDA 12.0). call_out is the
 * address of a function pointer. Returns E_DEVICE if the driver does not have the function.
 */
sluice_status sli_cuda_find_call(const cuda_device *device, const char *name, unsigned version,
                                 void *call_out);

/* The context of the user's stream, and its green context; NULL: it has none. */
cudaError_t sli_cuda_stream_contexts(const cuda_device *device, cudaStream_t stream,
                                     CUcontext *context_out, CUgreenCtx *green_out);

/* Makes the device's context current in the calling thread. Each enter that returns OK needs one
 * leave. */
sluice_status sli_cuda_enter(const cuda_device *device);
void sli_cuda_leave(const cuda_device *device);

/*
 * Around a call of the user's code within an entry. The device's context is pushed for it again,
 * and entries within the code are counted from 0: it may use other devices, by cudaSetDevice() or
 * by calls of this library, and leave any context current. outer_out keeps the thread's state for
 * the end.
 */
typedef struct cuda_entry {
    CUcontext context;
    uint32_t times;                          /* how often it was entered; 0: not */
    enum cudaStreamCaptureMode mode_outside; /* the thread's from before, restored when it leaves */
} cuda_entry;

sluice_status sli_cuda_begin_user(const cuda_device *device, cuda_entry *outer_out);
void sli_cuda_end_user(const cuda_device *device, const cuda_entry *outer);

/*
 * sli_cuda_enter() for a library thread that uses the device for a long time: also sets the
 * thread's capture mode to relaxed. While a user captures a stream in mode global (the default),
 * waiting for an event in any thread that is not in relaxed mode fails and invalidates the capture.
 * No user code may run before the leave: CUDA would no longer refuse calls that the user's own
 * captures must not contain.
 */
sluice_status sli_cuda_enter_thread(const cuda_device *device);
void sli_cuda_leave_thread(const cuda_device *device);

/*
 * Releases an object by the CUDA function `call`, named `name`; an error is logged as a warning. If
 * the context cannot be entered, the call is made without it: the object itself identifies its
 * device.
 */
void sli_cuda_give_back(const cuda_device *device, cudaError_t (*call)(void *), void *object,
                        const char *name);

/*
 * Enqueues work that only CUDA has, such as launches. enqueue(arg) is called with the device's
 * context current and may submit any work to the stream's handle; the stream's wait includes it.
 * After an error in the stream the call is skipped, as copies are. An error that enqueue() returns
 * becomes the stream's error.
 */
sluice_status sli_cuda_stream_enqueue(void *stream, sluice_status (*enqueue)(void *arg), void *arg);
cudaStream_t sli_cuda_stream_handle(void *stream); /* only for SLI_STREAM_STEPS */

/*
 * Notifies `wake` once the event has completed or failed. The event must have been created with
 * cudaEventBlockingSync and recorded; it must not be recorded again before the notification.
 */
sluice_status sli_cuda_stream_notify(void *stream, cudaEvent_t event, sli_event *wake);

/* The number of times so far that a thread which slept on the stream was woken, by another thread
 * or by the device. */
uint64_t sli_cuda_stream_wakes(void *stream);

#endif
