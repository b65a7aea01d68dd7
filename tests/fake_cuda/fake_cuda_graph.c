/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's graphs: nodes, edges, the variables of conditional nodes. */
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_work.h"

/* Handles are no small numbers, so that one that nobody made is none. */
static uint64_t last_handle = UINT64_C(0x5EED0000);

/* ---- sets ------------------------------------------------------------------------------------ */

/* The array, one longer. */
static void *longer(void *array, size_t count, size_t bytes)
{
    void *grown = realloc(array, (count + 1) * bytes);

    if (grown == NULL) {
        fake_forbidden("the machine has no memory for the fake");
    }
    return grown;
}

void fake_nodes_add(fake_nodes *set, cudaGraphNode_t node)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->at[i] == node) {
            return;
        }
    }
    set->at = longer(set->at, set->count, sizeof(set->at[0]));
    set->at[set->count++] = node;
}

void fake_nodes_clear(fake_nodes *set)
{
    free(set->at);
    *set = (fake_nodes){NULL, 0};
}

/* ---- graphs ---------------------------------------------------------------------------------- */

cudaGraph_t fake_graph_new(cudaGraph_t parent, bool owned)
{
    cudaGraph_t graph = calloc(1, sizeof(*graph));

    if (graph == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return NULL;
    }
    graph->parent = parent;
    graph->owned = owned;
    fake_live.graphs += !owned;
    return graph;
}

void fake_graph_free(cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        cudaGraphNode_t node = graph->nodes.at[i];

        fake_work_free(&node->work);
        fake_nodes_clear(&node->needs);
        if (node->inner != NULL) {
            fake_graph_free(node->inner);
        }
        free(node);
    }
    fake_live.graphs -= !graph->owned;
    fake_nodes_clear(&graph->nodes);
    free(graph->handles);
    free(graph->order);
    free(graph);
}

cudaGraphNode_t fake_graph_add(cudaGraph_t graph, enum cudaGraphNodeType type, fake_work *work,
                               const cudaGraphNode_t *needs, size_t count)
{
    cudaGraphNode_t node = calloc(1, sizeof(*node));

    if (node == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return NULL;
    }
    node->graph = graph;
    node->type = type;
    node->work = *work;
    node->index = graph->nodes.count;
    for (size_t i = 0; i < count; i++) {
        fake_nodes_add(&node->needs, needs[i]);
    }
    fake_nodes_add(&graph->nodes, node);
    return node;
}

cudaGraph_t fake_graph_clone(cudaGraph_t graph, cudaGraph_t parent)
{
    cudaGraph_t clone = fake_graph_new(parent, true);

    for (size_t i = 0; i < graph->handle_count; i++) {
        clone->handles = longer(clone->handles, i, sizeof(clone->handles[0]));
        clone->handles[i] = graph->handles[i];
    }
    clone->handle_count = graph->handle_count;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        cudaGraphNode_t node = graph->nodes.at[i];
        fake_work work = fake_work_copy(&node->work);
        cudaGraphNode_t copy = fake_graph_add(clone, node->type, &work, NULL, 0);

        copy->condition = node->condition;
        copy->handle = node->handle;
        copy->inner = node->inner != NULL ? fake_graph_clone(node->inner, clone) : NULL;
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const fake_nodes *needs = &graph->nodes.at[i]->needs;

        for (size_t k = 0; k < needs->count; k++) {
            fake_nodes_add(&clone->nodes.at[i]->needs, clone->nodes.at[needs->at[k]->index]);
        }
    }
    return clone;
}

static bool has_type(cudaGraph_t graph, enum cudaGraphNodeType type)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        cudaGraphNode_t node = graph->nodes.at[i];

        if (node->type == type || (node->inner != NULL && has_type(node->inner, type))) {
            return true;
        }
    }
    return false;
}

bool fake_has_conditionals(cudaGraph_t graph)
{
    return has_type(graph, cudaGraphNodeTypeConditional);
}

