/* SPDX-License-Identifier: Apache-2.0 */
/* The fake of CUDA itself: loops in graphs, what bodies must not hold, what ends the process, and
 * what is left when a call fails. */
#include <cuda.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_kit.h"
#include "testing.h"

/* ---- loops ----------------------------------------------------------------------------------- */

static void a_loop_runs_as_long_as_its_variable_says(void)
{
    uint64_t *left;
    cudaGraphExec_t exec;
    fake_loop l;

    fake_kit_start();
    left = &fake_kit_words[40];
    fake_loop_begin(&l, 1);
    T_CUDA(fake_kit_append(5));
    T_CUDA(fake_loop_count_down(&l, left));
    T_CUDA(fake_loop_end_body());
    T_CUDA(cudaGraphInstantiate(&exec, l.graph, 0));
    T_CUDA(cudaGraphUpload(exec, fake_kit_stream));
    for (uint64_t i = 0; i < 2; i++) { /* what it is at first is assigned at each launch */
        *left = 3;
        T_CUDA(cudaGraphLaunch(exec, fake_kit_stream));
        T_CUDA(cudaStreamSynchronize(fake_kit_stream));
        fake_kit_appended(3 + 3 * i, (const uint64_t[]){5, 5, 5, 5, 5, 5});
    }
    T_EQ(fake_cuda_count_of("cudaGraphLaunch"), 2);
    T_EQ(fake_cuda_count_of("cudaStreamSynchronize"), 2);
    T_EQ(fake_cuda_kernels(), 12);
    T_CUDA(cudaGraphExecDestroy(exec));
    T_CUDA(cudaGraphDestroy(l.graph));
    fake_kit_finish();
}

static void a_loop_whose_variable_is_0_does_not_run(void)
{
    cudaGraphExec_t exec;
    fake_loop l;

    fake_kit_start();
    fake_loop_begin(&l, 0);
    T_CUDA(fake_kit_append(5));
    T_CUDA(fake_loop_end_body());
    T_CUDA(cudaGraphInstantiate(&exec, l.graph, 0));
    T_CUDA(cudaGraphLaunch(exec, fake_kit_stream));
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    T_EQ(fake_kit_words[0], 0);
    T_CUDA(cudaGraphExecDestroy(exec));
    T_CUDA(cudaGraphDestroy(l.graph));
    fake_kit_finish();
}

static void a_broken_device_leaves_the_loop(void)
{
    cudaGraphExec_t exec;
    fake_loop l;

    fake_kit_start();
    fake_loop_begin(&l, 1);
    T_CUDA(fake_kit_append(5));
    T_CUDA(fake_loop_end_body());
    T_CUDA(cudaGraphInstantiate(&exec, l.graph, 0));
    fake_cuda_fail_kernel_after(4, cudaErrorIllegalAddress);
    T_CUDA(cudaGraphLaunch(exec, fake_kit_stream));
    T_CUDA_ERROR(cudaStreamSynchronize(fake_kit_stream), cudaErrorIllegalAddress);
    T_EQ(fake_kit_words[0], 4);
    (void)cudaGraphExecDestroy(exec);
    (void)cudaGraphDestroy(l.graph);
    (void)cudaStreamDestroy(fake_kit_stream);
    (void)cudaFree(fake_kit_words);
    fake_kit_nothing_lives();
}

/* The graph that is captured is also built by hand, and goes on behind what was added. */
static void a_loop_can_be_added_to_a_capture(void)
{
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *needs = NULL;
    struct cudaGraphNodeParams params;
    cudaStream_t other;
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    size_t count = 0;
    fake_loop l;

    fake_kit_start();
    memset(&l, 0, sizeof(l));
    memset(&params, 0, sizeof(params));
    fake_kit_words[40] = 2;
    T_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    T_CUDA(cudaStreamBeginCapture(other, cudaStreamCaptureModeThreadLocal));
    T_CUDA(fake_kit_append_on(other, 1));
    T_CUDA(cudaStreamGetCaptureInfo(other, &status, NULL, &l.graph, &needs, NULL, &count));
    T_CUDA(cudaGraphConditionalHandleCreate(&l.handle, l.graph, 1, cudaGraphCondAssignDefault));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = l.handle;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    T_CUDA(cudaGraphAddNode(&node, l.graph, needs, NULL, count, &params));
    T_CUDA(cudaStreamUpdateCaptureDependencies(other, &node, NULL, 1,
                                               cudaStreamSetCaptureDependencies));
    T_CUDA(fake_kit_append_on(other, 3));
    l.body = params.conditional.phGraph_out[0];
    T_CUDA(fake_loop_begin_body(&l)); /* one capture within the time of another */
    T_CUDA(fake_kit_append(2));
    T_CUDA(fake_loop_count_down(&l, &fake_kit_words[40]));
    T_CUDA(fake_loop_end_body());
    T_CUDA(cudaStreamEndCapture(other, &l.graph));
    T_CUDA(cudaGraphInstantiate(&exec, l.graph, 0));
    T_CUDA(cudaGraphDestroy(l.graph));
    T_CUDA(cudaGraphLaunch(exec, other));
    T_CUDA(cudaStreamSynchronize(other));
    fake_kit_appended(4, (const uint64_t[]){1, 2, 2, 3});
    T_CUDA(cudaGraphExecDestroy(exec));
    T_CUDA(cudaStreamDestroy(other));
    fake_kit_finish();
}

