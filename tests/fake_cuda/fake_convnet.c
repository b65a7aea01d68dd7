/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the examples' network on the fake: what convnet_launch.cu is, over the same
 * functions. */
#include "convnet_launch.h"
#include "fake_cuda.h"

enum { THREADS = 128 };

#define BODY(name)                                                                                 \
    static void body_##name(void *const *args, unsigned blocks, unsigned threads)                  \
    {                                                                                              \
        const uint32_t count = *(const uint32_t *)args[2];                                         \
                                                                                                   \
        (void)blocks;                                                                              \
        (void)threads;                                                                             \
        for (uint32_t t = 0; t < count; t++) {                                                     \
            convnet_##name(args[0], *(const uint32_t *)args[1], t);                                \
        }                                                                                          \
    }
CONVNET_EACH(BODY)

#define KERNEL(name)                                                                               \
    [CONVNET_KERNEL_##name] = {                                                                    \
        #name, body_##name, 3, {sizeof(convnet_job), sizeof(uint32_t), sizeof(uint32_t)}},
static const fake_kernel kernels[] = {CONVNET_EACH(KERNEL)};

const char *convnet_launch_load(void)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaSuccess;

    for (int i = 0; i < CONVNET_KERNEL_COUNT && error == cudaSuccess; i++) {
        error = cudaFuncGetAttributes(&attributes, &kernels[i]);
    }
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

void convnet_launch(convnet_kernel kernel, const convnet_job *job, uint32_t block, uint32_t threads,
                    void *stream)
{
    const dim3 grid = {(threads + THREADS - 1) / THREADS, 1, 1};
    const dim3 group = {THREADS, 1, 1};
    convnet_job copy = *job;
    void *args[] = {&copy, &block, &threads};

    (void)cudaLaunchKernel(&kernels[kernel], grid, group, args, 0, stream);
}
