/* SPDX-License-Identifier: Apache-2.0 */
#include "step_graph.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "cuda_error_int.h"
#include "status_int.h"

/* Maximum nesting of child graphs that are checked. */
enum { DEEPEST = 16 };

/* ---- nodes permitted in a loop --------------------------------------------------------------- */

/* Describes a node type that is not permitted in a loop, and its usual origin; NULL if it is
 * permitted. */
static const char *illegal(enum cudaGraphNodeType type)
{
    switch ((int)type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeEmpty:
        return NULL;
    case cudaGraphNodeTypeHost:
        return "a host node (cudaLaunchHostFunc; NCCL across machines adds them)";
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        return "an event node (NCCL: set NCCL_GRAPH_MIXING_SUPPORT=0)";
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
        return "an allocation (cudaMallocAsync; cuBLAS: call cublasSetWorkspace first)";
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        return "a semaphore node";
    case cudaGraphNodeTypeConditional:
        return "a conditional node, which a child graph may not have";
    default:
        return "a node of a type that conditional bodies may not have";
    }
}

/* The position of a node, for error texts. */
typedef struct node_position {
    size_t index;
    int depth; /* number of enclosing graphs */
} node_position;

static const char *inside(node_position at)
{
    return at.depth > 0 ? ", in a graph within it," : "";
}

/* Checks that one side of a copy is not pageable memory. operand is NULL for a CUDA array. */
static sluice_status check_operand(const void *operand, const char *way, node_position at)
{
    struct cudaPointerAttributes attributes;
    cudaError_t error;

    if (operand == NULL) {
        return SLUICE_OK;
    }
    memset(&attributes, 0, sizeof(attributes));
    error = cudaPointerGetAttributes(&attributes, operand);
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "cudaPointerGetAttributes");
    }
    return attributes.type != cudaMemoryTypeUnregistered
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED,
                          "node %zu of the step%s copies %s pageable host memory (%p): take it "
                          "from cudaMallocHost(), or page-lock it by cudaHostRegister()",
                          at.index, inside(at), way, operand);
}

/* Bodies of loops may copy only between device memory and page-locked host memory. */
static sluice_status check_copy(cudaGraphNode_t node, node_position at)
{
    struct cudaMemcpy3DParms copy;
    sluice_status st;

    memset(&copy, 0, sizeof(copy));
    if (cudaGraphMemcpyNodeGetParams(node, &copy) != cudaSuccess) {
        (void)cudaGetLastError();
        return SLUICE_OK; /* this API does not describe the node; instantiation checks it */
    }
    st = check_operand(copy.srcPtr.ptr, "from", at);
    return st == SLUICE_OK ? check_operand(copy.dstPtr.ptr, "to", at) : st;
}

static sluice_status check_graph(cudaGraph_t graph, int depth);

static sluice_status check_node(cudaGraphNode_t node, node_position at)
{
    enum cudaGraphNodeType type;
    cudaGraph_t child = NULL;
    const char *what;
    cudaError_t error = cudaGraphNodeGetType(node, &type);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "cudaGraphNodeGetType");
    }
    what = illegal(type);
    if (what != NULL) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "node %zu of the step%s is %s", at.index, inside(at),
                        what);
    }
    if (type == cudaGraphNodeTypeMemcpy) {
        return check_copy(node, at);
    }
    if (type != cudaGraphNodeTypeGraph || at.depth == DEEPEST) {
        return SLUICE_OK;
    }
    error = cudaGraphChildGraphNodeGetGraph(node, &child);
    return error == cudaSuccess ? check_graph(child, at.depth + 1)
                                : sli_cuda_fail(error, "cudaGraphChildGraphNodeGetGraph");
}

sluice_status step_graph_nodes(cudaGraph_t graph, cudaGraphNode_t **nodes_out, size_t *count_out)
{
    cudaGraphNode_t *nodes = NULL;
    size_t count = 0;
    cudaError_t error = cudaGraphGetNodes(graph, NULL, &count);

    if (error == cudaSuccess && count > 0) {
        nodes = sli_calloc(count, sizeof(*nodes));
        if (nodes == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "a list of %zu nodes", count);
        }
        error = cudaGraphGetNodes(graph, nodes, &count);
    }
    if (error != cudaSuccess) {
        sli_free(nodes);
        return sli_cuda_fail(error, "cudaGraphGetNodes");
    }
    *nodes_out = nodes;
    *count_out = count;
    return SLUICE_OK;
}

