/* SPDX-License-Identifier: Apache-2.0 */
/* What the fake tells of nodes and kernels. */
#include <string.h>

#include "fake_cuda_work.h"

static cudaError_t is_of(cudaGraphNode_t node, enum cudaGraphNodeType type, cudaError_t error)
{
    return error == cudaSuccess && node->type != type ? cudaErrorInvalidValue : error;
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params)
{
    const cudaError_t error = is_of(node, cudaGraphNodeTypeKernel, fake_call());

    if (error == cudaSuccess) {
        fake_kernel_call *call = node->work.kernel;

        memset(params, 0, sizeof(*params));
        params->func = (void *)(uintptr_t)call->kernel;
        params->gridDim = (dim3){call->blocks, 1, 1};
        params->blockDim = (dim3){call->threads, 1, 1};
        params->kernelParams = call->args;
    }
    return fake_answer(error);
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

cudaError_t cudaFuncGetName(const char **name, const void *function)
{
    const cudaError_t error = fake_call();
    const fake_kernel *kernel = fake_kernel_of(function);

    if (error == cudaSuccess && kernel != NULL) {
        *name = kernel->name;
    }
    return fake_answer(kernel == NULL ? cudaErrorInvalidDeviceFunction : error);
}

cudaError_t cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *bytes)
{
    const fake_kernel *kernel = fake_kernel_of(function);
    cudaError_t error = fake_call();

    if (error == cudaSuccess && (kernel == NULL || index >= kernel->arg_count)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *offset = 0;
        *bytes = kernel->arg_bytes[index];
    }
    return fake_answer(error);
}