/* ---- what is no executable graph ------------------------------------------------------------- */

static cudaError_t write_word(uint64_t *word)
{
    CUresult (*write)(CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned) = NULL;
    enum cudaDriverEntryPointQueryResult found;
    CUstreamBatchMemOpParams op;
    void *address = NULL;

    T_CUDA(cudaGetDriverEntryPointByVersion("cuStreamBatchMemOp", &address, 12000,
                                            cudaEnableDefault, &found));
    memcpy(&write, &address, sizeof(address));
    memset(&op, 0, sizeof(op));
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    op.writeValue.address = (CUdeviceptr)(uintptr_t)word;
    return (cudaError_t)write(fake_kit_stream, 1, &op, 0);
}

static void put_in_body(int which, cudaEvent_t event)
{
    static uint64_t pageable;
    void *block;

    switch (which) {
    case 0:
        T_CUDA(cudaLaunchHostFunc(fake_kit_stream, free, NULL));
        break;
    case 1:
        T_CUDA(cudaEventRecordWithFlags(event, fake_kit_stream, cudaEventRecordExternal));
        break;
    case 2:
        T_CUDA(cudaStreamWaitEvent(fake_kit_stream, event, cudaEventWaitExternal));
        break;
    case 3:
        T_CUDA(cudaMallocAsync(&block, 8, fake_kit_stream));
        break;
    case 4:
        T_CUDA(write_word(fake_kit_words));
        break;
    default:
        T_CUDA(
            cudaMemcpyAsync(&pageable, fake_kit_words, 8, cudaMemcpyDeviceToHost, fake_kit_stream));
    }
}

static void bodies_hold_only_what_a_device_does_alone(void)
{
    cudaGraphExec_t exec = NULL;
    cudaEvent_t event;
    fake_loop l;

    fake_kit_start();
    T_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int which = 0; which < 6; which++) {
        fake_loop_begin(&l, 0);
        T_CUDA(fake_kit_append(5));
        put_in_body(which, event);
        T_CUDA(fake_loop_end_body());
        T_CUDA_ERROR(cudaGraphInstantiate(&exec, l.graph, 0), cudaErrorInvalidValue);
        CU_ASSERT_PTR_NULL(exec);
        T_CUDA(cudaGraphDestroy(l.graph));
    }
    T_CUDA(cudaEventDestroy(event));
    fake_kit_finish();
}

static void a_body_may_copy_to_page_locked_memory(void)
{
    static _Alignas(4096) uint64_t locked[512];
    cudaGraphExec_t exec = NULL;
    fake_loop l;

    fake_kit_start();
    T_CUDA(cudaHostRegister(locked, sizeof(locked),
                            cudaHostRegisterMapped | cudaHostRegisterPortable));
    fake_kit_words[40] = 2;
    fake_loop_begin(&l, 1);
    T_CUDA(fake_loop_count_down(&l, &fake_kit_words[40]));
    T_CUDA(cudaMemsetAsync(&fake_kit_words[41], 1, 1, fake_kit_stream));
    T_CUDA(
        cudaMemcpyAsync(locked, &fake_kit_words[41], 8, cudaMemcpyDeviceToHost, fake_kit_stream));
    T_CUDA(fake_loop_end_body());
    T_CUDA(cudaGraphInstantiate(&exec, l.graph, 0));
    T_CUDA(cudaGraphLaunch(exec, fake_kit_stream));
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    T_EQ(locked[0], 1);
    T_EQ(fake_cuda_pageable_copies(), 0);
    T_CUDA(cudaGraphExecDestroy(exec));
    T_CUDA(cudaGraphDestroy(l.graph));
    T_CUDA(cudaHostUnregister(locked));
    fake_kit_finish();
}

