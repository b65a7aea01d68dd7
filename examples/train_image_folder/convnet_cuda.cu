/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kernels of convnet_cuda.h: a grid around each function of convnet_kernels.h. The kernels have
 * not run on a GPU yet; the functions have run on a CPU.
 */
#include <stdlib.h>

#include <cuda_runtime.h>

#include "convnet_cuda.h"
#include "convnet_kernels.h"

enum { THREADS = 128 };

struct convnet_cuda {
    convnet_job job; /* arguments of the kernels; the fields of a single step are unset */
    int device;
    void *memory;
};

#define KERNEL(name)                                                                               \
    static __global__ void __launch_bounds__(THREADS)                                              \
        kernel_##name(const __grid_constant__ convnet_job job, uint32_t block, uint32_t threads)   \
    {                                                                                              \
        const uint32_t t = blockIdx.x * THREADS + threadIdx.x;                                     \
                                                                                                   \
        if (t < threads) {                                                                         \
            convnet_##name(&job, block, t);                                                        \
        }                                                                                          \
    }
CONVNET_EACH(KERNEL)

static const char *text_of(cudaError_t error)
{
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

/* True if the thread indices of all kernels fit 31 bits, which suffices for any reasonable batch.
 */
static bool fits(const convnet_job *job)
{
    uint64_t most = job->weight_count;

#define MOST(name, block)                                                                          \
    most =                                                                                         \
        most > convnet_##name##_threads(job, block) ? most : convnet_##name##_threads(job, block);
    CONVNET_FORWARD(MOST)
    CONVNET_BACKWARD(MOST)
    return most <= INT32_MAX;
}

/* Loads all kernels now, since CUDA may not load kernels while a step is captured or runs. */
static cudaError_t load_kernels(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaSuccess;

#define LOAD(name)                                                                                 \
    error = error == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernel_##name) : error;
    CONVNET_EACH(LOAD)
    return error;
}

/* Allocates device memory and copies the initial weights, which the CPU network generates. */
static const char *fill(convnet_cuda *net, const convnet_config *config)
{
    const size_t bytes = convnet_lay_out(&net->job, config, NULL);
    convnet_config small = *config;
    const char *why = NULL;
    convnet *initial;
    size_t count;

    small.batch = 1;
    initial = convnet_create(&small);
    if (initial == NULL) {
        return "a size is out of range, or there is no memory";
    }
    if (!fits(&net->job)) {
        why = "the batch is too large";
    }
    why = why == NULL ? text_of(load_kernels()) : why;
    why = why == NULL ? text_of(cudaMalloc(&net->memory, bytes)) : why;
    if (why == NULL) {
        (void)convnet_lay_out(&net->job, config, static_cast<char *>(net->memory));
        why = convnet_cuda_set(net, convnet_weights(initial, &count));
    }
    convnet_destroy(initial);
    return why;
}

convnet_cuda *convnet_cuda_create(const convnet_config *config, int device, const char **why_out)
{
    convnet_cuda *net = static_cast<convnet_cuda *>(calloc(1, sizeof(*net)));
    int before = 0;
    const char *why = "no memory";

    if (net != NULL) {
        net->device = device;
        why = text_of(cudaGetDevice(&before));
        why = why == NULL ? text_of(cudaSetDevice(device)) : why;
        if (why == NULL) {
            why = fill(net, config);
            (void)cudaSetDevice(before);
        }
    }
    if (why != NULL) {
        convnet_cuda_destroy(net);
        *why_out = why;
        return NULL;
    }
    return net;
}

void convnet_cuda_destroy(convnet_cuda *net)
{
    if (net != NULL) {
        (void)cudaFree(net->memory);
        free(net);
    }
}

static convnet_job job_of(const convnet_cuda *net, const convnet_cuda_batch *batch, bool means)
{
    convnet_job job = net->job;

    job.images = batch->images;
    job.labels = batch->labels;
    job.valid_rows = batch->valid_rows;
    job.learning_rate = batch->learning_rate;
    job.loss_out = batch->loss_out;
    job.correct_out = batch->correct_out;
    job.means = means;
    return job;
}

/* CUDA keeps the error of the first launch that fails. */
#define LAUNCH(name, block)                                                                        \
    {                                                                                              \
        const uint32_t threads = (uint32_t)convnet_##name##_threads(&job, block);                  \
                                                                                                   \
        kernel_##name<<<(threads + THREADS - 1) / THREADS, THREADS, 0,                             \
                        static_cast<cudaStream_t>(stream)>>>(job, block, threads);                 \
    }

const char *convnet_cuda_train_step(convnet_cuda *net, const convnet_cuda_batch *batch,
                                    void *stream)
{
    const convnet_job job = job_of(net, batch, true);

    CONVNET_FORWARD(LAUNCH)
    CONVNET_BACKWARD(LAUNCH)
    return text_of(cudaGetLastError());
}

const char *convnet_cuda_evaluate(convnet_cuda *net, const convnet_cuda_batch *batch, void *stream)
{
    const convnet_job job = job_of(net, batch, false);

    CONVNET_FORWARD(LAUNCH)
    return text_of(cudaGetLastError());
}

/* Copies and synchronizes, since non-blocking streams are not ordered after cudaMemcpy(). */
static const char *copy(const convnet_cuda *net, void *to, const void *from, cudaMemcpyKind kind)
{
    const size_t bytes = 2 * net->job.weight_count * sizeof(float);
    int before = 0;
    const char *why = text_of(cudaGetDevice(&before));

    why = why == NULL ? text_of(cudaSetDevice(net->device)) : why;
    if (why == NULL) {
        why = text_of(cudaMemcpy(to, from, bytes, kind));
        why = why == NULL ? text_of(cudaDeviceSynchronize()) : why;
        (void)cudaSetDevice(before);
    }
    return why;
}

const char *convnet_cuda_get(const convnet_cuda *net, float *weights)
{
    return copy(net, weights, net->job.weights, cudaMemcpyDeviceToHost);
}

const char *convnet_cuda_set(convnet_cuda *net, const float *weights)
{
    return copy(net, net->job.weights, weights, cudaMemcpyHostToDevice);
}
