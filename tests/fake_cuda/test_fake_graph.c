/* SPDX-License-Identifier: Apache-2.0 */
/* The fake of CUDA itself: captures, graphs, loops, and what it refuses as CUDA does. */
#include <stdlib.h>

#include "fake_kit.h"
#include "testing.h"

/* Ends the capture, which is one that can be run, and runs it so often. */
static void end_and_run(int times)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t graph = NULL;

    T_CUDA(cudaStreamEndCapture(fake_kit_stream, &graph));
    T_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    T_CUDA(cudaGraphDestroy(graph));
    for (int i = 0; i < times; i++) {
        T_CUDA(cudaGraphLaunch(exec, fake_kit_stream));
    }
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    T_CUDA(cudaGraphExecDestroy(exec));
}

static void begin(void)
{
    T_CUDA(cudaStreamBeginCapture(fake_kit_stream, cudaStreamCaptureModeThreadLocal));
}

/* ---- kernels and copies ---------------------------------------------------------------------- */

static void a_kernel_runs_with_the_arguments_of_its_launch(void)
{
    uint64_t value = 7;
    void *args[] = {&fake_kit_words, &value};

    fake_kit_start();
    T_CUDA(cudaLaunchKernel(&fake_kit_append_kernel, fake_kit_single, fake_kit_single, args, 0,
                            fake_kit_stream));
    value = 8;
    T_CUDA(cudaLaunchKernel(&fake_kit_append_kernel, fake_kit_single, fake_kit_single, args, 0,
                            fake_kit_stream));
    value = 9;
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    fake_kit_appended(2, (const uint64_t[]){7, 8});
    T_EQ(fake_cuda_kernels(), 2);
    T_EQ(fake_cuda_count_of("cudaLaunchKernel"), 2);
    fake_kit_finish();
}