static void graphs_with_loops_have_their_own_rules(void)
{
    static const fake_cuda_machine old = {.devices = 1, .driver = 12020, .host_reads = true};
    cudaGraphExec_t exec = NULL;
    cudaGraphExec_t second = NULL;
    cudaGraph_t captured = NULL;
    fake_loop l;

    fake_kit_start();
    T_CUDA(fake_loop_add_handle(&l, 1)); /* of no node */
    T_CUDA_ERROR(cudaGraphInstantiate(&exec, l.graph, 0), cudaErrorInvalidValue);
    T_CUDA(fake_loop_add_loop(&l));
    T_CUDA_ERROR(fake_loop_add_loop(&l), cudaErrorInvalidValue); /* of two */
    T_CUDA(fake_loop_begin_body(&l));
    T_CUDA(fake_kit_append(1));
    T_CUDA(fake_loop_end_body());
    T_CUDA(cudaGraphInstantiate(&exec, l.graph, 0));
    T_CUDA_ERROR(cudaGraphInstantiate(&second, l.graph, 0), cudaErrorInvalidValue);
    T_CUDA(cudaStreamBeginCapture(fake_kit_stream, cudaStreamCaptureModeThreadLocal));
    T_CUDA_ERROR(cudaGraphLaunch(exec, fake_kit_stream), cudaErrorStreamCaptureUnsupported);
    T_CUDA_ERROR(cudaStreamEndCapture(fake_kit_stream, &captured),
                 cudaErrorStreamCaptureInvalidated);
    T_CUDA(cudaGraphExecDestroy(exec));
    T_CUDA(cudaGraphInstantiate(&second, l.graph, 0));
    T_CUDA(cudaGraphDestroy(l.graph));
    T_CUDA(cudaGraphExecDestroy(second));
    fake_kit_finish();
    fake_cuda_start(&old);
    T_CUDA_ERROR(fake_loop_add_handle(&l, 1), cudaErrorNotSupported);
    T_CUDA(cudaGraphDestroy(l.graph));
}

/* ---- what ends the process ------------------------------------------------------------------- */

/* In a child: the threads of a stream are made there, so none is running here. */
static void dies_saying(void (*act)(void), const char *text)
{
    const struct rlimit no_core = {0, 0};
    char said[512] = "";
    size_t length = 0;
    ssize_t got;
    int ends[2];
    int status = 0;
    pid_t child;

    T_EQ(pipe(ends), 0);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)dup2(ends[1], 2);
        act();
        _exit(0);
    }
    close(ends[1]);
    while (length < sizeof(said) - 1 &&
           (got = read(ends[0], said + length, sizeof(said) - 1 - length)) > 0) {
        length += (size_t)got;
    }
    close(ends[0]);
    T_EQ(waitpid(child, &status, 0), child);
    T_CONTAINS(said, text);
    T_TRUE(status != 0);
}

static void run_guarded(void)
{
    struct cudaFuncAttributes attributes;

    fake_kit_start();
    T_CUDA(cudaFuncGetAttributes(&attributes, &fake_kit_append_kernel)); /* loads it */
    fake_cuda_guard_sinks(true);
    T_CUDA(fake_kit_gate(&fake_kit_words[8]));
    T_CUDA(fake_kit_append(0));
}

static void allocate_in_a_sink(void)
{
    void *block;

    run_guarded();
    (void)cudaMalloc(&block, 8);
}

static void nothing_body(void *const *args, unsigned blocks, unsigned threads)
{
    (void)args;
    (void)blocks;
    (void)threads;
}

static void load_in_a_sink(void)
{
    static const fake_kernel late = {"late", nothing_body, 0, {0}};

    run_guarded();
    (void)cudaLaunchKernel(&late, fake_kit_single, fake_kit_single, NULL, 0, fake_kit_stream);
}

static void make_an_event_in_a_sink(void)
{
    cudaEvent_t event;

    run_guarded();
    (void)cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
}

static void leave_a_body_empty(void)
{
    cudaGraphExec_t exec;
    fake_loop l;

    fake_kit_start();
    fake_loop_begin(&l, 0);
    T_CUDA(fake_loop_end_body());
    (void)cudaGraphInstantiate(&exec, l.graph, 0);
}

static void set_a_stranger(void)
{
    fake_loop none = {.handle = 1};

    fake_kit_start();
    T_CUDA(fake_loop_count_down(&none, &fake_kit_words[40]));
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
}

static void what_must_not_be_ends_the_process(void)
{
    dies_saying(allocate_in_a_sink, "cudaMalloc while a sink runs");
    dies_saying(load_in_a_sink, "loads kernel late while a sink runs");
    dies_saying(make_an_event_in_a_sink, "cudaEventCreateWithFlags while a sink runs");
    dies_saying(leave_a_body_empty, "an empty body");
    dies_saying(set_a_stranger, "no variable of the graph that runs");
}

