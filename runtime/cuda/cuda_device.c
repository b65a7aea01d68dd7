/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing a CUDA device. */
#include "cuda_device.h"

#include <stdio.h>

#include "alloc_int.h"
#include "cuda_device_int.h"
#include "cuda_environment.h"
#include "cuda_error_int.h"
#include "cuda_options.h"
#include "cuda_support.h"
#include "log_int.h"
#include "status_int.h"

/* CUDA versions for which driver API entry points are requested: 12.0, and 12.5 where the driver
 * has it. */
enum { DRIVER_API = 12000, GREEN_API = 12050 };

/* Default duration for which GetNext polls before it yields. */
static const int64_t SPIN_NS = 500000;

/* kDLCUDA: memory from cudaMalloc(); device_id is cudart's ordinal. */
enum { DLPACK_CUDA = 2 };

/* Upper bound on spin_ns if the display watchdog ends kernels that run for seconds. */
static const int64_t WATCHED_SPIN_NS = 100000000;

/* Reports a driver that is missing or too old. */
static sluice_status fail_for_driver(const char *name)
{
    int version = 0;
    const cudaError_t error = cudaDriverGetVersion(&version);

    (void)cudaGetLastError();
    if (error != cudaSuccess || version == 0) {
        return sli_fail(SLUICE_E_NO_DEVICE,
                        "device %s: no NVIDIA driver on this machine "
                        "(cudaErrorInsufficientDriver); use host:0",
                        name);
    }
    return sli_fail(SLUICE_E_NO_DEVICE,
                    "device %s: the NVIDIA driver supports CUDA %d.%d, and this build needs %d.%d "
                    "(cudaErrorInsufficientDriver); update the driver, or use host:0",
                    name, version / 1000, version % 1000 / 10, CUDART_VERSION / 1000,
                    CUDART_VERSION % 1000 / 10);
}

/* Counts the CUDA devices. `name`: the device name that the user requested, for error texts. */
static sluice_status count_devices(const char *name, uint32_t *count_out)
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);

    if (error == cudaErrorInsufficientDriver) {
        return fail_for_driver(name);
    }
    if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
        (void)cudaGetLastError();
        return sli_fail(SLUICE_E_NO_DEVICE,
                        "device %s: the driver sees no GPU (cudaErrorNoDevice); look at "
                        "nvidia-smi and CUDA_VISIBLE_DEVICES, or use host:0",
                        name);
    }
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device %s: cudaGetDeviceCount", name);
    }
    *count_out = (uint32_t)count;
    return SLUICE_OK;
}

static sluice_status check_ordinal(uint32_t ordinal)
{
    char name[20];
    uint32_t count = 0;
    sluice_status st;

    snprintf(name, sizeof(name), "cuda:%u", ordinal);
    st = count_devices(name, &count);
    if (st != SLUICE_OK) {
        return st;
    }
    if (ordinal >= count) {
        return count == 1 ? sli_fail(SLUICE_E_NO_DEVICE,
                                     "device cuda:%u: there is 1 CUDA device, cuda:0", ordinal)
                          : sli_fail(SLUICE_E_NO_DEVICE,
                                     "device cuda:%u: there are %u CUDA devices, cuda:0 to cuda:%u",
                                     ordinal, count, count - 1);
    }
    return SLUICE_OK;
}

static sluice_status find_driver(cuda_device *device)
{
    cuda_driver *driver = &device->driver;
    const struct {
        const char *name;
        void *call;
    } calls[] = {{"cuDeviceGet", &driver->device_get},
                 {"cuDevicePrimaryCtxRetain", &driver->context_retain},
                 {"cuDevicePrimaryCtxRelease", &driver->context_release},
                 {"cuCtxPushCurrent", &driver->context_push},
                 {"cuCtxPopCurrent", &driver->context_pop},
                 {"cuDeviceGetAttribute", &driver->device_attribute},
                 {"cuDeviceGetName", &driver->device_name},
                 {"cuStreamBatchMemOp", &driver->stream_mem_ops},
                 {"cuStreamGetCtx", &driver->stream_context}};
    sluice_status st = SLUICE_OK;
    int version = 0;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && st == SLUICE_OK; i++) {
        st = sli_cuda_find_call(device, calls[i].name, DRIVER_API, calls[i].call);
    }
    if (st == SLUICE_OK) {
        const cudaError_t error = cudaDriverGetVersion(&version);

        st = error == cudaSuccess
                 ? st
                 : sli_cuda_fail(error, "device cuda:%u: cudaDriverGetVersion", device->ordinal);
    }
    if (st == SLUICE_OK && version >= GREEN_API) {
        st = sli_cuda_find_call(device, "cuStreamGetCtx", GREEN_API, &driver->stream_contexts);
    }
    return st;
}

static sluice_status read_caps(const cuda_device *device, sli_device_caps *caps)
{
    const int ordinal = (int)device->ordinal;
    int watched = 0;
    cudaError_t error = cudaDeviceGetAttribute(&watched, cudaDevAttrKernelExecTimeout, ordinal);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%d: cudaDeviceGetAttribute", ordinal);
    }
    error = cudaDeviceGetPCIBusId(caps->pci_bus_id, (int)sizeof(caps->pci_bus_id), ordinal);
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%d: cudaDeviceGetPCIBusId", ordinal);
    }
    if (watched != 0 && caps->spin_ns > WATCHED_SPIN_NS) {
        sli_log(SLUICE_LOG_INFO,
                "device cuda:%d: a watchdog ends long kernels; spin_us is 100000 at most", ordinal);
        caps->spin_ns = WATCHED_SPIN_NS;
    }
    return SLUICE_OK;
}

