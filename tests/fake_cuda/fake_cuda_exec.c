/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's executable graphs: what may be one, and running it, loops included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_work.h"

struct CUgraphExec_st {
    cudaGraphExec_t next; /* of all */
    cudaGraph_t graph;    /* a clone, in order */
    cudaGraph_t source;   /* NULL: it is destroyed */
    fake_nodes events;    /* nodes that record or wait for one */
    uint64_t launched;
    uint64_t done;
};

static cudaGraphExec_t execs;
static bool reverse_branches;
static _Thread_local cudaGraphExec_t running; /* on the worker's thread */

void fake_execs_start(void)
{
    reverse_branches = false;
}

void fake_cuda_reverse_branches(bool reverse)
{
    pthread_mutex_lock(&fake_lock);
    reverse_branches = reverse;
    pthread_mutex_unlock(&fake_lock);
}

/* ---- what may be run ------------------------------------------------------------------------- */

/* Bodies copy and fill only what the device can reach while no host helps it. */
static bool reaches(const fake_place *place)
{
    return place->device || place->range != NULL;
}

static bool transfers_in_body(CUcontext context, fake_work *work)
{
    bool fits;

    if (fake_pin(context, work) != cudaSuccess) {
        return false;
    }
    fits = reaches(&work->to_place) && (work->kind == FAKE_SET || reaches(&work->from_place));
    fake_unpin(work);
    return fits;
}

static cudaError_t check_body(CUcontext context, cudaGraph_t body)
{
    for (size_t i = 0; i < body->nodes.count; i++) {
        cudaGraphNode_t node = body->nodes.at[i];
        cudaError_t error = cudaSuccess;

        switch (node->type) {
        case cudaGraphNodeTypeKernel:
        case cudaGraphNodeTypeEmpty:
        case cudaGraphNodeTypeConditional: /* its own body is looked at, too */
            break;
        case cudaGraphNodeTypeMemcpy:
        case cudaGraphNodeTypeMemset:
            error = transfers_in_body(context, &node->work) ? cudaSuccess : cudaErrorInvalidValue;
            break;
        case cudaGraphNodeTypeGraph:
            error = check_body(context, node->inner);
            break;
        default:
            error = cudaErrorInvalidValue;
        }
        if (error != cudaSuccess) {
            return error;
        }
    }
    return cudaSuccess;
}

static cudaError_t check_graph(CUcontext context, cudaGraph_t graph)
{
    cudaError_t error = cudaSuccess;

    for (size_t i = 0; i < graph->handle_count; i++) {
        if (!graph->handles[i].used) {
            return cudaErrorInvalidValue;
        }
    }
    for (size_t i = 0; i < graph->nodes.count && error == cudaSuccess; i++) {
        cudaGraphNode_t node = graph->nodes.at[i];

        if (node->type == cudaGraphNodeTypeConditional) {
            if (node->inner->nodes.count == 0) {
                fake_forbidden("a conditional node with an empty body hangs drivers before 12.8");
            }
            error = check_body(context, node->inner);
        }
        if (node->inner != NULL && error == cudaSuccess) {
            error = check_graph(context, node->inner);
        }
    }
    return error;
}

/* ---- instantiation --------------------------------------------------------------------------- */

/* May the node come next: is all that it needs in the order already? */
static bool is_ready(cudaGraphNode_t node, const bool *placed)
{
    for (size_t i = 0; i < node->needs.count; i++) {
        if (!placed[node->needs.at[i]->index]) {
            return false;
        }
    }
    return !placed[node->index];
}

/* The next node; NULL: there is none, for the edges go round. */
static cudaGraphNode_t next_node(cudaGraph_t graph, const bool *placed)
{
    const size_t count = graph->nodes.count;

    for (size_t i = 0; i < count; i++) {
        cudaGraphNode_t node = graph->nodes.at[reverse_branches ? count - 1 - i : i];

        if (is_ready(node, placed)) {
            return node;
        }
    }
    fake_forbidden("the edges of a graph go round");
    return NULL;
}