static sluice_status check_graph(cudaGraph_t graph, int depth)
{
    cudaGraphNode_t *nodes = NULL;
    size_t count = 0;
    sluice_status st = step_graph_nodes(graph, &nodes, &count);

    for (size_t i = 0; i < count && st == SLUICE_OK; i++) {
        st = check_node(nodes[i], (node_position){i, depth});
    }
    sli_free(nodes);
    return st;
}

sluice_status step_graph_check_loop(cudaGraph_t step)
{
    return check_graph(step, 0);
}

/* ---- building -------------------------------------------------------------------------------- */

static cudaError_t add_node(cudaGraph_t graph, cudaGraphNode_t *last,
                            struct cudaGraphNodeParams *params)
{
    cudaGraphNode_t node = NULL;
    cudaGraphNode_t *after = *last != NULL ? last : NULL;
    const size_t count = after != NULL ? 1 : 0;
#if CUDART_VERSION >= 13000
    const cudaError_t error = cudaGraphAddNode(&node, graph, after, NULL, count, params);
#else
    const cudaError_t error = cudaGraphAddNode(&node, graph, after, count, params);
#endif

    *last = node;
    return error;
}

static dim3 dim_of(uint32_t count)
{
    return (dim3){count, 1, 1};
}

/* Adds a kernel node after *last; *last becomes the new node. */
static sluice_status add_kernel(cudaGraph_t graph, cudaGraphNode_t *last,
                                const sli_kernel_launch *kernel)
{
    struct cudaGraphNodeParams params;
    cudaError_t error;

    memset(&params, 0, sizeof(params));
    params.type = cudaGraphNodeTypeKernel;
    memcpy(&params.kernel.func, &kernel->function, sizeof(params.kernel.func));
    params.kernel.gridDim = dim_of(kernel->blocks);
    params.kernel.blockDim = dim_of(kernel->threads);
    params.kernel.kernelParams = (void **)(uintptr_t)kernel->args;
    error = add_node(graph, last, &params);
    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "a kernel's node of the graph");
}

/* Adds the step as a child graph. If it is moved, *step becomes NULL. */
static sluice_status add_step(cudaGraph_t graph, cudaGraphNode_t *last, cudaGraph_t *step,
                              bool moves)
{
    struct cudaGraphNodeParams params;
    size_t count = 0;
    cudaError_t error = cudaGraphGetNodes(*step, NULL, &count);

    if (error == cudaSuccess && count > 0) {
        memset(&params, 0, sizeof(params));
        params.type = cudaGraphNodeTypeGraph;
        params.graph.graph = *step;
#if CUDART_VERSION >= 13000
        params.graph.ownership =
            moves ? cudaGraphChildGraphOwnershipMove : cudaGraphChildGraphOwnershipClone;
#else
        moves = false;
#endif
        error = add_node(graph, last, &params);
        *step = error == cudaSuccess && moves ? NULL : *step;
    }
    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "the step's node of the graph");
}

/* Adds the nodes of a batch and its step after *last, then `tail`, which becomes *last. */
static sluice_status add_batch(cudaGraph_t graph, cudaGraphNode_t *last, const step_chain *chain,
                               cudaGraph_t *step, bool moves, const sli_kernel_launch *tail)
{
    sluice_status st = add_kernel(graph, last, &chain->gather);

    if (st == SLUICE_OK && chain->digest.function != NULL) {
        st = add_kernel(graph, last, &chain->digest);
    }
    if (st == SLUICE_OK) {
        st = add_step(graph, last, step, moves);
    }
    return st == SLUICE_OK ? add_kernel(graph, last, tail) : st;
}

static sluice_status add_turn(cudaGraph_t body, const step_chain *chain, cudaGraph_t step,
                              uint32_t batches)
{
    cudaGraphNode_t last = NULL;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 1; i < batches && st == SLUICE_OK; i++) {
        st = add_batch(body, &last, chain, &step, false, &chain->inner);
    }
    return st == SLUICE_OK ? add_batch(body, &last, chain, &step, false, &chain->next) : st;
}

static sluice_status create(step_graph *out)
{
    const cudaError_t error = cudaGraphCreate(&out->graph, 0);

    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "cudaGraphCreate");
}

static sluice_status instantiate(step_graph *out)
{
    const cudaError_t error = cudaGraphInstantiate(&out->exec, out->graph, 0);

    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "cudaGraphInstantiate");
}