static sluice_status find_handle(cuda_device *device)
{
    const cudaError_t error =
        sli_cuda_driver_error(device->driver.device_get(&device->handle, (int)device->ordinal));

    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cuDeviceGet", device->ordinal);
}

static sluice_status read_facts(const cuda_device *device, sli_device_facts *facts)
{
    const int size = (int)sizeof(facts->model);
    int version = 0;
    cudaError_t error =
        sli_cuda_driver_error(device->driver.device_name(facts->model, size, device->handle));

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cuDeviceGetName", device->ordinal);
    }
    error = cudaDriverGetVersion(&version);
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cudaDriverGetVersion", device->ordinal);
    }
    snprintf(facts->driver, sizeof(facts->driver), "%d.%d", version / 1000, version % 1000 / 10);
    return SLUICE_OK;
}

/* Chooses the transport. Push needs stream memory operations, which some machines lack. */
static sluice_status choose_transport(const cuda_device *device, cuda_transport way,
                                      sli_device_caps *caps)
{
    int can = 0;
    cudaError_t error;

    caps->kernels = true;
    caps->pull = way == CUDA_PULL;
    if (way == CUDA_PULL) {
        return SLUICE_OK;
    }
    error = sli_cuda_driver_error(device->driver.device_attribute(
        &can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device->handle));
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cuDeviceGetAttribute", device->ordinal);
    }
    if (can == 0 && way == CUDA_PUSH) {
        return sli_fail(
            SLUICE_E_UNSUPPORTED,
            "device cuda:%u: transport=push needs 64-bit stream memory operations "
            "(cuStreamBatchMemOp), which this machine does not support; use transport=pull",
            device->ordinal);
    }
    if (can == 0) {
        sli_log(SLUICE_LOG_INFO,
                "device cuda:%u: no 64-bit stream memory operations here; transport is pull",
                device->ordinal);
        caps->pull = true;
    }
    return SLUICE_OK;
}

static void release_context(cuda_device *device)
{
    sli_cuda_warn(sli_cuda_driver_error(device->driver.context_release(device->handle)),
                  "cuDevicePrimaryCtxRelease");
}

/* Makes the context, and finds out whether kernels load in it. */
static sluice_status retain_context(cuda_device *device, const char *model)
{
    const cudaError_t error =
        sli_cuda_driver_error(device->driver.context_retain(&device->context, device->handle));
    sluice_status st;

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u (%s): cuDevicePrimaryCtxRetain",
                             device->ordinal, model);
    }
    st = cuda_support_check_kernels(device, model);
    if (st != SLUICE_OK) {
        release_context(device);
    }
    return st;
}

/* Opens the device up to its context; after an error nothing has to be given back. */
static sluice_status find_device(cuda_device *device, cuda_transport way, sli_device_caps *caps)
{
    sluice_status st = find_driver(device);

    if (st == SLUICE_OK) {
        st = read_caps(device, caps);
    }
    if (st == SLUICE_OK) {
        st = find_handle(device);
    }
    if (st == SLUICE_OK) {
        st = read_facts(device, &caps->facts);
    }
    if (st == SLUICE_OK) {
        st = cuda_support_check(device, caps->facts.model);
    }
    if (st == SLUICE_OK) {
        st = choose_transport(device, way, caps);
    }
    return st == SLUICE_OK ? retain_context(device, caps->facts.model) : st;
}

sluice_status cuda_device_open(const sli_uri *uri, sli_device_caps *caps_out, void **state_out)
{
    sli_device_caps caps = *caps_out;
    cuda_options options;
    cuda_device *device;
    sluice_status st;

    caps.spin_ns = SPIN_NS;
    caps.dlpack_type = DLPACK_CUDA;
    caps.dlpack_id = (int32_t)uri->ordinal;
    st = cuda_options_read(uri, &caps, &options);
    if (st == SLUICE_OK) {
        cuda_load_eagerly(cuda_driver_is_loaded);
        cuda_check_connections();
        st = check_ordinal(uri->ordinal);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    device = sli_calloc(1, sizeof(*device));
    if (device == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "device cuda:%u", uri->ordinal);
    }
    device->ordinal = uri->ordinal;
    device->copy_streams = options.copy_streams;
    device->poll_ns = options.poll_ns;
    st = find_device(device, options.way, &caps);
    if (st != SLUICE_OK) {
        sli_free(device);
        return st;
    }
    *caps_out = caps;
    *state_out = device;
    return SLUICE_OK;
}

void cuda_device_close(void *state)
{
    cuda_device *device = state;

    release_context(device);
    sli_free(device);
}

sluice_status cuda_device_count(uint32_t *count_out)
{
    cuda_load_eagerly(cuda_driver_is_loaded); /* before the first CUDA call */
    return count_devices("cuda:local", count_out);
}
