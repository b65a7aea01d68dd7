/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ring costs a device. To give a slot back: a grid copies a batch, and its last block then
 * does so as GetNext does, by a store into mapped host memory with release order at system scope;
 * or only at each fourth step; or in device memory, behind a fence of the device; or not at all.
 * And to look for a batch: one thread, with naps of GetNext's lengths between looks and without.
 */
#include "gpu_measures.h"

#include "ring_int.h"

enum { BYTES = 196608, THREADS = 256, STEPS = 64, LAUNCHES = 50 };
enum { NOT_AT_ALL, ON_DEVICE, EVERY_FOURTH, EACH_STEP };

static const char *const names[GPU_RELEASES] = {
    "step_with_no_release", "step_with_release_in_device_memory",
    "step_with_release_to_host_every_4th_step", "step_with_release_to_host_each_step"};

struct copy {
    const uint4 *from;
    uint4 *to;
    uint32_t *votes;
    sli_ring ring; /* consumed, for which it is */
};

static __device__ void release(const sli_ring *ring, uint64_t seq, int how)
{
    if (how == ON_DEVICE) {
        __threadfence();
        sli_ring_store_relaxed(ring->consumed, seq);
    } else if (how == EACH_STEP || (how == EVERY_FOURTH && seq % 4 == 0)) {
        sli_ring_release(ring, seq);
    }
}

static __global__ void step(copy c, uint64_t seq, int how)
{
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < BYTES / sizeof(uint4);
         i += gridDim.x * blockDim.x) {
        c.to[i] = c.from[i];
    }
    __syncthreads();
    if (threadIdx.x == 0 && how != NOT_AT_ALL) {
        if (sli_ring_vote(c.votes, gridDim.x)) {
            release(&c.ring, seq, how);
        }
    }
}

/* A graph of steps, launched back to back. */
static gpu_verdict measure(const copy *c, int how, double *ns, char *text)
{
    const unsigned int blocks = BYTES / sizeof(uint4) / THREADS;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    double begin = 0.0;

    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (uint64_t seq = 1; seq <= STEPS; seq++) {
        step<<<blocks, THREADS, 0, stream>>>(*c, seq, how);
    }
    NEED_CUDA(cudaStreamEndCapture(stream, &graph));
    NEED_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = -3; i < LAUNCHES; i++) {
        if (i == 0) {
            NEED_CUDA(cudaStreamSynchronize(stream));
            begin = gpu_now();
        }
        NEED_CUDA(cudaGraphLaunch(exec, stream));
    }
    NEED_CUDA(cudaStreamSynchronize(stream));
    *ns = (gpu_now() - begin) * 1e9 / (STEPS * LAUNCHES);
    NEED_CUDA(cudaGraphExecDestroy(exec));
    NEED_CUDA(cudaGraphDestroy(graph));
    NEED_CUDA(cudaStreamDestroy(stream));
    return GPU_PASS;
}

gpu_verdict gpu_measure_releases(gpu_rate rates[GPU_RELEASES], char *text)
{
    uint64_t *on_device;
    uint64_t *on_host;
    copy c = {};

    NEED_CUDA(cudaMalloc(&c.from, BYTES));
    NEED_CUDA(cudaMalloc(&c.to, BYTES));
    NEED_CUDA(cudaMalloc(&c.votes, 256));
    NEED_CUDA(cudaMemset(c.votes, 0, 256));
    NEED_CUDA(cudaMalloc(&on_device, 256));
    NEED_CUDA(cudaHostAlloc((void **)&on_host, 256, cudaHostAllocMapped));
    NEED_CUDA(cudaDeviceSynchronize());
    for (int how = 0; how < GPU_RELEASES; how++) {
        c.ring.consumed = how == ON_DEVICE ? on_device : on_host;
        *on_host = 0;
        rates[how].name = names[how];
        if (measure(&c, how, &rates[how].value, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        NEED(how < EVERY_FOURTH || *on_host == STEPS, "%s: %llu slots given back, want %d",
             names[how], (unsigned long long)*on_host, (int)STEPS);
    }
    return GPU_PASS;
}

/* ---- looking for a batch --------------------------------------------------------------------- */

enum { LOOKS = 20000 };

static __global__ void look(sli_ring ring, uint32_t nap_ns, uint32_t *seen)
{
    uint32_t there = 0;

    for (int i = 0; i < LOOKS; i++) {
        there += sli_ring_peek(&ring, 1) != SLI_RING_EMPTY;
        if (nap_ns > 0) {
            __nanosleep(nap_ns);
        }
    }
    *seen = there;
}

static gpu_verdict measure_look(uint64_t *word, uint32_t nap_ns, double *ns, char *text)
{
    const sli_ring ring = {word, NULL, 1};
    uint32_t *seen;
    double begin = 0.0;

    NEED_CUDA(cudaMalloc(&seen, sizeof(*seen)));
    for (int i = 0; i < 2; i++) { /* the first one warms up */
        NEED_CUDA(cudaDeviceSynchronize());
        begin = gpu_now();
        look<<<1, 1>>>(ring, nap_ns, seen);
        NEED_CUDA(cudaDeviceSynchronize());
    }
    *ns = (gpu_now() - begin) * 1e9 / LOOKS;
    NEED_CUDA(cudaFree(seen));
    return GPU_PASS;
}

gpu_verdict gpu_measure_looks(gpu_rate rates[GPU_LOOKS], char *text)
{
    static const struct {
        const char *name;
        uint32_t nap_ns;
        bool on_host;
    } looks[GPU_LOOKS] = {{"look_at_device_memory", 0, false},
                          {"look_at_device_memory_and_nap_of_32_ns", 32, false},
                          {"look_at_device_memory_and_nap_of_256_ns", 256, false},
                          {"look_at_host_memory", 0, true}};
    uint64_t *on_device;
    uint64_t *on_host;

    NEED_CUDA(cudaMalloc(&on_device, 256));
    NEED_CUDA(cudaMemset(on_device, 0, 256));
    NEED_CUDA(cudaHostAlloc((void **)&on_host, 256, cudaHostAllocMapped));
    *on_host = 0;
    for (int i = 0; i < GPU_LOOKS; i++) {
        rates[i].name = looks[i].name;
        if (measure_look(looks[i].on_host ? on_host : on_device, looks[i].nap_ns, &rates[i].value,
                         text) != GPU_PASS) {
            return GPU_FAIL;
        }
    }
    return GPU_PASS;
}
