/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake tells of nodes and kernels. */
#include <string.h>

#include "fake_cuda_work.h"

static cudaError_t is_of(cudaGraphNode_t node, enum cudaGraphNodeType type, cudaError_t error)
{
    return error == cudaSuccess && node->type != type ? cudaErrorInvalidValue : error;
}

/* As functions, or, for what a test calls a new kernel, as kernels. */
CUresult fake_kernel_node_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    const cudaError_t error =
        is_of(node, cudaGraphNodeTypeKernel, fake_call_of("cuGraphKernelNodeGetParams"));

    if (error == cudaSuccess) {
        fake_kernel_call *call = node->work.kernel;
        void *kernel = (void *)(uintptr_t)call->kernel;

        memset(params, 0, sizeof(*params));
        if (strncmp(call->kernel->name, "new_", 4) == 0) {
            params->kern = kernel;
        } else {
            params->func = kernel;
        }
        params->gridDimX = call->blocks;
        params->gridDimY = 1;
        params->gridDimZ = 1;
        params->blockDimX = call->threads;
        params->blockDimY = 1;
        params->blockDimZ = 1;
        params->kernelParams = call->args;
    }
    return (CUresult)error;
}

cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *params)
{
    const cudaError_t error = is_of(node, cudaGraphNodeTypeMemset, fake_call());

    if (error == cudaSuccess) {
        memset(params, 0, sizeof(*params));
        params->dst = node->work.to;
        params->value = (unsigned)node->work.value;
        params->elementSize = 1;
        params->width = node->work.bytes;
        params->height = 1;
    }
    return fake_answer(error);
}

cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *params)
{
    const cudaError_t error = is_of(node, cudaGraphNodeTypeMemcpy, fake_call());

    if (error == cudaSuccess) {
        memset(params, 0, sizeof(*params));
        params->dstPtr.ptr = node->work.to;
        params->srcPtr.ptr = (void *)(uintptr_t)node->work.from;
        params->extent.width = node->work.bytes;
        params->extent.height = 1;
        params->extent.depth = 1;
        params->kind = node->work.way;
    }
    return fake_answer(error);
}

/* What lies at an address; unregistered: pageable host memory, or nothing. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address)
{
    const cudaError_t error = fake_call();

    if (error == cudaSuccess) {
        pthread_mutex_lock(&fake_lock);
        memset(attributes, 0, sizeof(*attributes));
        attributes->type = fake_block_of(address, 1) != NULL || fake_area_of(address, 1) != NULL
                               ? cudaMemoryTypeDevice
                           : fake_range_of(address, 1) != NULL ? cudaMemoryTypeHost
                                                               : cudaMemoryTypeUnregistered;
        pthread_mutex_unlock(&fake_lock);
    }
    return fake_answer(error);
}

static CUresult name_of(const char **name, const void *function, const char *call)
{
    const cudaError_t error = fake_call_of(call);
    const fake_kernel *kernel = fake_kernel_of(function);

    if (error == cudaSuccess && kernel != NULL) {
        *name = kernel->name;
    }
    return kernel == NULL ? CUDA_ERROR_INVALID_HANDLE : (CUresult)error;
}

static CUresult parameter_of(const void *function, size_t index, size_t *offset, size_t *bytes,
                             const char *call)
{
    const fake_kernel *kernel = fake_kernel_of(function);
    const cudaError_t error = fake_call_of(call);

    if (error == cudaSuccess && (kernel == NULL || index >= kernel->arg_count)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (error == cudaSuccess) {
        *offset = 0;
        *bytes = kernel->arg_bytes[index];
    }
    return (CUresult)error;
}

CUresult fake_function_name(const char **name, CUfunction function)
{
    return name_of(name, function, "cuFuncGetName");
}

CUresult fake_kernel_name(const char **name, CUkernel kernel)
{
    return name_of(name, kernel, "cuKernelGetName");
}

CUresult fake_function_parameter(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    return parameter_of(function, index, offset, bytes, "cuFuncGetParamInfo");
}

CUresult fake_kernel_parameter(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
    return parameter_of(kernel, index, offset, bytes, "cuKernelGetParamInfo");
}
