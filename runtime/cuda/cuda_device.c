/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a CUDA device, its memory, and page-locked host memory. */
#include "cuda_device.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "alloc_int.h"
#include "cuda_error.h"
#include "cuda_loading.h"
#include "log_int.h"
#include "status_int.h"

/* The driver's calls are asked for as this version of CUDA has them. */
enum { DRIVER_API = 12000 };

/* How long GetNext polls before it yields, when nobody says. */
static const int64_t SPIN_NS = 500000;

/* kDLCUDA, memory of a device as cudaMalloc() gives it; its number is cudart's. */
enum { DLPACK_CUDA = 2 };

/* The most where kernels that run for seconds are ended by the display's watchdog. */
static const int64_t WATCHED_SPIN_NS = 100000000;

/* ---- the context ----------------------------------------------------------------------------- */

/* Results of the driver and errors of the runtime have the same numbers. */
static cudaError_t error_of(CUresult result)
{
    return (cudaError_t)result;
}

/* The context that the calling thread is in, and how often it has entered it. Nobody who is inside
 * one device goes into another. */
static _Thread_local CUcontext inside;
static _Thread_local uint32_t times_inside;

sluice_status sli_cuda_enter(const cuda_device *device)
{
    cudaError_t error = cudaSuccess;

    assert(times_inside == 0 || inside == device->context);
    if (times_inside == 0) {
        error = error_of(device->driver.context_push(device->context));
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
    sli_cuda_warn(error_of(device->driver.context_pop(&popped)), "cuCtxPopCurrent");
}

/* What the thread's captures, and those of others, forbid it outside the device. */
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

/* ---- opening --------------------------------------------------------------------------------- */

/* How batches come to the device. UNSAID: by push, if it can. */
typedef enum transport { UNSAID, PUSH, PULL } transport;

static sluice_status read_transport(const char *value, transport *transport_out)
{
    if (strcmp(value, "push") != 0 && strcmp(value, "pull") != 0) {
        return sli_fail(SLUICE_E_INVALID, "device option transport=%s; want push or pull", value);
    }
    *transport_out = strcmp(value, "push") == 0 ? PUSH : PULL;
    return SLUICE_OK;
}

/* The options that are numbers, with where they go. */
static sluice_status read_number(const char *key, const char *value, sli_device_caps *caps)
{
    static const struct {
        const char *key;
        int64_t low;
        int64_t high;
    } known[] = {{"spin_us", 0, 1000000}, {"node", 0, 1023}, {"unroll", 1, 64}};
    int64_t number = 0;
    size_t i = 0;
    sluice_status st;

    while (i < sizeof(known) / sizeof(known[0]) && strcmp(key, known[i].key) != 0) {
        i++;
    }
    if (i == sizeof(known) / sizeof(known[0])) {
        return sli_fail(SLUICE_E_INVALID,
                        "device option %s is unknown; cuda takes spin_us, node, transport and "
                        "unroll",
                        key);
    }
    st = sli_uri_number(key, value, known[i].low, known[i].high, &number);
    if (st != SLUICE_OK) {
        return st;
    }
    if (i == 0) {
        caps->spin_ns = number * 1000;
    } else if (i == 1) {
        caps->node = (int32_t)number;
    } else {
        caps->unroll = (uint32_t)number;
    }
    return SLUICE_OK;
}

static sluice_status read_options(const sli_uri *uri, sli_device_caps *caps, transport *way)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < uri->option_count && st == SLUICE_OK; i++) {
        const char *key = uri->options[i].key;
        const char *value = uri->options[i].value;

        st = strcmp(key, "transport") == 0 ? read_transport(value, way)
                                           : read_number(key, value, caps);
    }
    return st;
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

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && st == SLUICE_OK; i++) {
        st = sli_cuda_find_call(device, calls[i].name, DRIVER_API, calls[i].call);
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
        error_of(device->driver.device_get(&device->handle, (int)device->ordinal));

    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cuDeviceGet", device->ordinal);
}

