/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that does nothing: it loads where all kernels of this build load. */
#ifndef SLUICE_CARD_KERNEL_H
#define SLUICE_CARD_KERNEL_H

#ifdef __cplusplus
extern "C" {
#endif

const void *cuda_card_kernel(void);

#ifdef __cplusplus
}
#endif

#endif
