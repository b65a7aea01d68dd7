/* SPDX-License-Identifier: Apache-2.0 */
/* Converts CUDA errors to statuses and error texts. No CUDA error ends the process. */
#ifndef SLUICE_CUDA_ERROR_INT_H
#define SLUICE_CUDA_ERROR_INT_H

#include <cuda_runtime_api.h>

#include <sluice/status.h>

/* Returns OK for cudaSuccess, else E_NO_MEMORY, E_NO_DEVICE, E_UNSUPPORTED or, for all other
 * errors, E_DEVICE. */
sluice_status sli_cuda_status(cudaError_t error);

/*
 * sli_fail() with the error's name and text appended, and what to do about it where the machine
 * or the build is the cause: "copy: cudaErrorInvalidValue, invalid argument". Clears the calling
 * thread's last CUDA error, so that the user's cudaGetLastError() does not return it. A sticky
 * error, which has corrupted the context, remains.
 */
sluice_status sli_cuda_fail(cudaError_t error, const char *format, ...) SLUICE_PRINTF(2, 3);

/* Logs the error as a warning, for callers that cannot return a status. A no-op for cudaSuccess. */
void sli_cuda_warn(cudaError_t error, const char *what);

#endif