static sluice_status read_facts(const cuda_device *device, sli_device_facts *facts)
{
    const int size = (int)sizeof(facts->model);
    int version = 0;
    cudaError_t error = error_of(device->driver.device_name(facts->model, size, device->handle));

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

/* Push publishes by words that the stream writes, which not every machine has. */
static sluice_status choose_transport(const cuda_device *device, transport way,
                                      sli_device_caps *caps)
{
    int can = 0;
    cudaError_t error;

    caps->kernels = true;
    caps->pull = way == PULL;
    if (way == PULL) {
        return SLUICE_OK;
    }
    error = error_of(device->driver.device_attribute(
        &can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, device->handle));
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cuDeviceGetAttribute", device->ordinal);
    }
    if (can == 0 && way == PUSH) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "device cuda:%u: transport=push needs 64-bit stream memory operations "
                        "(cuStreamBatchMemOp), which this machine has not; use transport=pull",
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

static sluice_status retain_context(cuda_device *device)
{
    const cudaError_t error =
        error_of(device->driver.context_retain(&device->context, device->handle));
    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cuDevicePrimaryCtxRetain", device->ordinal);
}

static sluice_status cuda_open(const sli_uri *uri, sli_device_caps *caps_out, void **state_out)
{
    sli_device_caps caps = *caps_out;
    transport way = UNSAID;
    cuda_device *device;
    sluice_status st;

    caps.spin_ns = SPIN_NS;
    caps.dlpack_type = DLPACK_CUDA;
    caps.dlpack_id = (int32_t)uri->ordinal;
    st = read_options(uri, &caps, &way);
    if (st == SLUICE_OK) {
        sli_cuda_load_eagerly(sli_cuda_driver_is_loaded);
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
        st = find_handle(device);
    }
    if (st == SLUICE_OK) {
        st = read_facts(device, &caps.facts);
    }
    if (st == SLUICE_OK) {
        st = choose_transport(device, way, &caps);
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

static void cuda_mem_free(void *state, void *block, size_t bytes)
{
    (void)bytes;
    sli_cuda_give_back(state, cudaFree, block, "cudaFree");
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
    sli_cuda_give_back(state, cudaHostUnregister, block, "cudaHostUnregister");
}

static sluice_status cuda_mem_device_address(void *state, void *host_block, void **address_out)
{
    const cuda_device *device = state;
    void *address = NULL;
    sluice_status st = sli_cuda_enter(device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = cudaHostGetDevicePointer(&address, host_block, 0);
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "device cuda:%u: cudaHostGetDevicePointer", device->ordinal);
    } else {
        *address_out = address;
    }
    sli_cuda_leave(device);
    return st;
}

/* On a stream of its own: cudaMemset() is the legacy default stream's, which waits for others. */
static cudaError_t clear(void *block, size_t bytes)
{
    cudaStream_t stream;
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaError_t waited;

    if (error != cudaSuccess) {
        return error;
    }
    error = cudaMemsetAsync(block, 0, bytes, stream);
    waited = cudaStreamSynchronize(stream); /* whatever was given must not outlive the block */
    sli_cuda_warn(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return error != cudaSuccess ? error : waited;
}

static sluice_status cuda_mem_clear(void *state, void *block, size_t bytes)
{
    const cuda_device *device = state;
    sluice_status st = sli_cuda_enter(device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = clear(block, bytes);
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "device cuda:%u: clearing %zu bytes of device memory",
                           device->ordinal, bytes);
    }
    sli_cuda_leave(device);
    return st;
}

static sluice_status cuda_enter(void *state)
{
    return sli_cuda_enter_thread(state);
}

static void cuda_leave(void *state)
{
    sli_cuda_leave_thread(state);
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
    .mem_device_address = cuda_mem_device_address,
    .mem_clear = cuda_mem_clear,
    .stream_publish = sli_cuda_stream_publish,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .stream_open = sli_cuda_stream_open,
    .stream_close = sli_cuda_stream_close,
    .stream_copy = sli_cuda_stream_copy,
    .stream_write = sli_cuda_stream_write,
    .stream_call = sli_cuda_stream_call,
    .stream_wait = sli_cuda_stream_wait,
    .stream_status = sli_cuda_stream_status,
};
