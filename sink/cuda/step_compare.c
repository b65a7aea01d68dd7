/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two captures of one step, compared: what differs was not the same when the step was called again,
 * and would stay as it was at first in every step of a run.
 */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "cuda_error.h"
#include "status_int.h"
#include "step_graph.h"

enum { VALUE_SIZE = 48, DEEPEST = 16 };

/* A parameter's bytes so that a reader recognises them. */
static void print_value(const void *value, size_t bytes, char text[VALUE_SIZE])
{
    uint64_t number = 0;
    float real;

    memcpy(&number, value, bytes < sizeof(number) ? bytes : sizeof(number));
    memcpy(&real, value, bytes < sizeof(real) ? bytes : sizeof(real));
    if (bytes == sizeof(real)) {
        snprintf(text, VALUE_SIZE, "%lld (as a float %.9g)", (long long)(int32_t)number,
                 (double)real);
    } else {
        snprintf(text, VALUE_SIZE, "0x%llx%s", (unsigned long long)number,
                 bytes > sizeof(number) ? "..." : "");
    }
}

static sluice_status fail_parameter(size_t place, const char *kernel, size_t index,
                                    const void *first, const void *second, size_t bytes)
{
    size_t at = 0;
    char before[VALUE_SIZE];
    char after[VALUE_SIZE];

    while (bytes - at > sizeof(uint64_t) &&
           memcmp((const uint8_t *)first + at, (const uint8_t *)second + at, sizeof(uint64_t)) ==
               0) {
        at += sizeof(uint64_t);
    }
    print_value((const uint8_t *)first + at, bytes - at, before);
    print_value((const uint8_t *)second + at, bytes - at, after);
    return sli_fail(SLUICE_E_INVALID,
                    "check: parameter %zu of kernel %s (node %zu of the step) is %s when the step "
                    "is captured and %s when it is captured again; a captured step keeps the "
                    "first: let the kernel read what changes through an address",
                    index, kernel, place, before, after);
}

static sluice_status fail_node(size_t place, const char *what)
{
    return sli_fail(SLUICE_E_INVALID,
                    "check: %s of node %zu of the step differs between two captures of it; a "
                    "captured step keeps the first",
                    what, place);
}

static bool same_size(dim3 a, dim3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static sluice_status compare_parameters(const struct cudaKernelNodeParams *a,
                                        const struct cudaKernelNodeParams *b, size_t place)
{
    const char *name = "?";
    size_t offset = 0;
    size_t bytes = 0;

    if (a->kernelParams == NULL || b->kernelParams == NULL) {
        return SLUICE_OK; /* packed by whoever launched it: nobody knows where one ends */
    }
    (void)cudaFuncGetName(&name, a->func);
    for (size_t i = 0; cudaFuncGetParamInfo(a->func, i, &offset, &bytes) == cudaSuccess; i++) {
        if (memcmp(a->kernelParams[i], b->kernelParams[i], bytes) != 0) {
            return fail_parameter(place, name, i, a->kernelParams[i], b->kernelParams[i], bytes);
        }
    }
    (void)cudaGetLastError(); /* there is no parameter of that number */
    return SLUICE_OK;
}

static sluice_status compare_kernels(cudaGraphNode_t first, cudaGraphNode_t second, size_t place)
{
    struct cudaKernelNodeParams a;
    struct cudaKernelNodeParams b;

    if (cudaGraphKernelNodeGetParams(first, &a) != cudaSuccess ||
        cudaGraphKernelNodeGetParams(second, &b) != cudaSuccess) {
        (void)cudaGetLastError(); /* a library's own, of which this runtime knows nothing */
        return SLUICE_OK;
    }
    if (a.func != b.func) {
        return fail_node(place, "the kernel");
    }
    if (!same_size(a.gridDim, b.gridDim) || !same_size(a.blockDim, b.blockDim) ||
        a.sharedMemBytes != b.sharedMemBytes) {
        return fail_node(place, "the grid");
    }
    return compare_parameters(&a, &b, place);
}

static sluice_status compare_sets(cudaGraphNode_t first, cudaGraphNode_t second, size_t place)
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
               : fail_node(place, "the memory that is set, or the value,");
}

static sluice_status compare_copies(cudaGraphNode_t first, cudaGraphNode_t second, size_t place)
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
               : fail_node(place, "the memory that is copied");
}

static sluice_status compare_graphs(cudaGraph_t first, cudaGraph_t second, int depth);

static sluice_status compare_children(cudaGraphNode_t first, cudaGraphNode_t second, int depth)
{
    cudaGraph_t a = NULL;
    cudaGraph_t b = NULL;

    if (depth == DEEPEST || cudaGraphChildGraphNodeGetGraph(first, &a) != cudaSuccess ||
        cudaGraphChildGraphNodeGetGraph(second, &b) != cudaSuccess) {
        (void)cudaGetLastError();
        return SLUICE_OK;
    }
    return compare_graphs(a, b, depth + 1);
}

static sluice_status compare_nodes(cudaGraphNode_t first, cudaGraphNode_t second, size_t place,
                                   int depth)
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
        return fail_node(place, "the kind");
    }
    switch ((int)a) {
    case cudaGraphNodeTypeKernel:
        return compare_kernels(first, second, place);
    case cudaGraphNodeTypeMemset:
        return compare_sets(first, second, place);
    case cudaGraphNodeTypeMemcpy:
        return compare_copies(first, second, place);
    case cudaGraphNodeTypeGraph:
        return compare_children(first, second, depth);
    default:
        return SLUICE_OK;
    }
}

static sluice_status compare_graphs(cudaGraph_t first, cudaGraph_t second, int depth)
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
        st = compare_nodes(a[i], b[i], i, depth);
    }
    sli_free(a);
    sli_free(b);
    return st;
}

sluice_status step_graph_compare(cudaGraph_t first, cudaGraph_t second)
{
    return compare_graphs(first, second, 0);
}