static void prepare(cudaGraphExec_t exec, cudaGraph_t graph)
{
    const size_t count = graph->nodes.count;
    bool *placed = calloc(count + 1, sizeof(*placed));

    graph->order = calloc(count + 1, sizeof(*graph->order));
    if (placed == NULL || graph->order == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        cudaGraphNode_t node = next_node(graph, placed);

        placed[node->index] = true;
        graph->order[i] = node;
        if (node->type == cudaGraphNodeTypeKernel) {
            fake_load("cudaGraphInstantiate", node->work.kernel->kernel);
        }
        if (node->work.event != NULL) {
            node->ticket = exec->events.count;
            fake_nodes_add(&exec->events, node);
        }
        if (node->inner != NULL) {
            prepare(exec, node->inner);
        }
    }
    free(placed);
}

static cudaError_t instantiate(cudaGraphExec_t *exec_out, cudaGraph_t graph, cudaError_t error)
{
    CUcontext context;
    cudaGraphExec_t exec;

    pthread_mutex_lock(&fake_lock);
    context = fake_context("cudaGraphInstantiate");
    error = error != cudaSuccess ? error : context->broken;
    if (error == cudaSuccess && (graph == NULL || graph->owned || graph->captures > 0 ||
                                 (graph->execs > 0 && fake_has_conditionals(graph)))) {
        error = cudaErrorInvalidValue;
    }
    error = error != cudaSuccess ? error : check_graph(context, graph);
    if (error == cudaSuccess) {
        exec = calloc(1, sizeof(*exec));
        if (exec == NULL) {
            fake_forbidden("the machine has no memory for the fake");
        }
        exec->graph = fake_graph_clone(graph, NULL);
        exec->source = graph;
        exec->next = execs;
        execs = exec;
        graph->execs++;
        prepare(exec, exec->graph);
        fake_live.execs++;
        *exec_out = exec;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec_out, cudaGraph_t graph,
                                 unsigned long long flags)
{
    cudaError_t error = fake_call();

    error = error == cudaSuccess && flags != 0 ? cudaErrorInvalidValue : error;
    return instantiate(exec_out, graph, error);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec_out, cudaGraph_t graph,
                                          unsigned long long flags)
{
    cudaError_t error = fake_call();

    error = error == cudaSuccess && flags != 0 ? cudaErrorInvalidValue : error;
    return instantiate(exec_out, graph, error);
}

void fake_exec_forget(cudaGraph_t graph)
{
    for (cudaGraphExec_t exec = execs; exec != NULL; exec = exec->next) {
        if (exec->source == graph) {
            exec->source = NULL;
        }
    }
}

cudaGraph_t fake_exec_clone(cudaGraphExec_t exec)
{
    return fake_has_conditionals(exec->graph) || fake_has_memory(exec->graph)
               ? NULL
               : fake_graph_clone(exec->graph, NULL);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    const cudaError_t error = fake_call();
    cudaGraphExec_t *link = &execs;

    pthread_mutex_lock(&fake_lock);
    if (exec->done < exec->launched) {
        fake_forbidden("cudaGraphExecDestroy: a launch of it is under way");
    }
    while (*link != exec) {
        link = &(*link)->next;
    }
    *link = exec->next;
    if (exec->source != NULL) {
        exec->source->execs--;
    }
    fake_nodes_clear(&exec->events);
    fake_graph_free(exec->graph);
    fake_live.execs--;
    pthread_mutex_unlock(&fake_lock);
    free(exec);
    return fake_answer(error);
}

/* ---- launches -------------------------------------------------------------------------------- */

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    cudaError_t error = fake_call();
    fake_work work = {.kind = FAKE_NOTHING};

    pthread_mutex_lock(&fake_lock);
    error = error == cudaSuccess && exec == NULL ? cudaErrorInvalidValue : error;
    error = fake_give(__func__, stream, &work, error);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

fake_work fake_launch_of(cudaGraphExec_t exec)
{
    fake_work work = {.kind = FAKE_GRAPH, .exec = exec, .launch = ++exec->launched};

    work.tickets = calloc(exec->events.count + 1, sizeof(*work.tickets));
    if (work.tickets == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return work;
    }
    /* A wait is for what was recorded when the graph was launched, or before it in the graph. */
    for (size_t i = 0; i < exec->events.count; i++) {
        const fake_work *node = &exec->events.at[i]->work;

        node->event->recorded += node->kind == FAKE_RECORD;
        work.tickets[i] = node->event->recorded;
        node->event->waits += node->kind == FAKE_WAIT;
    }
    return work;
}

static cudaError_t launch(cudaGraphExec_t exec, cudaStream_t stream)
{
    fake_work work = {.kind = FAKE_NOTHING};

    if (!fake_loop_launches() && fake_has_conditionals(exec->graph)) {
        return cudaErrorNotSupported;
    }
    if (stream->capture != NULL) {
        cudaGraph_t child = fake_exec_clone(exec);

        return child != NULL ? fake_capture_add(stream, &work, child)
                             : fake_capture_spoil(stream, cudaErrorStreamCaptureUnsupported);
    }
    work = fake_launch_of(exec);
    fake_submit(stream, &work);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    cudaError_t error = fake_call();
    cudaError_t entered;

    pthread_mutex_lock(&fake_lock);
    entered = fake_enter_stream(__func__, &stream);
    error = error != cudaSuccess ? error : entered;
    error = error == cudaSuccess && exec == NULL ? cudaErrorInvalidValue : error;
    error = error != cudaSuccess ? error : launch(exec, stream);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

/* ---- running --------------------------------------------------------------------------------- */

static void run_nodes(CUcontext context, const fake_work *launch_work, cudaGraph_t graph);

static void run_conditional(CUcontext context, const fake_work *launch_work, cudaGraphNode_t node)
{
    const fake_handle *handle = fake_handle_in(launch_work->exec->graph, node->handle);

    for (bool first = fake_body_first();
         (first || handle->value != 0) && context->broken == cudaSuccess; first = false) {
        run_nodes(context, launch_work, node->inner);
        if (node->condition != cudaGraphCondTypeWhile) {
            break;
        }
    }
}

static void run_nodes(CUcontext context, const fake_work *launch_work, cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        cudaGraphNode_t node = graph->order[i];

        if (node->type == cudaGraphNodeTypeConditional) {
            run_conditional(context, launch_work, node);
        } else if (node->inner != NULL) {
            run_nodes(context, launch_work, node->inner);
        } else {
            if (node->work.event != NULL) {
                node->work.record = launch_work->tickets[node->ticket];
            }
            fake_do(context, &node->work);
            if (node->work.kind == FAKE_WAIT) {
                fake_event_unwait(node->work.event);
            }
        }
    }
}

static void assign_defaults(cudaGraph_t graph)
{
    for (size_t i = 0; i < graph->handle_count; i++) {
        if (graph->handles[i].assigned) {
            graph->handles[i].value = graph->handles[i].at_launch;
        }
    }
    for (size_t i = 0; i < graph->nodes.count; i++) {
        if (graph->nodes.at[i]->inner != NULL) {
            assign_defaults(graph->nodes.at[i]->inner);
        }
    }
}

void fake_do_graph(CUcontext context, fake_work *work)
{
    cudaGraphExec_t exec = work->exec;

    while (exec->done + 1 < work->launch) { /* an exec never runs beside itself */
        pthread_cond_wait(&fake_changed, &fake_lock);
    }
    assign_defaults(exec->graph);
    running = exec;
    run_nodes(context, work, exec->graph);
    running = NULL;
    exec->done = work->launch;
    pthread_cond_broadcast(&fake_changed);
}

void fake_cuda_set_conditional(uint64_t id, unsigned value)
{
    fake_handle *handle;

    pthread_mutex_lock(&fake_lock);
    handle = running != NULL ? fake_handle_in(running->graph, id) : NULL;
    if (handle == NULL) {
        fake_forbidden("cudaGraphSetConditional: no variable of the graph that runs");
    }
    handle->value = value;
    pthread_mutex_unlock(&fake_lock);
}