static void what_is_no_kernel_is_refused(void)
{
    static const uint64_t no_kernel[32];
    void *args[] = {&fake_kit_words};
    struct cudaFuncAttributes attributes;

    fake_kit_start();
    T_CUDA_ERROR(
        cudaLaunchKernel(no_kernel, fake_kit_single, fake_kit_single, args, 0, fake_kit_stream),
        cudaErrorInvalidDeviceFunction);
    T_CUDA_ERROR(cudaLaunchKernel(NULL, fake_kit_single, fake_kit_single, args, 0, fake_kit_stream),
                 cudaErrorInvalidDeviceFunction);
    T_CUDA_ERROR(cudaFuncGetAttributes(&attributes, &no_kernel[1]), cudaErrorInvalidDeviceFunction);
    T_CUDA_ERROR(cudaLaunchKernel(&fake_kit_gate_kernel, (dim3){0, 1, 1}, fake_kit_single, args, 0,
                                  fake_kit_stream),
                 cudaErrorInvalidConfiguration);
    T_CUDA(cudaFuncGetAttributes(&attributes, &fake_kit_gate_kernel));
    T_EQ(attributes.maxThreadsPerBlock, 1024);
    T_CUDA_ERROR(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    T_CUDA_ERROR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    T_CUDA(cudaGetLastError());
    fake_kit_finish();
}

static void copies_go_all_ways(void)
{
    uint64_t out = 5;
    uint64_t back = 0;

    fake_kit_start();
    T_CUDA(cudaMemcpyAsync(&fake_kit_words[1], &out, 8, cudaMemcpyHostToDevice, fake_kit_stream));
    T_CUDA(cudaMemcpyAsync(&fake_kit_words[2], &fake_kit_words[1], 8, cudaMemcpyDeviceToDevice,
                           fake_kit_stream));
    T_CUDA(cudaMemsetAsync(&fake_kit_words[2], 1, 1, fake_kit_stream));
    T_CUDA(cudaMemcpyAsync(&back, &fake_kit_words[2], 8, cudaMemcpyDefault, fake_kit_stream));
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    T_EQ(back, 1);
    T_CUDA(cudaMemcpy(&back, &fake_kit_words[1], 8, cudaMemcpyDeviceToHost));
    T_EQ(back, 5);
    T_CUDA_ERROR(cudaMemcpyAsync(&back, &out, 8, cudaMemcpyHostToDevice, fake_kit_stream),
                 cudaErrorInvalidValue);
    T_CUDA_ERROR(cudaMemcpyAsync(&fake_kit_words[FAKE_KIT_WORDS], &out, 8, cudaMemcpyHostToDevice,
                                 fake_kit_stream),
                 cudaErrorInvalidValue);
    T_CUDA_ERROR(cudaMemsetAsync(&back, 0, 8, fake_kit_stream), cudaErrorInvalidValue);
    fake_kit_finish();
}

static void a_kernel_that_fails_breaks_its_device(void)
{
    cudaStream_t other;

    fake_kit_start();
    fake_cuda_fail_kernel_after(1, cudaErrorIllegalAddress);
    T_CUDA(fake_kit_append(1));
    T_CUDA(fake_kit_append(2));
    T_CUDA_ERROR(cudaStreamSynchronize(fake_kit_stream), cudaErrorIllegalAddress);
    T_EQ(fake_kit_words[0], 1);
    T_CUDA_ERROR(fake_kit_append(3), cudaErrorIllegalAddress);
    T_CUDA_ERROR(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaErrorIllegalAddress);
    (void)cudaStreamDestroy(fake_kit_stream);
    (void)cudaFree(fake_kit_words);
}

static void streams_and_events_are_asked_without_waiting(void)
{
    uint64_t *open_gate;
    cudaEvent_t event;

    fake_kit_start();
    open_gate = &fake_kit_words[8];
    T_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    T_CUDA(cudaStreamQuery(fake_kit_stream));
    T_CUDA(fake_kit_gate(open_gate));
    T_CUDA(cudaEventRecord(event, fake_kit_stream));
    T_CUDA_ERROR(cudaStreamQuery(fake_kit_stream), cudaErrorNotReady);
    T_CUDA_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    T_CUDA_ERROR(cudaGetLastError(), cudaErrorNotReady);
    T_CUDA(cudaGetLastError());
    fake_kit_open(open_gate);
    T_CUDA(cudaDeviceSynchronize());
    T_CUDA(cudaStreamQuery(fake_kit_stream));
    T_CUDA(cudaEventQuery(event));
    T_CUDA(cudaEventDestroy(event));
    fake_kit_finish();
}

static void a_stream_waits_for_another_ones_event(void)
{
    cudaStream_t other;
    cudaEvent_t event;

    fake_kit_start();
    T_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    T_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    T_CUDA(fake_kit_gate(&fake_kit_words[8]));
    T_CUDA(fake_kit_append(1));
    T_CUDA(cudaEventRecord(event, fake_kit_stream));
    T_CUDA(cudaStreamWaitEvent(other, event, 0));
    T_CUDA(fake_kit_append_on(other, 2));
    fake_kit_open(&fake_kit_words[8]);
    T_CUDA(cudaStreamSynchronize(other));
    fake_kit_appended(2, (const uint64_t[]){1, 2});
    T_CUDA(cudaEventDestroy(event));
    T_CUDA(cudaStreamDestroy(other));
    fake_kit_finish();
}

/* ---- captures -------------------------------------------------------------------------------- */

static void what_is_captured_runs_at_each_launch(void)
{
    uint64_t value = 3;
    void *args[] = {&fake_kit_words, &value};

    fake_kit_start();
    begin();
    T_CUDA(cudaLaunchKernel(&fake_kit_append_kernel, fake_kit_single, fake_kit_single, args, 0,
                            fake_kit_stream));
    value = 4;
    T_CUDA(cudaMemcpyAsync(&fake_kit_words[20], &fake_kit_words[1], 8, cudaMemcpyDeviceToDevice,
                           fake_kit_stream));
    T_CUDA(cudaMemsetAsync(&fake_kit_words[21], 1, 1, fake_kit_stream));
    T_EQ(fake_kit_words[0], 0);
    end_and_run(3);
    fake_kit_appended(3, (const uint64_t[]){3, 3, 3});
    T_EQ(fake_kit_words[20], 3);
    T_EQ(fake_kit_words[21], 1);
    fake_kit_finish();
}

static void nodes_are_listed_with_their_types(void)
{
    static const enum cudaGraphNodeType types[] = {
        cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy,     cudaGraphNodeTypeMemset,
        cudaGraphNodeTypeHost,   cudaGraphNodeTypeMemAlloc,   cudaGraphNodeTypeMemFree,
        cudaGraphNodeTypeGraph,  cudaGraphNodeTypeEventRecord};
    enum { COUNT = sizeof(types) / sizeof(types[0]) };
    cudaGraphNode_t nodes[COUNT + 1];
    size_t count = COUNT + 1;
    cudaGraphExec_t child;
    cudaGraph_t graph;
    cudaEvent_t event;
    void *block;

    fake_kit_start();
    T_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    begin();
    T_CUDA(fake_kit_append(1));
    T_CUDA(cudaStreamEndCapture(fake_kit_stream, &graph));
    T_CUDA(cudaGraphInstantiate(&child, graph, 0));
    T_CUDA(cudaGraphDestroy(graph));
    begin();
    T_CUDA(fake_kit_append(2));
    T_CUDA(cudaMemcpyAsync(&fake_kit_words[20], &fake_kit_words[0], 8, cudaMemcpyDeviceToDevice,
                           fake_kit_stream));
    T_CUDA(cudaMemsetAsync(&fake_kit_words[21], 1, 1, fake_kit_stream));
    T_CUDA(cudaLaunchHostFunc(fake_kit_stream, free, NULL));
    T_CUDA(cudaMallocAsync(&block, 100, fake_kit_stream));
    T_CUDA(cudaFreeAsync(block, fake_kit_stream));
    T_CUDA(cudaGraphLaunch(child, fake_kit_stream));
    T_CUDA(cudaEventRecordWithFlags(event, fake_kit_stream, cudaEventRecordExternal));
    T_CUDA(cudaStreamEndCapture(fake_kit_stream, &graph));
    T_CUDA(cudaGraphGetNodes(graph, nodes, &count));
    T_EQ(count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        enum cudaGraphNodeType type = cudaGraphNodeTypeCount;

        T_CUDA(cudaGraphNodeGetType(nodes[i], &type));
        T_EQ(type, types[i]);
    }
    T_CUDA(cudaGraphExecDestroy(child));
    T_CUDA(cudaGraphInstantiate(&child, graph, 0));
    T_CUDA(cudaGraphDestroy(graph));
    T_CUDA(cudaGraphLaunch(child, fake_kit_stream));
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    fake_kit_appended(2, (const uint64_t[]){2, 1});
    T_CUDA(cudaEventQuery(event));
    T_CUDA(cudaGraphExecDestroy(child));
    T_CUDA(cudaEventDestroy(event));
    fake_kit_finish();
}

/* Two branches have no order, so a test that needs one finds out. */
static void branches_join_the_capture_and_each_other(void)
{
    cudaEvent_t events[2];
    cudaStream_t other;

    fake_kit_start();
    T_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        T_CUDA(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
    }
    for (int reverse = 0; reverse < 2; reverse++) {
        fake_cuda_reverse_branches(reverse == 1);
        fake_kit_words[0] = 0;
        begin();
        T_CUDA(fake_kit_append(1));
        T_CUDA(cudaEventRecord(events[0], fake_kit_stream));
        T_CUDA(cudaStreamWaitEvent(other, events[0], 0));
        T_CUDA(fake_kit_append(2));
        T_CUDA(fake_kit_append_on(other, 3));
        T_CUDA(cudaEventRecord(events[1], other));
        T_CUDA(cudaStreamWaitEvent(fake_kit_stream, events[1], 0));
        T_CUDA(fake_kit_append(4));
        end_and_run(1);
        fake_kit_appended(4, reverse == 1 ? (const uint64_t[]){1, 3, 2, 4}
                                          : (const uint64_t[]){1, 2, 3, 4});
    }
    T_CUDA_ERROR(cudaEventQuery(events[1]), cudaErrorCapturedEvent);
    T_CUDA_ERROR(cudaStreamWaitEvent(other, events[1], 0), cudaErrorCapturedEvent);
    for (int i = 0; i < 2; i++) {
        T_CUDA(cudaEventDestroy(events[i]));
    }
    T_CUDA(cudaStreamDestroy(other));
    fake_kit_finish();
}

static void a_branch_that_does_not_come_back_is_an_error(void)
{
    cudaGraph_t graph = NULL;
    cudaStream_t other;
    cudaEvent_t event;

    fake_kit_start();
    T_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    T_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    begin();
    T_CUDA(fake_kit_append(1));
    T_CUDA(cudaEventRecord(event, fake_kit_stream));
    T_CUDA(cudaStreamWaitEvent(other, event, 0));
    T_CUDA(fake_kit_append_on(other, 2));
    T_CUDA_ERROR(cudaStreamEndCapture(other, &graph), cudaErrorStreamCaptureUnmatched);
    T_CUDA_ERROR(cudaStreamEndCapture(fake_kit_stream, &graph), cudaErrorStreamCaptureInvalidated);
    begin();
    T_CUDA(cudaEventRecord(event, fake_kit_stream));
    T_CUDA(cudaStreamWaitEvent(other, event, 0));
    T_CUDA(fake_kit_append_on(other, 2));
    T_CUDA_ERROR(cudaStreamEndCapture(fake_kit_stream, &graph), cudaErrorStreamCaptureUnjoined);
    CU_ASSERT_PTR_NULL(graph);
    T_CUDA_ERROR(cudaStreamEndCapture(fake_kit_stream, &graph), cudaErrorIllegalState);
    T_CUDA(cudaStreamSynchronize(other));
    T_EQ(fake_kit_words[0], 0);
    T_CUDA(cudaEventDestroy(event));
    T_CUDA(cudaStreamDestroy(other));
    fake_kit_finish();
}

/* What a capture cannot hold; each spoils it. */
static cudaError_t forbidden_call(int which, cudaEvent_t event)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *block = NULL;
    cudaError_t error;
    uint64_t word;

    switch (which) {
    case 0:
        return cudaMalloc(&block, 8);
    case 1:
        return cudaMemcpy(&word, fake_kit_words, 8, cudaMemcpyDeviceToHost);
    case 2:
        return cudaMemset(fake_kit_words, 0, 8);
    case 3:
        return cudaStreamSynchronize(fake_kit_stream);
    case 4:
        return cudaStreamQuery(fake_kit_stream);
    case 5:
        return cudaDeviceSynchronize();
    case 6:
        return cudaEventQuery(event);
    case 7: /* it was recorded outside */
        return cudaStreamWaitEvent(fake_kit_stream, event, 0);
    case 8:
        return cudaEventSynchronize(event);
    default: /* it is recorded inside, which no mode of the thread allows to wait for */
        T_CUDA(cudaEventRecord(event, fake_kit_stream));
        T_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
        error = cudaEventSynchronize(event);
        T_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
        return error;
    }
}

