/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread may call while another one captures a stream in the strictest mode, global: first in
 * the mode that a thread has by default, then in relaxed mode, in which the library makes its calls.
 * CUDA's documentation calls some of them unsafe and does not list them.
 */
#include "gpu_checks.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct others {
    cudaStream_t stream;
    cudaEvent_t event;
    void *memory;
    void *host;
};

static __global__ void nothing_kernel()
{
}

typedef cudaError_t other_call(const others *o);

static const struct {
    const char *name;
    other_call *call;
    bool ours; /* the library calls it beside a capture of the user's */
} calls[] = {
    {"EventQuery", [](const others *o) { return cudaEventQuery(o->event); }, true},
    {"EventSynchronize", [](const others *o) { return cudaEventSynchronize(o->event); }, true},
    {"EventRecord", [](const others *o) { return cudaEventRecord(o->event, o->stream); }, true},
    {"StreamWaitEvent", [](const others *o) { return cudaStreamWaitEvent(o->stream, o->event, 0); },
     true},
    {"StreamQuery", [](const others *o) { return cudaStreamQuery(o->stream); }, true},
    {"StreamSynchronize", [](const others *o) { return cudaStreamSynchronize(o->stream); }, true},
    {"StreamIsCapturing",
     [](const others *o) {
         enum cudaStreamCaptureStatus status;

         return cudaStreamIsCapturing(o->stream, &status);
     },
     true},
    {"StreamGetId",
     [](const others *o) {
         unsigned long long id;

         return cudaStreamGetId(o->stream, &id);
     },
     true},
    {"MemcpyAsync",
     [](const others *o) {
         return cudaMemcpyAsync(o->memory, o->host, 64, cudaMemcpyHostToDevice, o->stream);
     },
     true},
    {"LaunchKernel",
     [](const others *o) {
         return cudaLaunchKernel((const void *)nothing_kernel, dim3(1), dim3(1), NULL, 0, o->stream);
     },
     true},
    {"MemGetInfo",
     [](const others *) {
         size_t available;
         size_t total;

         return cudaMemGetInfo(&available, &total);
     },
     false},
    {"Malloc",
     [](const others *) {
         void *memory = NULL;
         const cudaError_t error = cudaMalloc(&memory, 256);

         return error != cudaSuccess ? error : cudaFree(memory);
     },
     false},
    {"HostAlloc",
     [](const others *) {
         void *memory = NULL;
         const cudaError_t error = cudaHostAlloc(&memory, 256, cudaHostAllocMapped);

         return error != cudaSuccess ? error : cudaFreeHost(memory);
     },
     false},
    {"Memcpy",
     [](const others *o) { return cudaMemcpy(o->memory, o->host, 64, cudaMemcpyHostToDevice); },
     false},
    {"DeviceSynchronize", [](const others *) { return cudaDeviceSynchronize(); }, false},
};

enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

struct attempt {
    const others *o;
    int call;
    bool relaxed;
    cudaError_t error;
};

static void *try_call(void *arg)
{
    attempt *a = (attempt *)arg;
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

    if (a->relaxed) {
        cudaThreadExchangeStreamCaptureMode(&mode);
    }
    a->error = calls[a->call].call(a->o);
    cudaGetLastError();
    return NULL;
}

/* One call beside one capture. refused: by its answer, or because the capture is lost. */
static gpu_verdict beside(attempt *a, bool *refused, char *text)
{
    cudaStream_t captured;
    cudaGraph_t graph = NULL;
    pthread_t thread;
    cudaError_t ended;

    NEED_CUDA(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
    NEED_CUDA(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    nothing_kernel<<<1, 1, 0, captured>>>();
    NEED(pthread_create(&thread, NULL, try_call, a) == 0, "no thread");
    pthread_join(thread, NULL);
    ended = cudaStreamEndCapture(captured, &graph);
    cudaGetLastError();
    *refused = a->error != cudaSuccess || ended != cudaSuccess;
    if (graph != NULL) {
        NEED_CUDA(cudaGraphDestroy(graph));
    }
    NEED_CUDA(cudaStreamDestroy(captured));
    return GPU_PASS;
}

static void append(char list[GPU_TEXT], const char *name)
{
    const size_t length = strlen(list);

    snprintf(list + length, GPU_TEXT - length, " %s", name);
}

gpu_verdict check_capture_refusals(char *text)
{
    char strict[GPU_TEXT] = "";
    char relaxed[GPU_TEXT] = "";
    others o;

    NEED_CUDA(cudaStreamCreateWithFlags(&o.stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaEventCreateWithFlags(&o.event, cudaEventDisableTiming | cudaEventBlockingSync));
    NEED_CUDA(cudaMalloc(&o.memory, 256));
    NEED_CUDA(cudaMallocHost(&o.host, 256));
    nothing_kernel<<<1, 1, 0, o.stream>>>(); /* loads it */
    NEED_CUDA(cudaEventRecord(o.event, o.stream));
    NEED_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < 2 * CALLS; i++) {
        attempt a = {&o, i / 2, i % 2 == 1, cudaSuccess};
        bool refused = false;

        if (beside(&a, &refused, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        NEED(!refused || !a.relaxed || !calls[a.call].ours, "cuda%s is refused in relaxed mode: %s",
             calls[a.call].name, cudaGetErrorName(a.error));
        if (refused) {
            append(a.relaxed ? relaxed : strict, calls[a.call].name);
        }
    }
    return gpu_say(text, GPU_PASS, "refused beside a global capture:%.270s; in relaxed mode:%.200s",
                   strict[0] != '\0' ? strict : " none", relaxed[0] != '\0' ? relaxed : " none");
}
