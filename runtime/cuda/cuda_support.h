/* SPDX-License-Identifier: Apache-2.0 */
/* Checks, when a device is opened, that this build can run on the GPU. */
#ifndef SLUICE_CUDA_SUPPORT_H
#define SLUICE_CUDA_SUPPORT_H

#include "cuda_device_int.h"

/* Checks compute mode and compute capability. model: the GPU's name. E_NO_DEVICE, E_UNSUPPORTED. */
sluice_status cuda_support_check(const cuda_device *device, const char *model);

/* Loads a kernel, which needs code of this build for the GPU, or PTX that the driver can compile.
 * Called once the context is retained. */
sluice_status cuda_support_check_kernels(const cuda_device *device, const char *model);

#endif