static void calls_that_no_graph_can_hold_end_the_capture(void)
{
    cudaEvent_t event;

    fake_kit_start();
    T_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
    for (int which = 0; which < 10; which++) {
        const cudaError_t want = which == 7   ? cudaErrorStreamCaptureIsolation
                                 : which == 9 ? cudaErrorCapturedEvent
                                              : cudaErrorStreamCaptureUnsupported;
        enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        cudaGraph_t graph = NULL;

        T_CUDA(cudaEventRecord(event, fake_kit_stream));
        T_CUDA(cudaEventSynchronize(event));
        begin();
        T_CUDA(fake_kit_append(1));
        T_STR(cudaGetErrorName(forbidden_call(which, event)), cudaGetErrorName(want));
        T_CUDA(cudaStreamIsCapturing(fake_kit_stream, &status));
        T_EQ(status, cudaStreamCaptureStatusInvalidated);
        T_CUDA_ERROR(fake_kit_append(2), cudaErrorStreamCaptureInvalidated);
        T_CUDA_ERROR(cudaStreamEndCapture(fake_kit_stream, &graph),
                     cudaErrorStreamCaptureInvalidated);
        T_CUDA(cudaStreamIsCapturing(fake_kit_stream, &status));
        T_EQ(status, cudaStreamCaptureStatusNone);
    }
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    T_EQ(fake_kit_words[0], 0);
    T_CUDA(cudaEventDestroy(event));
    fake_kit_finish();
}

