/* SPDX-License-Identifier: Apache-2.0 */

/* convnet_cuda.h for builds without nvcc: every function reports an error. */
#include "convnet_cuda.h"

static const char *const missing = "this program was built without nvcc and has no CUDA kernels; "
                                   "build it with nvcc: make NVCC=nvcc";

convnet_cuda *convnet_cuda_create(const convnet_config *config, int device, const char **why_out)
{
    (void)config;
    (void)device;
    *why_out = missing;
    return NULL;
}

void convnet_cuda_destroy(convnet_cuda *net)
{
    (void)net;
}

const char *convnet_cuda_train_step(convnet_cuda *net, const convnet_cuda_batch *batch,
                                    void *stream)
{
    (void)net;
    (void)batch;
    (void)stream;
    return missing;
}

const char *convnet_cuda_train_gradient(convnet_cuda *net, const convnet_cuda_batch *batch,
                                        void *stream, float **sums_out, size_t *count_out)
{
    (void)sums_out;
    (void)count_out;
    return convnet_cuda_train_step(net, batch, stream);
}

const char *convnet_cuda_train_update(convnet_cuda *net, const convnet_cuda_batch *batch,
                                      void *stream)
{
    return convnet_cuda_train_step(net, batch, stream);
}

const char *convnet_cuda_evaluate(convnet_cuda *net, const convnet_cuda_batch *batch, void *stream)
{
    return convnet_cuda_train_step(net, batch, stream);
}

const char *convnet_cuda_get(const convnet_cuda *net, float *weights)
{
    (void)net;
    (void)weights;
    return missing;
}

const char *convnet_cuda_set(convnet_cuda *net, const float *weights)
{
    (void)net;
    (void)weights;
    return missing;
}
