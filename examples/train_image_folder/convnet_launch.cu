/* SPDX-License-Identifier: Apache-2.0 */

/* The kernels of convnet_launch.h. */
#include <cuda_runtime.h>

#include "convnet_launch.h"

enum { THREADS = 128 };

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

const char *convnet_launch_load(void)
{
    cudaFuncAttributes attributes;
    cudaError_t error = cudaSuccess;

#define LOAD(name)                                                                                 \
    error = error == cudaSuccess ? cudaFuncGetAttributes(&attributes, kernel_##name) : error;
    CONVNET_EACH(LOAD)
    return error == cudaSuccess ? NULL : cudaGetErrorString(error);
}

#define LAUNCH(name)                                                                               \
    case CONVNET_KERNEL_##name:                                                                    \
        kernel_##name<<<blocks, THREADS, 0, q>>>(*job, block, threads);                            \
        break;

void convnet_launch(convnet_kernel kernel, const convnet_job *job, uint32_t block, uint32_t threads,
                    void *stream)
{
    const uint32_t blocks = (threads + THREADS - 1) / THREADS;
    const cudaStream_t q = static_cast<cudaStream_t>(stream);

    switch (kernel) {
        CONVNET_EACH(LAUNCH)
    case CONVNET_KERNEL_COUNT:
        break;
    }
}