static void a_relaxed_thread_may_allocate_beside_its_capture(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    void *block = NULL;

    fake_kit_start();
    begin();
    T_CUDA(fake_kit_append(1));
    T_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    T_EQ(mode, cudaStreamCaptureModeGlobal);
    T_CUDA(cudaMalloc(&block, 8));
    T_CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    end_and_run(1);
    T_CUDA(cudaStreamBeginCapture(fake_kit_stream, cudaStreamCaptureModeRelaxed));
    T_CUDA(cudaFree(block));
    T_CUDA(fake_kit_append(2));
    end_and_run(1);
    fake_kit_appended(2, (const uint64_t[]){1, 2});
    fake_kit_finish();
}

static void what_runs_is_not_what_is_captured_to(void)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    const cudaGraphNode_t *needs = NULL;
    cudaGraph_t captured = NULL;
    cudaGraph_t graph = NULL;
    cudaGraph_t ended = NULL;
    cudaGraphExec_t exec;
    size_t count = 9;

    fake_kit_start();
    T_CUDA(cudaGraphCreate(&graph, 0));
    T_CUDA(cudaStreamBeginCaptureToGraph(fake_kit_stream, graph, NULL, NULL, 0,
                                         cudaStreamCaptureModeThreadLocal));
    T_CUDA(
        cudaStreamGetCaptureInfo(fake_kit_stream, &status, NULL, &captured, &needs, NULL, &count));
    T_TRUE(status == cudaStreamCaptureStatusActive && captured == graph);
    T_EQ(count, 0);
    T_CUDA(fake_kit_append(1));
    T_CUDA(cudaStreamGetCaptureInfo(fake_kit_stream, &status, NULL, NULL, &needs, NULL, &count));
    T_EQ(count, 1);
    T_CUDA(cudaStreamEndCapture(fake_kit_stream, &ended));
    T_TRUE(ended == graph);
    T_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    T_CUDA(cudaStreamBeginCaptureToGraph(fake_kit_stream, graph, NULL, NULL, 0,
                                         cudaStreamCaptureModeThreadLocal));
    T_CUDA(fake_kit_append(2));
    T_CUDA(cudaStreamEndCapture(fake_kit_stream, NULL));
    T_CUDA(cudaGraphLaunch(exec, fake_kit_stream));
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    fake_kit_appended(1, (const uint64_t[]){1});
    T_CUDA(cudaGraphExecDestroy(exec));
    T_CUDA(cudaGraphDestroy(graph));
    fake_kit_finish();
}