sluice_status step_graph_make_once(const step_chain *chain, cudaGraph_t *step, step_graph *out)
{
    cudaGraphNode_t last = NULL;
    sluice_status st = create(out);

    if (st == SLUICE_OK) {
        st = add_kernel(out->graph, &last, &chain->begin);
    }
    if (st == SLUICE_OK) {
        st = add_batch(out->graph, &last, chain, step, true, &chain->next);
    }
    return st == SLUICE_OK ? instantiate(out) : st;
}

/* Adds the WHILE node after `last`; CUDA owns its body. */
static sluice_status add_loop(cudaGraph_t graph, cudaGraphNode_t last,
                              cudaGraphConditionalHandle condition, cudaGraph_t *body_out)
{
    struct cudaGraphNodeParams params;
    cudaError_t error;

    memset(&params, 0, sizeof(params));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = condition;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    error = add_node(graph, &last, &params);
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "the loop's node of the graph");
    }
    *body_out = params.conditional.phGraph_out[0];
    return SLUICE_OK;
}

sluice_status step_graph_make_loop(const step_chain *chain, cudaGraph_t step, step_control *control,
                                   step_graph *out)
{
    cudaGraphConditionalHandle condition = 0;
    cudaGraphNode_t last = NULL;
    cudaGraph_t body = NULL;
    cudaError_t error;
    sluice_status st = create(out);

    if (st != SLUICE_OK) {
        return st;
    }
    /* The condition is 0 at the start of each launch: no step runs unless begin sets it. */
    error = cudaGraphConditionalHandleCreate(&condition, out->graph, 0, cudaGraphCondAssignDefault);
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "cudaGraphConditionalHandleCreate");
    }
    control->getnext.conditional = condition;
    control->getnext.has_conditional = 1;
    st = add_kernel(out->graph, &last, &chain->begin);
    if (st == SLUICE_OK) {
        st = add_loop(out->graph, last, condition, &body);
    }
    if (st == SLUICE_OK) {
        st = add_turn(body, chain, step, control->getnext.turn);
    }
    return st == SLUICE_OK ? instantiate(out) : st;
}

sluice_status step_graph_upload(const step_graph *graph, cudaStream_t stream)
{
    cudaError_t error = cudaGraphUpload(graph->exec, stream);

    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(stream);
    }
    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "cudaGraphUpload");
}

sluice_status step_graph_try(const step_graph *graph, cudaStream_t stream)
{
    cudaError_t error = cudaGraphLaunch(graph->exec, stream);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "self-test: cudaGraphLaunch");
    }
    error = cudaStreamSynchronize(stream);
    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "self-test: the launch");
}

static cudaError_t destroy_exec(void *exec)
{
    return cudaGraphExecDestroy(exec);
}

static cudaError_t destroy_graph(void *graph)
{
    return cudaGraphDestroy(graph);
}

void step_graph_drop(const cuda_device *device, cudaGraph_t step)
{
    if (step != NULL) {
        sli_cuda_give_back(device, destroy_graph, step, "cudaGraphDestroy");
    }
}

void step_graph_destroy(const cuda_device *device, step_graph *graph)
{
    if (graph->exec != NULL) {
        sli_cuda_give_back(device, destroy_exec, graph->exec, "cudaGraphExecDestroy");
    }
    step_graph_drop(device, graph->graph);
    memset(graph, 0, sizeof(*graph));
}

sluice_status step_graph_load_kernel(sli_kernel_launch *kernel, uint32_t multiprocessors)
{
    struct cudaFuncAttributes attributes;
    int each = 0;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel->function);
    uint32_t most;

    if (error == cudaSuccess && kernel->blocks > 1) {
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel->function,
                                                              (int)kernel->threads, 0);
    }
    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "to load a kernel of this library");
    }
    most = each > 0 ? (uint32_t)each * multiprocessors : 1;
    kernel->blocks = kernel->blocks < most ? kernel->blocks : most;
    return SLUICE_OK;
}

sluice_status step_graph_count_multiprocessors(const cuda_device *device, uint32_t *count_out)
{
    int count = 0;
    const cudaError_t error =
        cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, (int)device->ordinal);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cudaDeviceGetAttribute", device->ordinal);
    }
    *count_out = (uint32_t)count;
    return SLUICE_OK;
}

sluice_status step_graph_launch_kernel(const sli_kernel_launch *kernel, cudaStream_t stream)
{
    const cudaError_t error =
        cudaLaunchKernel(kernel->function, dim_of(kernel->blocks), dim_of(kernel->threads),
                         (void **)(uintptr_t)kernel->args, 0, stream);

    return error == cudaSuccess ? SLUICE_OK : sli_cuda_fail(error, "cudaLaunchKernel");
}
