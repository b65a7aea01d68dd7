/* SPDX-License-Identifier: Apache-2.0 */

/* The network of convnet_cuda.h: its memory, and the order of its kernels (convnet_launch.h). */
#include "convnet_cuda.h"

#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "convnet_launch.h"

struct convnet_cuda {
    convnet_job job; /* arguments of the kernels; the fields of a single step are unset */
    int device;
    void *memory;
};

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
        return "a size is out of range, or memory is exhausted";
    }
    if (!fits(&net->job)) {
        why = "the batch is too large";
    }
    why = why == NULL ? convnet_launch_load() : why;
    why = why == NULL ? text_of(cudaMalloc(&net->memory, bytes)) : why;
    if (why == NULL) {
        (void)convnet_lay_out(&net->job, config, net->memory);
        why = convnet_cuda_set(net, convnet_weights(initial, &count));
    }
    convnet_destroy(initial);
    return why;
}

convnet_cuda *convnet_cuda_create(const convnet_config *config, int device, const char **why_out)
{
    convnet_cuda *net = calloc(1, sizeof(*net));
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

/* ---- steps -------------------------------------------------------------------------------- */

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

#define LAUNCH(name, block)                                                                        \
    convnet_launch(CONVNET_KERNEL_##name, &job, block,                                             \
                   (uint32_t)convnet_##name##_threads(&job, block), stream);

const char *convnet_cuda_train_step(convnet_cuda *net, const convnet_cuda_batch *batch,
                                    void *stream)
{
    const convnet_job job = job_of(net, batch, true);

    CONVNET_FORWARD(LAUNCH)
    CONVNET_BACKWARD(LAUNCH)
    CONVNET_UPDATE(LAUNCH)
    return text_of(cudaGetLastError());
}

const char *convnet_cuda_train_gradient(convnet_cuda *net, const convnet_cuda_batch *batch,
                                        void *stream, float **sums_out, size_t *count_out)
{
    convnet_job job = job_of(net, batch, false);

    job.loss_out = &job.sums[job.weight_count + CONVNET_LOSS];
    job.correct_out = &job.sums[job.weight_count + CONVNET_CORRECT];
    CONVNET_FORWARD(LAUNCH)
    CONVNET_BACKWARD(LAUNCH)
    CONVNET_SUMS(LAUNCH)
    *sums_out = job.sums;
    *count_out = job.weight_count + CONVNET_TOTALS;
    return text_of(cudaGetLastError());
}

const char *convnet_cuda_train_update(convnet_cuda *net, const convnet_cuda_batch *batch,
                                      void *stream)
{
    const convnet_job job = job_of(net, batch, true);

    CONVNET_SUMS_UPDATE(LAUNCH)
    return text_of(cudaGetLastError());
}

const char *convnet_cuda_evaluate(convnet_cuda *net, const convnet_cuda_batch *batch, void *stream)
{
    const convnet_job job = job_of(net, batch, false);

    CONVNET_FORWARD(LAUNCH)
    return text_of(cudaGetLastError());
}

/* ---- weights ------------------------------------------------------------------------------ */

/* Copies and synchronizes, since non-blocking streams are not ordered after cudaMemcpy(). */
static const char *copy(const convnet_cuda *net, void *to, const void *from,
                        enum cudaMemcpyKind kind)
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
