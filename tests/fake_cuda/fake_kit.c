/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_kit.h"

#include <unistd.h>

#include "testing.h"

cudaStream_t fake_kit_stream;
uint64_t *fake_kit_words;
const dim3 fake_kit_single = {1, 1, 1};

void fake_kit_start(void)
{
    static const fake_cuda_machine machine = {
        .devices = 1, .driver = CUDART_VERSION, .host_reads = true};

    fake_cuda_start(&machine);
    fake_cuda_use(0);
    T_CUDA(cudaStreamCreateWithFlags(&fake_kit_stream, cudaStreamNonBlocking));
    T_CUDA(cudaMalloc((void **)&fake_kit_words, FAKE_KIT_WORDS * sizeof(fake_kit_words[0])));
    T_CUDA(cudaMemset(fake_kit_words, 0, FAKE_KIT_WORDS * sizeof(fake_kit_words[0])));
}

void fake_kit_nothing_lives(void)
{
    static const fake_cuda_live nothing;
    const fake_cuda_live live = fake_cuda_count();

    T_TRUE(memcmp(&live, &nothing, sizeof(live)) == 0);
}

void fake_kit_finish(void)
{
    T_CUDA(cudaFree(fake_kit_words));
    T_CUDA(cudaStreamDestroy(fake_kit_stream));
    fake_kit_nothing_lives();
}

static void append_body(void *const *args, unsigned blocks, unsigned threads)
{
    uint64_t *log = *(uint64_t **)args[0];

    (void)blocks;
    (void)threads;
    log[++log[0]] = *(const uint64_t *)args[1];
}

const fake_kernel fake_kit_append_kernel = {
    "append", append_body, 2, {sizeof(uint64_t *), sizeof(uint64_t)}};

cudaError_t fake_kit_append_on(cudaStream_t stream, uint64_t value)
{
    void *args[] = {&fake_kit_words, &value};

    return cudaLaunchKernel(&fake_kit_append_kernel, fake_kit_single, fake_kit_single, args, 0,
                            stream);
}

cudaError_t fake_kit_append(uint64_t value)
{
    return fake_kit_append_on(fake_kit_stream, value);
}

void fake_kit_appended(uint64_t count, const uint64_t *values)
{
    T_EQ(fake_kit_words[0], count);
    for (uint64_t i = 0; i < count; i++) {
        T_EQ(fake_kit_words[1 + i], values[i]);
    }
}

static void gate_body(void *const *args, unsigned blocks, unsigned threads)
{
    uint64_t *gate = *(uint64_t **)args[0];

    (void)blocks;
    (void)threads;
    for (int i = 0; i < 1000 && __atomic_load_n(gate, __ATOMIC_ACQUIRE) == 0; i++) {
        usleep(1000);
    }
    gate[1] = __atomic_load_n(gate, __ATOMIC_ACQUIRE);
}

const fake_kernel fake_kit_gate_kernel = {"gate", gate_body, 1, {sizeof(uint64_t *)}};

cudaError_t fake_kit_gate(uint64_t *word)
{
    void *args[] = {&word};

    return cudaLaunchKernel(&fake_kit_gate_kernel, fake_kit_single, fake_kit_single, args, 0,
                            fake_kit_stream);
}

void fake_kit_open(uint64_t *word)
{
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
}

static void count_body(void *const *args, unsigned blocks, unsigned threads)
{
    uint64_t *left = *(uint64_t **)args[0];

    (void)blocks;
    (void)threads;
    --*left;
    fake_cuda_set_conditional(*(const uint64_t *)args[1], *left > 0);
}

const fake_kernel fake_kit_count_kernel = {
    "count", count_body, 2, {sizeof(uint64_t *), sizeof(uint64_t)}};

cudaError_t fake_loop_add_handle(fake_loop *l, unsigned at_launch)
{
    cudaError_t error;

    memset(l, 0, sizeof(*l));
    error = cudaGraphCreate(&l->graph, 0);
    if (error == cudaSuccess) {
        error = cudaGraphConditionalHandleCreate(&l->handle, l->graph, at_launch,
                                                 cudaGraphCondAssignDefault);
    }
    return error;
}

cudaError_t fake_loop_add_kernel(fake_loop *l, const void *function, void **args)
{
    struct cudaGraphNodeParams params;

    memset(&params, 0, sizeof(params));
    params.type = cudaGraphNodeTypeKernel;
    memcpy(&params.kernel.func, &function, sizeof(function));
    params.kernel.gridDim = fake_kit_single;
    params.kernel.blockDim = fake_kit_single;
    params.kernel.kernelParams = args;
    return cudaGraphAddNode(&l->first, l->graph, NULL, NULL, 0, &params);
}

cudaError_t fake_loop_add_loop(fake_loop *l)
{
    struct cudaGraphNodeParams params;
    cudaGraphNode_t node;
    cudaError_t error;

    memset(&params, 0, sizeof(params));
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = l->handle;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
    error = cudaGraphAddNode(&node, l->graph, &l->first, NULL, l->first != NULL, &params);
    if (error == cudaSuccess) {
        l->body = params.conditional.phGraph_out[0];
    }
    return error;
}

cudaError_t fake_loop_begin_body(const fake_loop *l)
{
    return cudaStreamBeginCaptureToGraph(fake_kit_stream, l->body, NULL, NULL, 0,
                                         cudaStreamCaptureModeThreadLocal);
}

void fake_loop_begin(fake_loop *l, unsigned at_launch)
{
    T_CUDA(fake_loop_add_handle(l, at_launch));
    T_CUDA(fake_loop_add_loop(l));
    T_CUDA(fake_loop_begin_body(l));
}

cudaError_t fake_loop_end_body(void)
{
    return cudaStreamEndCapture(fake_kit_stream, NULL);
}

cudaError_t fake_loop_count_down(const fake_loop *l, uint64_t *left)
{
    uint64_t handle = l->handle;
    void *args[] = {&left, &handle};

    return cudaLaunchKernel(&fake_kit_count_kernel, fake_kit_single, fake_kit_single, args, 0,
                            fake_kit_stream);
}
