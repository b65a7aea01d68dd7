/* SPDX-License-Identifier: Apache-2.0 */
/* An empty kernel. If it loads, the build has code for the GPU: all kernels are compiled alike. */
#ifndef SLUICE_PROBE_KERNEL_H
#define SLUICE_PROBE_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

const void *cuda_probe_kernel(void);

#ifdef __cplusplus
}
#endif

#endif
