/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device's context: resolving driver API entry points, entering the context, and releasing
 * objects in it.
 */
#include <assert.h>
#include <string.h>

#include "cuda_device_int.h"
#include "cuda_error_int.h"
#include "log_int.h"
#include "status_int.h"

sluice_status sli_cuda_find_call(const cuda_device *device, const char *name, unsigned version,
                                 void *call_out)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *address = NULL;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found);

    if (error == cudaSuccess && found != cudaDriverEntryPointSuccess) {
        error = cudaErrorSymbolNotFound;
    }
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: %s of the driver", device->ordinal, name);
    }
    memcpy(call_out, &address, sizeof(address));
    return SLUICE_OK;
}

cudaError_t sli_cuda_stream_contexts(const cuda_device *device, cudaStream_t stream,
                                     CUcontext *context_out, CUgreenCtx *green_out)
{
    const cuda_driver *driver = &device->driver;

    *green_out = NULL;
    return sli_cuda_driver_error(driver->stream_contexts != NULL
                                     ? driver->stream_contexts(stream, context_out, green_out)
                                     : driver->stream_context(stream, context_out));
}

/* What the calling thread has entered, since the user's code that it runs in began. The library
 * itself never enters a second device within a first one. */
static _Thread_local cuda_entry current;

static sluice_status push(const cuda_device *device)
{
    const cudaError_t error = sli_cuda_driver_error(device->driver.context_push(device->context));

    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cuCtxPushCurrent", device->ordinal);
}

static void pop(const cuda_device *device)
{
    CUcontext popped;

    sli_cuda_warn(sli_cuda_driver_error(device->driver.context_pop(&popped)), "cuCtxPopCurrent");
}

sluice_status sli_cuda_enter(const cuda_device *device)
{
    const sluice_status st = current.times == 0 ? push(device) : SLUICE_OK;

    assert(current.times == 0 || current.context == device->context);
    if (st == SLUICE_OK) {
        current.context = device->context;
        current.times++;
    }
    return st;
}

void sli_cuda_leave(const cuda_device *device)
{
    assert(current.times > 0 && current.context == device->context);
    current.times--;
    if (current.times == 0) {
        pop(device);
    }
}

sluice_status sli_cuda_begin_user(const cuda_device *device, cuda_entry *outer_out)
{
    const sluice_status st = push(device);

    if (st == SLUICE_OK) {
        *outer_out = current;
        current.times = 0;
    }
    return st;
}

void sli_cuda_end_user(const cuda_device *device, const cuda_entry *outer)
{
    assert(current.times == 0);
    current = *outer;
    pop(device);
}

static void exchange_mode(void)
{
    sli_cuda_warn(cudaThreadExchangeStreamCaptureMode(&current.mode_outside),
                  "cudaThreadExchangeStreamCaptureMode");
}

sluice_status sli_cuda_enter_thread(const cuda_device *device)
{
    const sluice_status st = sli_cuda_enter(device);

    if (st == SLUICE_OK && current.times == 1) {
        current.mode_outside = cudaStreamCaptureModeRelaxed;
        exchange_mode();
    }
    return st;
}

void sli_cuda_leave_thread(const cuda_device *device)
{
    if (current.times == 1) {
        exchange_mode();
    }
    sli_cuda_leave(device);
}

void sli_cuda_give_back(const cuda_device *device, cudaError_t (*call)(void *), void *object,
                        const char *name)
{
    const bool entered = sli_cuda_enter(device) == SLUICE_OK;

    if (!entered) {
        sli_log(SLUICE_LOG_WARN, "%s: %s", name, sluice_last_error());
    }
    sli_cuda_warn(call(object), name);
    if (entered) {
        sli_cuda_leave(device);
    }
}
