/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two captures of one step. A difference means that a value changes from call to call,
 * while a captured step would use its first value in every step of a run.
 *
 * Padding of a struct that is passed by value has the bytes of the stack, which may differ. So the
 * stack is filled with one byte value before the first capture and with another before the second.
 * Bytes of a parameter that have these two values are not compared.
 *
 * Kernels are inspected by the driver: the step's kernels may be registered with the user program's
 * copy of the CUDA runtime, of which this library's copy has no data.
 */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "cuda_error_int.h"
#include "format_int.h"
#include "log_int.h"
#include "status_int.h"
#include "step_capture.h"
#include "step_graph.h"

enum { VALUE_SIZE = 48, DEEPEST = 16 };

/* Formats a parameter's bytes as an integer, and as a float if they are 4 bytes. */
static void print_value(const void *value, size_t bytes, char text[VALUE_SIZE])
{
    uint64_t number = 0;
    float real;

    memcpy(&number, value, bytes < sizeof(number) ? bytes : sizeof(number));
    memcpy(&real, value, bytes < sizeof(real) ? bytes : sizeof(real));
    if (bytes == sizeof(real)) {
        sli_print(text, VALUE_SIZE, "%lld (as a float %.9g)", (long long)(int32_t)number,
                  (double)real);
    } else {
        snprintf(text, VALUE_SIZE, "0x%llx%s", (unsigned long long)number,
                 bytes > sizeof(number) ? "..." : "");
    }
}

/* True if the step wrote this byte in neither capture. */
static bool is_padding(const uint8_t *first, const uint8_t *second)
{
    return *first == STEP_FIRST_FILL && *second == STEP_SECOND_FILL;
}

/* Index of the first byte, apart from padding, that differs; `bytes` if no byte differs. */
static size_t first_difference(const uint8_t *first, const uint8_t *second, size_t bytes)
{
    size_t at = 0;

    while (at < bytes && (first[at] == second[at] || is_padding(first + at, second + at))) {
        at++;
    }
    return at;
}

/* Likely size of the value at `at`: 8 bytes, or 4 if the other 4 bytes are padding, clamped to the
 * end of the parameter. */
static size_t value_bytes(const uint8_t *first, const uint8_t *second, size_t bytes, size_t at)
{
    const size_t left = bytes - at < sizeof(uint64_t) ? bytes - at : sizeof(uint64_t);

    return left == sizeof(uint64_t) && is_padding(first + at + 4, second + at + 4) ? 4 : left;
}

static sluice_status fail_parameter(size_t node, const char *kernel, size_t index,
                                    const uint8_t *first, const uint8_t *second, size_t bytes)
{
    const size_t differs = first_difference(first, second, bytes);
    const size_t at = differs / sizeof(uint64_t) * sizeof(uint64_t);
    const size_t count = value_bytes(first, second, bytes, at);
    char before[VALUE_SIZE];
    char after[VALUE_SIZE];
    char where[VALUE_SIZE] = "";

    print_value(first + at, count, before);
    print_value(second + at, count, after);
    if (bytes > sizeof(uint64_t)) {
        snprintf(where, sizeof(where), ", at byte %zu of %zu,", differs, bytes);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "check: parameter %zu of kernel %s (node %zu of the step)%s is %s when the "
                    "step is captured and %s when it is captured again; a captured step keeps the "
                    "first: let the kernel read what changes through an address%s",
                    index, kernel, node, where, before, after,
                    bytes > sizeof(uint64_t) ? "; if it is padding, clear the struct first" : "");
}

static sluice_status fail_node(size_t node, const char *what)
{
    return sli_fail(SLUICE_E_INVALID,
                    "check: %s of node %zu of the step differs between two captures of it; a "
                    "captured step keeps the first",
                    what, node);
}

/* CUDA driver API entry points that describe kernels. A node has a CUfunction, or a CUkernel if it
 * was launched by the newer API. */
