/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a CUDA device, its memory, and page-locked host memory. */
#include "cuda_device.h"

#include <string.h>
#include <sys/resource.h>

#include "alloc_int.h"
#include "cuda_error.h"
#include "log_int.h"
#include "status_int.h"

/* The driver's calls are asked for as this version of CUDA has them. */
enum { DRIVER_API = 12000 };

/* How long GetNext polls before it yields, when nobody says. */
static const int64_t SPIN_NS = 500000;

/* The most where kernels that run for seconds are ended by the display's watchdog. */
static const int64_t WATCHED_SPIN_NS = 100000000;

/* ---- the context ----------------------------------------------------------------------------- */

/* Results of the driver and errors of the runtime have the same numbers. */
static cudaError_t error_of(CUresult result)
{
    return (cudaError_t)result;
}

sluice_status sli_cuda_enter(const cuda_device *device)
{
    const cudaError_t error = error_of(device->driver.context_push(device->context));

    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cuCtxPushCurrent", device->ordinal);
}

void sli_cuda_leave(const cuda_device *device)
{
    CUcontext popped;

    sli_cuda_warn(error_of(device->driver.context_pop(&popped)), "cuCtxPopCurrent");
}

/* ---- opening --------------------------------------------------------------------------------- */

static sluice_status read_options(const sli_uri *uri, sli_device_caps *caps)
{
    for (uint32_t i = 0; i < uri->option_count; i++) {
        const char *key = uri->options[i].key;
        const bool spin = strcmp(key, "spin_us") == 0;
        int64_t number = 0;
        sluice_status st;

        if (!spin && strcmp(key, "node") != 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "device option %s is unknown; cuda takes spin_us and node", key);
        }
        st = sli_uri_number(key, uri->options[i].value, 0, spin ? 1000000 : 1023, &number);
        if (st != SLUICE_OK) {
            return st;
        }
        if (spin) {
            caps->spin_ns = number * 1000;
        } else {
            caps->node = (int32_t)number;
        }
    }
    return SLUICE_OK;
}

/* There is no driver, or one that is too old. */
static sluice_status fail_for_driver(uint32_t ordinal)
{
    int version = 0;
    const cudaError_t error = cudaDriverGetVersion(&version);

    (void)cudaGetLastError();
    if (error != cudaSuccess || version == 0) {
        return sli_fail(SLUICE_E_NO_DEVICE,
                        "device cuda:%u: no NVIDIA driver on this machine "
                        "(cudaErrorInsufficientDriver); use host:0",
                        ordinal);
    }
    return sli_fail(SLUICE_E_NO_DEVICE,
                    "device cuda:%u: the NVIDIA driver knows CUDA %d.%d, too old for this build's "
                    "%d.%d (cudaErrorInsufficientDriver); update the driver, or use host:0",
                    ordinal, version / 1000, version % 1000 / 10, CUDART_VERSION / 1000,
                    CUDART_VERSION % 1000 / 10);
}

static sluice_status check_ordinal(uint32_t ordinal)
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);

    if (error == cudaErrorInsufficientDriver) {
        return fail_for_driver(ordinal);
    }
    if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
        (void)cudaGetLastError();
        return sli_fail(SLUICE_E_NO_DEVICE,
                        "device cuda:%u: the driver sees no GPU (cudaErrorNoDevice); look at "
                        "nvidia-smi and CUDA_VISIBLE_DEVICES, or use host:0",
                        ordinal);
    }
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cudaGetDeviceCount", ordinal);
    }
    if (ordinal >= (uint32_t)count) {
        return count == 1 ? sli_fail(SLUICE_E_NO_DEVICE,
                                     "device cuda:%u: there is 1 CUDA device, cuda:0", ordinal)
                          : sli_fail(SLUICE_E_NO_DEVICE,
                                     "device cuda:%u: there are %d CUDA devices, cuda:0 to cuda:%d",
                                     ordinal, count, count - 1);
    }
    return SLUICE_OK;
}

/* call_out is the address of a pointer to a function. */
static sluice_status find_call(const cuda_device *device, const char *name, void *call_out)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *address = NULL;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &address, DRIVER_API, cudaEnableDefault, &found);

    if (error == cudaSuccess && found != cudaDriverEntryPointSuccess) {
        error = cudaErrorSymbolNotFound;
    }
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: %s of the driver", device->ordinal, name);
    }
    memcpy(call_out, &address, sizeof(address));
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
                 {"cuCtxPopCurrent", &driver->context_pop}};
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && st == SLUICE_OK; i++) {
        st = find_call(device, calls[i].name, calls[i].call);
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

static sluice_status retain_context(cuda_device *device)
{
    cudaError_t error = error_of(device->driver.device_get(&device->handle, (int)device->ordinal));

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cuDeviceGet", device->ordinal);
    }
    error = error_of(device->driver.context_retain(&device->context, device->handle));
    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cuDevicePrimaryCtxRetain", device->ordinal);
}