static void a_graph_waits_for_an_event_of_outside(void)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    cudaStream_t other;
    cudaEvent_t event;

    fake_kit_start();
    T_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    T_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    T_CUDA_ERROR(cudaStreamWaitEvent(other, event, cudaEventWaitExternal), cudaErrorInvalidValue);
    T_CUDA(cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal));
    T_CUDA(cudaStreamWaitEvent(other, event, cudaEventWaitExternal));
    T_CUDA(fake_kit_append_on(other, 2));
    T_CUDA(cudaStreamEndCapture(other, &graph));
    T_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    T_CUDA(cudaGraphDestroy(graph));
    T_CUDA(fake_kit_gate(&fake_kit_words[8]));
    T_CUDA(fake_kit_append(1));
    T_CUDA(cudaEventRecord(event, fake_kit_stream));
    T_CUDA(cudaGraphLaunch(exec, other));
    fake_kit_open(&fake_kit_words[8]);
    T_CUDA(cudaStreamSynchronize(other));
    fake_kit_appended(2, (const uint64_t[]){1, 2});
    T_CUDA(cudaGraphExecDestroy(exec));
    T_CUDA(cudaEventDestroy(event));
    T_CUDA(cudaStreamDestroy(other));
    fake_kit_finish();
}

static void a_child_graph_is_a_copy_that_can_be_walked(void)
{
    struct cudaGraphNodeParams params;
    cudaGraph_t inner = NULL;
    cudaGraph_t graph;
    cudaGraph_t child;
    cudaGraphNode_t node;
    size_t count = 0;

    fake_kit_start();
    begin();
    T_CUDA(fake_kit_append(1));
    T_CUDA(cudaStreamEndCapture(fake_kit_stream, &child));
    T_CUDA(cudaGraphCreate(&graph, 0));
    memset(&params, 0, sizeof(params));
    params.type = cudaGraphNodeTypeGraph;
    params.graph.graph = child;
    T_CUDA(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    T_CUDA(cudaGraphDestroy(child));
    T_CUDA(cudaGraphChildGraphNodeGetGraph(node, &inner));
    T_CUDA(cudaGraphGetNodes(inner, NULL, &count));
    T_EQ(count, 1);
    T_CUDA(cudaGraphGetNodes(inner, &node, &count));
    T_CUDA_ERROR(cudaGraphChildGraphNodeGetGraph(node, &inner), cudaErrorInvalidValue);
    T_CUDA(cudaGraphDestroy(graph));
    fake_kit_finish();
}

static void what_allocates_is_moved_into_its_parent(void)
{
    struct cudaGraphNodeParams params;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    cudaGraph_t child;
    cudaGraphNode_t node;
    void *block;

    fake_kit_start();
    begin();
    T_CUDA(cudaMallocAsync(&block, 8, fake_kit_stream));
    T_CUDA(cudaMemsetAsync(block, 1, 8, fake_kit_stream));
    T_CUDA(cudaMemcpyAsync(fake_kit_words, block, 8, cudaMemcpyDeviceToDevice, fake_kit_stream));
    T_CUDA(cudaFreeAsync(block, fake_kit_stream));
    T_CUDA(cudaStreamEndCapture(fake_kit_stream, &child));
    T_CUDA(cudaGraphCreate(&graph, 0));
    memset(&params, 0, sizeof(params));
    params.type = cudaGraphNodeTypeGraph;
    params.graph.graph = child;
    T_CUDA_ERROR(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params), cudaErrorInvalidValue);
    params.graph.ownership = cudaGraphChildGraphOwnershipMove;
    T_CUDA(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    T_EQ(fake_cuda_count().graphs, 1);
    T_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    T_CUDA(cudaGraphDestroy(graph));
    T_CUDA(cudaGraphLaunch(exec, fake_kit_stream));
    T_CUDA(cudaGraphLaunch(exec, fake_kit_stream));
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    T_EQ(fake_kit_words[0], 0x0101010101010101);
    T_CUDA(cudaGraphExecDestroy(exec));
    fake_kit_finish();
}

const t_test fake_graph_tests[] = {
    T_TEST(a_kernel_runs_with_the_arguments_of_its_launch),
    T_TEST(what_is_no_kernel_is_refused),
    T_TEST(copies_go_all_ways),
    T_TEST(a_kernel_that_fails_breaks_its_device),
    T_TEST(streams_and_events_are_asked_without_waiting),
    T_TEST(a_stream_waits_for_another_ones_event),
    T_TEST(what_is_captured_runs_at_each_launch),
    T_TEST(nodes_are_listed_with_their_types),
    T_TEST(branches_join_the_capture_and_each_other),
    T_TEST(a_branch_that_does_not_come_back_is_an_error),
    T_TEST(calls_that_no_graph_can_hold_end_the_capture),
    T_TEST(a_relaxed_thread_may_allocate_beside_its_capture),
    T_TEST(what_runs_is_not_what_is_captured_to),
    T_TEST(a_graph_waits_for_an_event_of_outside),
    T_TEST(a_child_graph_is_a_copy_that_can_be_walked),
    T_TEST(what_allocates_is_moved_into_its_parent),
    T_END,
};
