/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs of a sink program on CUDA: the captured step (step_capture.h), and the graph that is
 * launched, with the step as a child graph between GetNext's kernels. The device's context is
 * current in all these functions.
 */
#ifndef SLUICE_STEP_GRAPH_H
#define SLUICE_STEP_GRAPH_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "cuda_device_int.h"
#include "step_kernels.h"

/* Checks that the step's nodes are permitted in a loop on the device. Returns E_UNSUPPORTED if one
 * is not; the error text names the node. */
sluice_status step_graph_check_loop(cudaGraph_t step);

/* Compares two captures of the step (step_compare.c). Returns E_INVALID if they differ; the error
 * text names the parameter. */
sluice_status step_graph_compare(const cuda_device *device, cudaGraph_t first, cudaGraph_t second);

/* Stores the graph's nodes as an array that the caller frees; NULL if the graph is empty. */
sluice_status step_graph_nodes(cudaGraph_t graph, cudaGraphNode_t **nodes_out, size_t *count_out);

/* The kernels around the step, in order. CUDA copies their arguments when a node is created. */
typedef struct step_chain {
    sli_kernel_launch begin;
    sli_kernel_launch gather;
    sli_kernel_launch digest; /* its function is NULL if no digest is requested */
    sli_kernel_launch inner; /* runs in place of next, except after the last step of an iteration */
    sli_kernel_launch next;
    sli_kernel_launch mark; /* runs between device maps and step, where these are not captured */
} step_chain;

typedef struct step_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
} step_graph;

/*
 * Makes the graph begin -> gather -> [digest] -> step -> next, without a loop. The step may be
 * empty. If this version of CUDA can move child graphs, the step is moved and *step is set to NULL:
 * only a moved graph may contain allocations. Otherwise the caller still owns *step.
 */
sluice_status step_graph_make_once(const step_chain *chain, cudaGraph_t *step, step_graph *out);

/*
 * Makes the graph begin -> WHILE { gather -> [digest] -> step -> next }, with control->getnext.turn
 * steps per iteration. Writes the condition's handle to control, before the nodes of begin and next
 * copy it as an argument.
 */
sluice_status step_graph_make_loop(const step_chain *chain, cudaGraph_t step, step_control *control,
                                   step_graph *out);

/* Uploads the graph to the device, so that launches need not. Blocks until done. */
sluice_status step_graph_upload(const step_graph *graph, cudaStream_t stream);

/* Launches the graph once and waits, to test it. Errors are not recorded in the run's stream. */
sluice_status step_graph_try(const step_graph *graph, cudaStream_t stream);

/* Destroys a graph, also one that was never made. The context need not be current. */
void step_graph_destroy(const cuda_device *device, step_graph *graph);
void step_graph_drop(const cuda_device *device, cudaGraph_t step);

/*
 * Makes CUDA load a kernel now, not at its first launch in the middle of a sink, and reduces its
 * grid to the blocks that a device with so many multiprocessors runs at once.
 */
sluice_status step_graph_load_kernel(sli_kernel_launch *kernel, uint32_t multiprocessors);
sluice_status step_graph_count_multiprocessors(const cuda_device *device, uint32_t *count_out);

/* Launches one of the kernels without a graph. */
sluice_status step_graph_launch_kernel(const sli_kernel_launch *kernel, cudaStream_t stream);

#endif