bool fake_has_memory(cudaGraph_t graph)
{
    return has_type(graph, cudaGraphNodeTypeMemAlloc) || has_type(graph, cudaGraphNodeTypeMemFree);
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph_out, unsigned int flags)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (error == cudaSuccess && flags != 0) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *graph_out = fake_graph_new(NULL, false);
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    const cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (graph->owned || graph->captures > 0) {
        fake_forbidden(
            "cudaGraphDestroy: a node owns the graph, or a capture into it is under way");
    }
    fake_exec_forget(graph);
    fake_graph_free(graph);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* ---- conditionals ---------------------------------------------------------------------------- */

fake_handle *fake_handle_in(cudaGraph_t graph, uint64_t id)
{
    for (size_t i = 0; i < graph->handle_count; i++) {
        if (graph->handles[i].id == id) {
            return &graph->handles[i];
        }
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        cudaGraph_t inner = graph->nodes.at[i]->inner;
        fake_handle *handle = inner != NULL ? fake_handle_in(inner, id) : NULL;

        if (handle != NULL) {
            return handle;
        }
    }
    return NULL;
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle_out,
                                             cudaGraph_t graph, unsigned int value,
                                             unsigned int flags)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (error == cudaSuccess && !fake_conditionals()) {
        error = cudaErrorNotSupported;
    }
    if (error == cudaSuccess &&
        (graph == NULL || (flags & ~(unsigned)cudaGraphCondAssignDefault) != 0)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        graph->handles = longer(graph->handles, graph->handle_count, sizeof(graph->handles[0]));
        graph->handles[graph->handle_count++] =
            (fake_handle){.id = ++last_handle,
                          .at_launch = value,
                          .assigned = (flags & cudaGraphCondAssignDefault) != 0};
        *handle_out = last_handle;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The variable that a conditional node of this graph may have: its own, or of a graph around it. */
static fake_handle *handle_for(cudaGraph_t graph, uint64_t id)
{
    for (; graph != NULL; graph = graph->parent) {
        for (size_t i = 0; i < graph->handle_count; i++) {
            if (graph->handles[i].id == id) {
                return &graph->handles[i];
            }
        }
    }
    return NULL;
}

static cudaError_t add_conditional(cudaGraph_t graph, cudaGraphNode_t *node_out,
                                   struct cudaConditionalNodeParams *params,
                                   const cudaGraphNode_t *needs, size_t count)
{
    fake_handle *handle = handle_for(graph, params->handle);
    fake_work work = {.kind = FAKE_NOTHING};

    if (!fake_conditionals()) {
        return cudaErrorNotSupported;
    }
    if (handle == NULL || handle->used || params->size != 1 ||
        (params->type != cudaGraphCondTypeWhile && params->type != cudaGraphCondTypeIf)) {
        return cudaErrorInvalidValue;
    }
    handle->used = true;
    *node_out = fake_graph_add(graph, cudaGraphNodeTypeConditional, &work, needs, count);
    (*node_out)->handle = params->handle;
    (*node_out)->condition = params->type;
    (*node_out)->inner = fake_graph_new(graph, true);
    params->phGraph_out = &(*node_out)->inner;
    return cudaSuccess;
}

/* A child graph is a copy, which memory has none of; or the graph itself, from then on the node's.
 */
static cudaError_t add_child(cudaGraph_t graph, cudaGraphNode_t *node_out,
                             const struct cudaChildGraphNodeParams *params,
                             const cudaGraphNode_t *needs, size_t count)
{
    const bool moves = params->ownership == cudaGraphChildGraphOwnershipMove;
    fake_work work = {.kind = FAKE_NOTHING};
    cudaGraph_t child = params->graph;

    if (child == NULL || fake_has_conditionals(child) || (!moves && fake_has_memory(child)) ||
        (moves && (child->owned || child->captures > 0 || child->execs > 0))) {
        return cudaErrorInvalidValue;
    }
    *node_out = fake_graph_add(graph, cudaGraphNodeTypeGraph, &work, needs, count);
    if (moves) {
        child->owned = true;
        child->parent = graph;
        fake_live.graphs--;
    }
    (*node_out)->inner = moves ? child : fake_graph_clone(child, graph);
    return cudaSuccess;
}

/* What the other kinds of nodes do. */
static cudaError_t work_of(const struct cudaGraphNodeParams *params, fake_work *work)
{
    const struct cudaKernelNodeParamsV2 *kernel = &params->kernel;

    switch (params->type) {
    case cudaGraphNodeTypeKernel:
        *work = (fake_work){.kind = FAKE_KERNEL};
        return fake_kernel_call_new(kernel->func, kernel->gridDim, kernel->blockDim,
                                    kernel->kernelParams, &work->kernel);
    case cudaGraphNodeTypeMemset:
        *work = (fake_work){.kind = FAKE_SET,
                            .to = params->memset.dst,
                            .value = (int)params->memset.value,
                            .bytes = params->memset.width};
        return params->memset.elementSize == 1 && params->memset.height == 1
                   ? cudaSuccess
                   : cudaErrorNotSupported;
    case cudaGraphNodeTypeHost:
        *work =
            (fake_work){.kind = FAKE_HOST, .call = params->host.fn, .arg = params->host.userData};
        return cudaSuccess;
    case cudaGraphNodeTypeEmpty:
        *work = (fake_work){.kind = FAKE_NOTHING};
        return cudaSuccess;
    case cudaGraphNodeTypeEventRecord:
        *work = (fake_work){.kind = FAKE_RECORD, .event = params->eventRecord.event};
        return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
        *work = (fake_work){.kind = FAKE_WAIT, .event = params->eventWait.event};
        return cudaSuccess;
    default:
        fake_forbidden("cudaGraphAddNode: a node that the fake has not");
        return cudaErrorNotSupported;
    }
}

static cudaError_t add_node(cudaGraph_t graph, cudaGraphNode_t *node_out,
                            struct cudaGraphNodeParams *params, const cudaGraphNode_t *needs,
                            size_t count)
{
    fake_work work = {.kind = FAKE_NOTHING};
    cudaError_t error;

    for (size_t i = 0; i < count; i++) {
        if (needs[i]->graph != graph) {
            return cudaErrorInvalidValue;
        }
    }
    for (size_t i = 0; i < sizeof(params->reserved0) / sizeof(params->reserved0[0]); i++) {
        if (params->reserved0[i] != 0) {
            return cudaErrorInvalidValue;
        }
    }
    if (params->type == cudaGraphNodeTypeConditional) {
        return add_conditional(graph, node_out, &params->conditional, needs, count);
    }
    if (params->type == cudaGraphNodeTypeGraph) {
        return add_child(graph, node_out, &params->graph, needs, count);
    }
    error = work_of(params, &work);
    if (error == cudaSuccess) {
        *node_out = fake_graph_add(graph, params->type, &work, needs, count);
    }
    return error;
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *node_out, cudaGraph_t graph,
                             const cudaGraphNode_t *needs, const cudaGraphEdgeData *edges,
                             size_t count, struct cudaGraphNodeParams *params)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (error == cudaSuccess &&
        (graph == NULL || params == NULL || edges != NULL || (needs == NULL && count > 0))) {
        error = cudaErrorInvalidValue;
    }
    error = error != cudaSuccess ? error : add_node(graph, node_out, params, needs, count);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes_out, size_t *count)
{
    cudaError_t error = fake_call();

    pthread_mutex_lock(&fake_lock);
    if (error == cudaSuccess && graph == NULL) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess && nodes_out == NULL) {
        *count = graph->nodes.count;
    } else if (error == cudaSuccess) {
        for (size_t i = 0; i < *count; i++) {
            nodes_out[i] = i < graph->nodes.count ? graph->nodes.at[i] : NULL;
        }
        *count = *count < graph->nodes.count ? *count : graph->nodes.count;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type_out)
{
    const cudaError_t error = fake_call();

    if (error == cudaSuccess) {
        *type_out = node->type;
    }
    return fake_answer(error);
}

cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph_out)
{
    cudaError_t error = fake_call();

    if (error == cudaSuccess && node->type != cudaGraphNodeTypeGraph) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *graph_out = node->inner;
    }
    return fake_answer(error);
}
