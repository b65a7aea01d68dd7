/* SPDX-License-Identifier: Apache-2.0 */

/* Launches of the kernels: each is a grid around a function of convnet_kernels.h. */

#ifndef CONVNET_LAUNCH_H
#define CONVNET_LAUNCH_H

#include "convnet_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CONVNET_ID(name) CONVNET_KERNEL_##name,
typedef enum convnet_kernel { CONVNET_EACH(CONVNET_ID) CONVNET_KERNEL_COUNT } convnet_kernel;
#undef CONVNET_ID

/* Loads all kernels on the current device, since CUDA may not load kernels while a step is captured
 * or runs. Returns NULL on success, else an error text. */
const char *convnet_launch_load(void);

/* Enqueues a kernel with this number of threads in a cudaStream_t of the current device. CUDA keeps
 * the error of the first launch that fails. */
void convnet_launch(convnet_kernel kernel, const convnet_job *job, uint32_t block, uint32_t threads,
                    void *stream);

#ifdef __cplusplus
}
#endif

#endif
