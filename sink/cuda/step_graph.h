/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of a sink program on CUDA: the captured step (step_capture.h), and the graph that is
 * launched, in which it is a child between GetNext's kernels. The device's context is current in
 * all of these.
 */
#ifndef SLUICE_STEP_GRAPH_H
#define SLUICE_STEP_GRAPH_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "cuda_device_int.h"
#include "step_kernels.h"

/* E_UNSUPPORTED, naming the node, for a step that may not stand in a loop on the device. */
sluice_status step_graph_check_loop(cudaGraph_t step);

/* E_INVALID, naming the parameter, where two captures of the step differ (step_compare.c). */
sluice_status step_graph_compare(const cuda_device *device, cudaGraph_t first, cudaGraph_t second);

/* The graph's nodes as an array to be freed; NULL for none. */
sluice_status step_graph_nodes(cudaGraph_t graph, cudaGraphNode_t **nodes_out, size_t *count_out);

/* The kernels around the step, in their order; arguments are copied when a node is made. */
typedef struct step_chain {
    sli_kernel_launch begin;
    sli_kernel_launch gather;
    sli_kernel_launch digest; /* function is NULL: none */
    sli_kernel_launch inner;  /* in place of next, but behind the last step of a turn */
    sli_kernel_launch next;
} step_chain;

typedef struct step_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
} step_graph;

/*
 * begin -> gather -> [digest] -> step -> next, once. The step may be empty. Where this CUDA can, it
 * is moved, for only so it may allocate: *step is NULL then, and else still the caller's.
 */
sluice_status step_graph_make_once(const step_chain *chain, cudaGraph_t *step, step_graph *out);

/*
 * begin -> WHILE { gather -> [digest] -> step -> next }, with control's turn of steps in the body.
 * The handle of the condition is written to control before the nodes of begin and next are made,
 * whose arguments it is.
 */
sluice_status step_graph_make_loop(const step_chain *chain, cudaGraph_t step, step_control *control,
                                   step_graph *out);

/* Brings all that it holds onto the device, so that no launch has to. Waits. */
sluice_status step_graph_upload(const step_graph *graph, cudaStream_t stream);

/* Launches it, and waits. Not for sinks: errors are the caller's alone. */
sluice_status step_graph_try(const step_graph *graph, cudaStream_t stream);

/* Also for one that was never made; the context need not be current. */
void step_graph_destroy(const cuda_device *device, step_graph *graph);
void step_graph_drop(const cuda_device *device, cudaGraph_t step);

/* Has CUDA load a kernel, which it otherwise does at the first launch, in the midst of a sink. */
sluice_status step_graph_load_kernel(const sli_kernel_launch *kernel);

/* One of the kernels by itself. */
sluice_status step_graph_launch_kernel(const sli_kernel_launch *kernel, cudaStream_t stream);

#endif