/* ---- failures -------------------------------------------------------------------------------- */

typedef struct failing {
    cudaStream_t stream;
    cudaEvent_t event;
    cudaGraphExec_t exec;
    uint64_t *block;
    uint64_t back; /* copied behind the loop */
    fake_loop l;
} failing;

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const cudaError_t try_error = (call);                                                      \
        if (try_error != cudaSuccess) {                                                            \
            return try_error;                                                                      \
        }                                                                                          \
    } while (0)

static cudaError_t fill_body(failing *f)
{
    uint64_t one = 1;
    void *append[] = {&f->block, &one};
    void *count[] = {&f->block, &f->l.handle};

    TRY(cudaLaunchKernel(&fake_kit_append_kernel, fake_kit_single, fake_kit_single, append, 0,
                         f->stream));
    TRY(cudaMemsetAsync(f->block + 2, 0, 8, f->stream));
    return cudaLaunchKernel(&fake_kit_count_kernel, fake_kit_single, fake_kit_single, count, 0,
                            f->stream);
}

static cudaError_t build_and_launch(failing *f)
{
    struct cudaFuncAttributes attributes;
    cudaGraphNode_t nodes[4];
    enum cudaGraphNodeType type;
    size_t count = 4;
    cudaError_t error;
    cudaError_t ended;

    TRY(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&f->event, cudaEventDisableTiming | cudaEventBlockingSync));
    TRY(cudaMalloc((void **)&f->block, 64));
    TRY(cudaMemset(f->block, 0, 64));
    TRY(cudaFuncGetAttributes(&attributes, &fake_kit_append_kernel));
    TRY(fake_loop_add_handle(&f->l, 1));
    TRY(fake_loop_add_loop(&f->l));
    TRY(cudaStreamBeginCaptureToGraph(f->stream, f->l.body, NULL, NULL, 0,
                                      cudaStreamCaptureModeThreadLocal));
    error = fill_body(f);
    ended = cudaStreamEndCapture(f->stream, NULL);
    TRY(error != cudaSuccess ? error : ended);
    TRY(cudaGraphGetNodes(f->l.body, nodes, &count));
    TRY(cudaGraphNodeGetType(nodes[0], &type));
    TRY(cudaGraphInstantiate(&f->exec, f->l.graph, 0));
    TRY(cudaGraphUpload(f->exec, f->stream));
    TRY(cudaGraphLaunch(f->exec, f->stream));
    TRY(cudaMemcpyAsync(&f->back, f->block, 8, cudaMemcpyDeviceToHost, f->stream));
    TRY(cudaEventRecord(f->event, f->stream));
    TRY(cudaStreamWaitEvent(f->stream, f->event, 0));
    TRY(cudaEventSynchronize(f->event));
    TRY(cudaStreamSynchronize(f->stream));
    T_EQ(count, 3);
    T_EQ(f->back, 0);
    return cudaSuccess;
}

static void give_back(failing *f)
{
    if (f->stream != NULL) {
        (void)cudaStreamSynchronize(f->stream);
    }
    if (f->exec != NULL) {
        (void)cudaGraphExecDestroy(f->exec);
    }
    if (f->l.graph != NULL) {
        (void)cudaGraphDestroy(f->l.graph);
    }
    if (f->event != NULL) {
        (void)cudaEventDestroy(f->event);
    }
    if (f->block != NULL) {
        (void)cudaFree(f->block);
    }
    if (f->stream != NULL) {
        (void)cudaStreamDestroy(f->stream);
    }
}

static void whichever_call_fails_nothing_is_left(void)
{
    cudaError_t error = cudaErrorUnknown;
    int64_t failures = 0;

    for (; error != cudaSuccess && failures < 100; failures++) {
        failing f;

        memset(&f, 0, sizeof(f));
        f.back = 9;
        fake_kit_start();
        fake_cuda_fail_after(failures, cudaErrorUnknown);
        error = build_and_launch(&f);
        give_back(&f);
        fake_kit_finish();
    }
    T_EQ(failures, 24); /* each call, and then none */
}

const t_test fake_loop_tests[] = {
    T_TEST(a_loop_runs_as_long_as_its_variable_says),
    T_TEST(a_loop_whose_variable_is_0_does_not_run),
    T_TEST(a_broken_device_leaves_the_loop),
    T_TEST(a_loop_can_be_added_to_a_capture),
    T_TEST(bodies_hold_only_what_a_device_does_alone),
    T_TEST(a_body_may_copy_to_page_locked_memory),
    T_TEST(graphs_with_loops_have_their_own_rules),
    T_TEST(what_must_not_be_ends_the_process),
    T_TEST(whichever_call_fails_nothing_is_left),
    T_END,
};