typedef struct kernel_calls {
    PFN_cuGraphKernelNodeGetParams_v12000 node;
    PFN_cuFuncGetName_v12030 function_name;
    PFN_cuFuncGetParamInfo_v12040 function_parameter;
    PFN_cuKernelGetName_v12030 kernel_name;
    PFN_cuKernelGetParamInfo_v12040 kernel_parameter;
} kernel_calls;

static sluice_status find_calls(const cuda_device *device, kernel_calls *calls)
{
    const struct {
        const char *name;
        unsigned version;
        void *call;
    } wanted[] = {{"cuGraphKernelNodeGetParams", 12000, &calls->node},
                  {"cuFuncGetName", 12030, &calls->function_name},
                  {"cuFuncGetParamInfo", 12040, &calls->function_parameter},
                  {"cuKernelGetName", 12030, &calls->kernel_name},
                  {"cuKernelGetParamInfo", 12040, &calls->kernel_parameter}};
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]) && st == SLUICE_OK; i++) {
        st = sli_cuda_find_call(device, wanted[i].name, wanted[i].version, wanted[i].call);
    }
    return st;
}

static bool same_grid(const CUDA_KERNEL_NODE_PARAMS *a, const CUDA_KERNEL_NODE_PARAMS *b)
{
    return a->gridDimX == b->gridDimX && a->gridDimY == b->gridDimY && a->gridDimZ == b->gridDimZ &&
           a->blockDimX == b->blockDimX && a->blockDimY == b->blockDimY &&
           a->blockDimZ == b->blockDimZ && a->sharedMemBytes == b->sharedMemBytes;
}

/* Size of a parameter in bytes; 0 if the kernel has no parameter with this index. */
static size_t parameter_bytes(const kernel_calls *calls, const CUDA_KERNEL_NODE_PARAMS *kernel,
                              size_t index)
{
    size_t offset = 0;
    size_t bytes = 0;
    const CUresult result = kernel->func != NULL
                                ? calls->function_parameter(kernel->func, index, &offset, &bytes)
                                : calls->kernel_parameter(kernel->kern, index, &offset, &bytes);

    return result == CUDA_SUCCESS ? bytes : 0;
}

static const char *name_of(const kernel_calls *calls, const CUDA_KERNEL_NODE_PARAMS *kernel)
{
    const char *name = NULL;
    const CUresult result = kernel->func != NULL ? calls->function_name(&name, kernel->func)
                                                 : calls->kernel_name(&name, kernel->kern);

    return result == CUDA_SUCCESS && name != NULL ? name : "?";
}

static sluice_status compare_kernels(const kernel_calls *calls, cudaGraphNode_t first,
                                     cudaGraphNode_t second, size_t node)
{
    CUDA_KERNEL_NODE_PARAMS a;
    CUDA_KERNEL_NODE_PARAMS b;
    size_t bytes;

    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    if (calls->node(first, &a) != CUDA_SUCCESS || calls->node(second, &b) != CUDA_SUCCESS) {
        return SLUICE_OK; /* the driver does not describe this kind of kernel node */
    }
    if (a.func != b.func || a.kern != b.kern) {
        return fail_node(node, "the kernel");
    }
    if (!same_grid(&a, &b)) {
        return fail_node(node, "the grid");
    }
    if (a.kernelParams == NULL || b.kernelParams == NULL) {
        return SLUICE_OK; /* parameters were passed in one buffer: their sizes are unknown */
    }
    for (size_t i = 0; (bytes = parameter_bytes(calls, &a, i)) > 0; i++) {
        if (first_difference(a.kernelParams[i], b.kernelParams[i], bytes) < bytes) {
            return fail_parameter(node, name_of(calls, &a), i, a.kernelParams[i], b.kernelParams[i],
                                  bytes);
        }
    }
    return SLUICE_OK;
}

static sluice_status compare_sets(cudaGraphNode_t first, cudaGraphNode_t second, size_t node)
{
    struct cudaMemsetParams a;
    struct cudaMemsetParams b;

    if (cudaGraphMemsetNodeGetParams(first, &a) != cudaSuccess ||
        cudaGraphMemsetNodeGetParams(second, &b) != cudaSuccess) {
        (void)cudaGetLastError();
        return SLUICE_OK;
    }
    return a.dst == b.dst && a.value == b.value && a.width == b.width && a.height == b.height
               ? SLUICE_OK
               : fail_node(node, "the memory that is set, or the value,");
}

