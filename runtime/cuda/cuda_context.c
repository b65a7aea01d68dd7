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

/*
 * The context that the calling thread has entered, and the nesting depth. A thread never enters a
 * second device.
 */
static _Thread_local CUcontext inside;
static _Thread_local uint32_t times_inside;

sluice_status sli_cuda_enter(const cuda_device *device)
{
    cudaError_t error = cudaSuccess;

    assert(times_inside == 0 || inside == device->context);
    if (times_inside == 0) {
        error = sli_cuda_driver_error(device->driver.context_push(device->context));
    }
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cuCtxPushCurrent", device->ordinal);
    }
    inside = device->context;
    times_inside++;
    return SLUICE_OK;
}

void sli_cuda_leave(const cuda_device *device)
{
    CUcontext popped;

    assert(times_inside > 0 && inside == device->context);
    times_inside--;
    if (times_inside > 0) {
        return;
    }
    sli_cuda_warn(sli_cuda_driver_error(device->driver.context_pop(&popped)), "cuCtxPopCurrent");
}

/* The thread's capture mode from before it entered the context, restored when it leaves. */
static _Thread_local enum cudaStreamCaptureMode mode_outside;

static void exchange_mode(void)
{
    sli_cuda_warn(cudaThreadExchangeStreamCaptureMode(&mode_outside),
                  "cudaThreadExchangeStreamCaptureMode");
}

sluice_status sli_cuda_enter_thread(const cuda_device *device)
{
    const sluice_status st = sli_cuda_enter(device);

    if (st == SLUICE_OK && times_inside == 1) {
        mode_outside = cudaStreamCaptureModeRelaxed;
        exchange_mode();
    }
    return st;
}

void sli_cuda_leave_thread(const cuda_device *device)
{
    if (times_inside == 1) {
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
