/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_error_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "log_int.h"
#include "status_int.h"

sluice_status sli_cuda_status(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return SLUICE_OK;
    case cudaErrorMemoryAllocation:
        return SLUICE_E_NO_MEMORY;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
    case cudaErrorInitializationError:
    case cudaErrorStubLibrary:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
        return SLUICE_E_NO_DEVICE;
    case cudaErrorNotSupported:
        return SLUICE_E_UNSUPPORTED;
    default:
        return SLUICE_E_DEVICE;
    }
}

sluice_status sli_cuda_fail(cudaError_t error, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    (void)cudaGetLastError();
    return sli_fail(sli_cuda_status(error), "%s: %s, %s", text, cudaGetErrorName(error),
                    cudaGetErrorString(error));
}

void sli_cuda_warn(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        sli_log(SLUICE_LOG_WARN, "%s: %s, %s", what, cudaGetErrorName(error),
                cudaGetErrorString(error));
    }
}