static sluice_status compare_copies(cudaGraphNode_t first, cudaGraphNode_t second, size_t node)
{
    struct cudaMemcpy3DParms a;
    struct cudaMemcpy3DParms b;

    if (cudaGraphMemcpyNodeGetParams(first, &a) != cudaSuccess ||
        cudaGraphMemcpyNodeGetParams(second, &b) != cudaSuccess) {
        (void)cudaGetLastError();
        return SLUICE_OK;
    }
    return a.srcPtr.ptr == b.srcPtr.ptr && a.dstPtr.ptr == b.dstPtr.ptr &&
                   a.extent.width == b.extent.width && a.extent.height == b.extent.height
               ? SLUICE_OK
               : fail_node(node, "the memory that is copied");
}

static sluice_status compare_graphs(const kernel_calls *calls, cudaGraph_t first,
                                    cudaGraph_t second, int depth);

static sluice_status compare_children(const kernel_calls *calls, cudaGraphNode_t first,
                                      cudaGraphNode_t second, int depth)
{
    cudaGraph_t a = NULL;
    cudaGraph_t b = NULL;

    if (depth == DEEPEST || cudaGraphChildGraphNodeGetGraph(first, &a) != cudaSuccess ||
        cudaGraphChildGraphNodeGetGraph(second, &b) != cudaSuccess) {
        (void)cudaGetLastError();
        return SLUICE_OK;
    }
    return compare_graphs(calls, a, b, depth + 1);
}

static sluice_status compare_nodes(const kernel_calls *calls, cudaGraphNode_t first,
                                   cudaGraphNode_t second, size_t node, int depth)
{
    enum cudaGraphNodeType a = cudaGraphNodeTypeEmpty;
    enum cudaGraphNodeType b = cudaGraphNodeTypeEmpty;
    cudaError_t error = cudaGraphNodeGetType(first, &a);

    if (error == cudaSuccess) {
        error = cudaGraphNodeGetType(second, &b);
    }
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "cudaGraphNodeGetType");
    }
    if (a != b) {
        return fail_node(node, "the kind");
    }
    switch ((int)a) {
    case cudaGraphNodeTypeKernel:
        return compare_kernels(calls, first, second, node);
    case cudaGraphNodeTypeMemset:
        return compare_sets(first, second, node);
    case cudaGraphNodeTypeMemcpy:
        return compare_copies(first, second, node);
    case cudaGraphNodeTypeGraph:
        return compare_children(calls, first, second, depth);
    default:
        return SLUICE_OK;
    }
}

static sluice_status compare_graphs(const kernel_calls *calls, cudaGraph_t first,
                                    cudaGraph_t second, int depth)
{
    cudaGraphNode_t *a = NULL;
    cudaGraphNode_t *b = NULL;
    size_t a_count = 0;
    size_t b_count = 0;
    sluice_status st = step_graph_nodes(first, &a, &a_count);

    if (st == SLUICE_OK) {
        st = step_graph_nodes(second, &b, &b_count);
    }
    if (st == SLUICE_OK && a_count != b_count) {
        st = sli_fail(SLUICE_E_INVALID,
                      "check: the step enqueues %zu nodes when it is captured and %zu when it is "
                      "captured again; a captured step keeps the first",
                      a_count, b_count);
    }
    for (size_t i = 0; i < a_count && st == SLUICE_OK; i++) {
        st = compare_nodes(calls, a[i], b[i], i, depth);
    }
    sli_free(a);
    sli_free(b);
    return st;
}

sluice_status step_graph_compare(const cuda_device *device, cudaGraph_t first, cudaGraph_t second)
{
    kernel_calls calls;

    if (find_calls(device, &calls) != SLUICE_OK) {
        sli_log(SLUICE_LOG_INFO, "check: two captures of the step are not compared: %s",
                sluice_last_error());
        return SLUICE_OK;
    }
    return compare_graphs(&calls, first, second, 0);
}