static sluice_status cuda_open(const sli_uri *uri, sli_device_caps *caps_out, void **state_out)
{
    sli_device_caps caps = *caps_out;
    cuda_device *device;
    sluice_status st;

    caps.spin_ns = SPIN_NS;
    st = read_options(uri, &caps);
    if (st == SLUICE_OK) {
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
    st = find_driver(device);
    if (st == SLUICE_OK) {
        st = read_caps(device, &caps);
    }
    if (st == SLUICE_OK) {
        st = retain_context(device); /* last: nothing after it can fail */
    }
    if (st != SLUICE_OK) {
        sli_free(device);
        return st;
    }
    *caps_out = caps;
    *state_out = device;
    return SLUICE_OK;
}

static void cuda_close(void *state)
{
    cuda_device *device = state;

    sli_cuda_warn(error_of(device->driver.context_release(device->handle)),
                  "cuDevicePrimaryCtxRelease");
    sli_free(device);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static sluice_status cuda_mem_alloc(void *state, size_t bytes, void **block_out)
{
    const cuda_device *device = state;
    void *block = NULL;
    sluice_status st = sli_cuda_enter(device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = cudaMalloc(&block, bytes);
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "device cuda:%u: %zu bytes of device memory", device->ordinal,
                           bytes);
    } else {
        *block_out = block;
    }
    sli_cuda_leave(device);
    return st;
}

/*
 * Gives something back by one call of CUDA; there is nobody to tell of an error. The call is made
 * without the context, too: from the address CUDA knows whose the block is.
 */
static void give_back(const cuda_device *device, cudaError_t (*call)(void *), void *block,
                      const char *name)
{
    const bool entered = sli_cuda_enter(device) == SLUICE_OK;

    if (!entered) {
        sli_log(SLUICE_LOG_WARN, "%s: %s", name, sluice_last_error());
    }
    sli_cuda_warn(call(block), name);
    if (entered) {
        sli_cuda_leave(device);
    }
}

static void cuda_mem_free(void *state, void *block, size_t bytes)
{
    (void)bytes;
    give_back(state, cudaFree, block, "cudaFree");
}

/* Says what may be locked. */
static sluice_status fail_to_lock(const cuda_device *device, size_t bytes, cudaError_t error)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY) {
        return sli_cuda_fail(error,
                             "device cuda:%u: cannot lock %zu bytes of host memory (ulimit -l sets "
                             "no limit; is there enough free memory?)",
                             device->ordinal, bytes);
    }
    return sli_cuda_fail(error,
                         "device cuda:%u: cannot lock %zu bytes of host memory (ulimit -l is %llu "
                         "kB; raise it, or allow less memory)",
                         device->ordinal, bytes, (unsigned long long)limit.rlim_cur / 1024);
}

static sluice_status cuda_mem_register(void *state, void *block, size_t bytes)
{
    const cuda_device *device = state;
    sluice_status st = sli_cuda_enter(device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    /* Mapped, so that the device can read words in it; portable, so that every device can. */
    error = cudaHostRegister(block, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
    if (error != cudaSuccess) {
        st = fail_to_lock(device, bytes, error);
    }
    sli_cuda_leave(device);
    return st;
}

static void cuda_mem_unregister(void *state, void *block, size_t bytes)
{
    (void)bytes;
    give_back(state, cudaHostUnregister, block, "cudaHostUnregister");
}

const sli_backend sli_cuda_backend = {
    .kind = "cuda",
    .by_name_only = true,
    .open = cuda_open,
    .close = cuda_close,
    .mem_alloc = cuda_mem_alloc,
    .mem_free = cuda_mem_free,
    .mem_register = cuda_mem_register,
    .mem_unregister = cuda_mem_unregister,
    .stream_open = sli_cuda_stream_open,
    .stream_close = sli_cuda_stream_close,
    .stream_copy = sli_cuda_stream_copy,
    .stream_write = sli_cuda_stream_write,
    .stream_call = sli_cuda_stream_call,
    .stream_wait = sli_cuda_stream_wait,
    .stream_status = sli_cuda_stream_status,
};
