/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_memory.h"

#include <sys/resource.h>

#include "cuda_device_int.h"
#include "cuda_error_int.h"
#include "status_int.h"

sluice_status cuda_memory_alloc(void *state, size_t bytes, void **block_out)
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

void cuda_memory_free(void *state, void *block, size_t bytes)
{
    (void)bytes;
    sli_cuda_give_back(state, cudaFree, block, "cudaFree");
}

sluice_status cuda_memory_available(void *state, uint64_t *bytes_out)
{
    const cuda_device *device = state;
    size_t available = 0;
    size_t total = 0;
    sluice_status st = sli_cuda_enter(device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = cudaMemGetInfo(&available, &total);
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "device cuda:%u: cudaMemGetInfo", device->ordinal);
    } else {
        *bytes_out = available;
    }
    sli_cuda_leave(device);
    return st;
}

/* Reports a failed page-lock, with the limit on locked memory. */
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

sluice_status cuda_memory_register(void *state, void *block, size_t bytes)
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

void cuda_memory_unregister(void *state, void *block, size_t bytes)
{
    (void)bytes;
    sli_cuda_give_back(state, cudaHostUnregister, block, "cudaHostUnregister");
}

sluice_status cuda_memory_device_address(void *state, void *host_block, void **address_out)
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

/*
 * Uses a stream of its own: cudaMemset() runs on the legacy default stream, which synchronizes with
 * blocking streams.
 */
static cudaError_t clear_block(void *block, size_t bytes)
{
    cudaStream_t stream;
    cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaError_t waited;

    if (error != cudaSuccess) {
        return error;
    }
    error = cudaMemsetAsync(block, 0, bytes, stream);
    waited = cudaStreamSynchronize(stream); /* the stream must not write after the block is freed */
    sli_cuda_warn(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return error != cudaSuccess ? error : waited;
}

sluice_status cuda_memory_clear(void *state, void *block, size_t bytes)
{
    const cuda_device *device = state;
    sluice_status st = sli_cuda_enter(device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = clear_block(block, bytes);
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "device cuda:%u: clearing %zu bytes of device memory",
                           device->ordinal, bytes);
    }
    sli_cuda_leave(device);
    return st;
}
