/* SPDX-License-Identifier: Apache-2.0 */

/* convnet_cuda.h in a build without nvcc: says so. */
#include "convnet_cuda.h"

static const char *const missing = "this program was built without CUDA kernels, for want of nvcc; "
                                   "see SLUICE_CUDA in CMakeLists.txt";

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
