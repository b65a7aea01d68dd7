/* SPDX-License-Identifier: Apache-2.0 */
/* What CUDA answers, as our statuses. Nothing here ends the process, whatever CUDA says. */
#ifndef SLUICE_CUDA_ERROR_H
#define SLUICE_CUDA_ERROR_H

#include <cuda_runtime_api.h>

#include <sluice/status.h>

/* E_NO_MEMORY, E_NO_DEVICE, E_UNSUPPORTED, or E_DEVICE for all others. */
sluice_status sli_cuda_status(cudaError_t error);

/*
 * sli_fail() with the error's name and text behind it: "copy: cudaErrorInvalidValue, invalid
 * argument". Clears the calling thread's last CUDA error, so that who asks for it next is not told
 * of ours; one that has broken the context stays.
 */
sluice_status sli_cuda_fail(cudaError_t error, const char *format, ...) SLUICE_PRINTF(2, 3);

/* The same as a warning, where nobody can be given a status. Nothing for cudaSuccess. */
void sli_cuda_warn(cudaError_t error, const char *what);

#endif
