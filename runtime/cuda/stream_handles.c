/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_handles.h"

#include <string.h>

#include "cuda_error_int.h"

/* Maximum number of words per cuStreamBatchMemOp(); the driver's limit is 255. */
enum { MEM_OPS = 64 };

static cudaStream_t current(const stream_handles *handles)
{
    return handles->at[handles->current];
}

sluice_status stream_handles_open(stream_handles *handles, const cuda_device *device,
                                  const char *name, sli_stream_use use)
{
    const bool copies = use == SLI_STREAM_COPIES;
    const uint32_t count = copies ? device->copy_streams : 1;
    int lowest = 0;
    int highest = 0;
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&lowest, &highest);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cudaDeviceGetStreamPriorityRange",
                             device->ordinal);
    }
    handles->device = device;
    while (handles->count < count) {
        error = cudaStreamCreateWithPriority(&handles->at[handles->count], cudaStreamNonBlocking,
                                             copies ? highest : 0);
        if (error != cudaSuccess) {
            return sli_cuda_fail(error, "device cuda:%u: stream %s", device->ordinal, name);
        }
        handles->count++;
    }
    return SLUICE_OK;
}

void stream_handles_synchronize(const stream_handles *handles)
{
    for (uint32_t i = 0; i < handles->count; i++) {
        sli_cuda_warn(cudaStreamSynchronize(handles->at[i]), "cudaStreamSynchronize");
    }
}

void stream_handles_close(stream_handles *handles)
{
    for (uint32_t i = 0; i < handles->count; i++) {
        sli_cuda_warn(cudaStreamDestroy(handles->at[i]), "cudaStreamDestroy");
    }
    handles->count = 0;
}

void stream_handles_alternate(stream_handles *handles)
{
    handles->current = (handles->current + 1) % handles->count;
}

sluice_status stream_handles_copy(const stream_handles *handles, void *to, const void *from,
                                  size_t bytes)
{
    const cudaError_t error =
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, current(handles));

    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: copy of %zu bytes to the device",
                               handles->device->ordinal, bytes);
}

/* CU_STREAM_WRITE_VALUE_DEFAULT puts a fence before each memory operation. */
sluice_status stream_handles_store(const stream_handles *handles, uint64_t *words,
                                   const uint64_t *values, uint32_t count)
{
    CUstreamBatchMemOpParams ops[MEM_OPS];
    CUresult result = CUDA_SUCCESS;

    for (uint32_t done = 0; done < count && result == CUDA_SUCCESS; done += MEM_OPS) {
        const uint32_t left = count - done;
        const uint32_t some = left < MEM_OPS ? left : MEM_OPS;

        memset(ops, 0, some * sizeof(ops[0]));
        for (uint32_t i = 0; i < some; i++) {
            ops[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
            ops[i].writeValue.address = (CUdeviceptr)(uintptr_t)&words[done + i];
            ops[i].writeValue.value64 = values[done + i];
            ops[i].writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
        }
        result = handles->device->driver.stream_mem_ops(current(handles), some, ops, 0);
    }
    return result == CUDA_SUCCESS
               ? SLUICE_OK
               : sli_cuda_fail(sli_cuda_driver_error(result), "device cuda:%u: cuStreamBatchMemOp",
                               handles->device->ordinal);
}

sluice_status stream_handles_record(const stream_handles *handles, cudaEvent_t event)
{
    const cudaError_t error = cudaEventRecord(event, current(handles));

    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cudaEventRecord", handles->device->ordinal);
}

sluice_status stream_handles_wait(const stream_handles *handles, cudaEvent_t event)
{
    const cudaError_t error = cudaStreamWaitEvent(current(handles), event, 0);

    return error == cudaSuccess ? SLUICE_OK
                                : sli_cuda_fail(error, "device cuda:%u: cudaStreamWaitEvent",
                                                handles->device->ordinal);
}
