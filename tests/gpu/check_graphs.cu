/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library takes for granted of CUDA itself: conditional nodes, forks in their bodies, the
 * clock, words that are written by the stream and by the host. No Sluice in here.
 */
#include "gpu_checks.h"

#include <cuda.h>
#include <string.h>

/* A graph with a WHILE node, and the memory that its kernels count in. */
struct loop {
    cudaStream_t stream;
    cudaStream_t other;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphConditionalHandle handle;
    uint32_t *counts; /* (4) on the device */
};

enum { LEFT, DONE, OPEN, CLASHES };

static gpu_verdict open_loop(loop *l, unsigned int first, char *text)
{
    static const uint32_t zeros[4] = {0, 0, 0, 0};

    memset(l, 0, sizeof(*l));
    NEED_CUDA(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaStreamCreateWithFlags(&l->other, cudaStreamNonBlocking));
    NEED_CUDA(cudaGraphCreate(&l->graph, 0));
    NEED_CUDA(gpu_condition(l->graph, first, &l->handle));
    NEED_CUDA(cudaMalloc(&l->counts, 4 * sizeof(uint32_t)));
    NEED_CUDA(gpu_upload(l->counts, zeros, sizeof(zeros)));
    return GPU_PASS;
}

/* Launches it with so many iterations left; counts are what they are then. */
static gpu_verdict launch_loop(loop *l, uint32_t left, uint32_t counts[4], char *text)
{
    NEED_CUDA(gpu_upload(&l->counts[LEFT], &left, sizeof(left)));
    NEED_CUDA(cudaGraphLaunch(l->exec, l->stream));
    NEED_CUDA(cudaStreamSynchronize(l->stream));
    NEED_CUDA(cudaMemcpy(counts, l->counts, 4 * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    return GPU_PASS;
}

static __global__ void set_condition(cudaGraphConditionalHandle handle, const uint32_t *counts)
{
    cudaGraphSetConditional(handle, counts[LEFT] > 0);
}

static __global__ void count_down(cudaGraphConditionalHandle handle, uint32_t *counts)
{
    counts[DONE]++;
    counts[LEFT]--;
    cudaGraphSetConditional(handle, counts[LEFT] > 0);
}

/* The slow side of a fork: nobody else may be in it. */
static __global__ void slow_side(uint32_t *counts)
{
    const long long begin = clock64();

    counts[CLASHES] += atomicAdd(&counts[OPEN], 1) != 0;
    while (clock64() - begin < 20000) {
    }
    atomicSub(&counts[OPEN], 1);
    __threadfence();
}

/* A WHILE whose body counts down; with `upstream` a kernel before it sets the condition. */
static gpu_verdict make_count_down(loop *l, bool upstream, unsigned int first, char *text)
{
    if (open_loop(l, first, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    if (upstream) {
        NEED_CUDA(cudaStreamBeginCaptureToGraph(l->stream, l->graph, NULL, NULL, 0,
                                                cudaStreamCaptureModeThreadLocal));
        set_condition<<<1, 1, 0, l->stream>>>(l->handle, l->counts);
        NEED_CUDA(cudaStreamEndCapture(l->stream, NULL));
    }
    NEED_CUDA(gpu_begin_while(l->graph, l->handle, l->stream));
    count_down<<<1, 1, 0, l->stream>>>(l->handle, l->counts);
    NEED_CUDA(cudaStreamEndCapture(l->stream, NULL));
    NEED_CUDA(cudaGraphInstantiate(&l->exec, l->graph, 0));
    return GPU_PASS;
}

gpu_verdict check_conditional_default(char *text)
{
    uint32_t counts[4];
    loop l;

    if (make_count_down(&l, false, 0, text) != GPU_PASS ||
        launch_loop(&l, 5, counts, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED(counts[DONE] == 0, "default 0 ran %u iterations", counts[DONE]);
    return gpu_say(text, GPU_PASS, "default 0 is no iteration");
}

gpu_verdict check_conditional_upstream(char *text)
{
    uint32_t counts[4];
    loop l;

    if (make_count_down(&l, true, 0, text) != GPU_PASS ||
        launch_loop(&l, 5, counts, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED(counts[DONE] == 5, "%u iterations, want 5", counts[DONE]);
    return gpu_say(text, GPU_PASS, "set by a kernel before the node: 5 iterations of 5");
}

/* The condition is 0 at the end of a launch; the next one must begin anew. */
gpu_verdict check_conditional_reassigned(char *text)
{
    uint32_t counts[4];
    loop l;

    if (make_count_down(&l, false, 1, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    for (uint32_t launch = 1; launch <= 3; launch++) {
        if (launch_loop(&l, 4, counts, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        NEED(counts[DONE] == 4 * launch, "%u iterations after launch %u, want %u", counts[DONE],
             launch, 4 * launch);
    }
    return gpu_say(text, GPU_PASS, "3 launches of one graph, 4 iterations each");
}

/* The side that decides is quick; the next iteration must wait for the slow one all the same. */
gpu_verdict check_fork_join(char *text)
{
    uint32_t counts[4];
    cudaEvent_t fork;
    cudaEvent_t join;
    loop l;

    if (open_loop(&l, 1, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED_CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    NEED_CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    NEED_CUDA(gpu_begin_while(l.graph, l.handle, l.stream));
    NEED_CUDA(cudaEventRecord(fork, l.stream));
    NEED_CUDA(cudaStreamWaitEvent(l.other, fork, 0));
    slow_side<<<1, 1, 0, l.other>>>(l.counts);
    NEED_CUDA(cudaEventRecord(join, l.other));
    count_down<<<1, 1, 0, l.stream>>>(l.handle, l.counts);
    NEED_CUDA(cudaStreamWaitEvent(l.stream, join, 0));
    NEED_CUDA(cudaStreamEndCapture(l.stream, NULL));
    NEED_CUDA(cudaGraphInstantiate(&l.exec, l.graph, 0));
    if (launch_loop(&l, 1000, counts, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED(counts[DONE] == 1000 && counts[CLASHES] == 0, "%u iterations of 1000, %u overlapped",
         counts[DONE], counts[CLASHES]);
    return gpu_say(text, GPU_PASS, "1000 iterations with a fork, none overlaps the one before");
}

/* ---- the clock ------------------------------------------------------------------------------- */

static __global__ void read_clock(uint64_t *smallest_out)
{
    uint64_t smallest = UINT64_MAX;
    uint64_t before;
    uint64_t now;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(before));
    for (int changes = 0; changes < 64;) {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
        if (now != before) {
            smallest = now - before < smallest ? now - before : smallest;
            before = now;
            changes++;
        }
    }
    *smallest_out = smallest;
}

gpu_verdict check_globaltimer(char *text)
{
    uint64_t *smallest;
    uint64_t ns;

    NEED_CUDA(cudaMalloc(&smallest, sizeof(*smallest)));
    read_clock<<<1, 1>>>(smallest);
    NEED_CUDA(cudaMemcpy(&ns, smallest, sizeof(ns), cudaMemcpyDeviceToHost));
    NEED(ns <= 100000, "changes by %llu ns, too coarse for waits of 500 us",
         (unsigned long long)ns);
    return gpu_say(text, GPU_PASS, "changes by %llu ns", (unsigned long long)ns);
}

/* ---- words between host and device ----------------------------------------------------------- */

static __global__ void answer(volatile uint64_t *asked, volatile uint64_t *answered, uint64_t count)
{
    const long long begin = clock64();
    uint64_t n = 1;

    while (n <= count && clock64() - begin < (1LL << 32)) { /* two seconds or so */
        if (*asked >= n) {
            __threadfence_system();
            *answered = n++;
        }
    }
}

gpu_verdict check_mapped_words(char *text)
{
    const uint64_t count = 10000;
    volatile uint64_t *words;
    volatile uint64_t *seen;
    double begin;
    double us;

    NEED_CUDA(cudaHostAlloc((void **)&words, 256, cudaHostAllocMapped));
    NEED_CUDA(cudaHostGetDevicePointer((void **)&seen, (void *)words, 0));
    memset((void *)words, 0, 256);
    answer<<<1, 1>>>(seen, seen + 16, count);
    NEED_CUDA(cudaGetLastError());
    begin = gpu_now();
    for (uint64_t n = 1; n <= count; n++) {
        __atomic_store_n(&words[0], n, __ATOMIC_RELEASE);
        while (__atomic_load_n(&words[16], __ATOMIC_ACQUIRE) < n && gpu_now() - begin < 2.0) {
        }
    }
    us = (gpu_now() - begin) * 1e6 / (double)count;
    NEED_CUDA(cudaDeviceSynchronize());
    NEED(words[16] == count, "%llu answers of %llu", (unsigned long long)words[16],
         (unsigned long long)count);
    return gpu_say(text, GPU_PASS, "host to device and back: %.2f us", us);
}

/* One batch of operations writes a word on the device and one in mapped host memory. */
gpu_verdict check_stream_memory_operations(char *text)
{
    CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
    CUresult (*operate)(CUstream, unsigned int, CUstreamBatchMemOpParams *, unsigned int);
    CUstreamBatchMemOpParams words[2];
    uint64_t *host;
    uint64_t *device;
    uint64_t seen = 0;
    int has_64_bits = 0;

    NEED_CUDA(cudaHostAlloc((void **)&host, 64, cudaHostAllocMapped));
    NEED_CUDA(cudaMalloc(&device, 64));
    NEED_CUDA(gpu_driver_call("cuDeviceGetAttribute", &attribute));
    NEED_CUDA(gpu_driver_call("cuStreamBatchMemOp", &operate));
    NEED(attribute(&has_64_bits, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0) ==
             CUDA_SUCCESS,
         "no attribute");
    if (!has_64_bits) {
        return gpu_say(text, GPU_SKIP, "the device writes no 64-bit words from a stream");
    }
    *host = 0;
    memset(words, 0, sizeof(words));
    for (int i = 0; i < 2; i++) {
        words[i].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
        words[i].writeValue.address = (CUdeviceptr)(i == 0 ? device : host);
        words[i].writeValue.value64 = 0x123456789abcdef0u;
    }
    NEED(operate(NULL, 2, words, 0) == CUDA_SUCCESS, "cuStreamBatchMemOp failed");
    NEED_CUDA(cudaStreamSynchronize(NULL));
    NEED_CUDA(cudaMemcpy(&seen, device, sizeof(seen), cudaMemcpyDeviceToHost));
    NEED(seen == 0x123456789abcdef0u && *host == seen, "device has %llx, host %llx",
         (unsigned long long)seen, (unsigned long long)*host);
    return gpu_say(text, GPU_PASS, "64-bit words on the device and on the host in one batch");
}
