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
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
        return SLUICE_E_NO_DEVICE;
    case cudaErrorNotSupported:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorJitCompilerNotFound:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorJitCompilationDisabled:
        return SLUICE_E_UNSUPPORTED;
    default:
        return SLUICE_E_DEVICE;
    }
}

/* What to do about an error that the machine or the build causes; NULL: the text says it. The codes
 * are those of cuda.h; the runtime's are the same. */
static const char *advice(cudaError_t error)
{
    switch (error) {
    case cudaErrorDevicesUnavailable:
        return "another process has the GPU alone (compute mode Exclusive_Process), or may not be "
               "used; see nvidia-smi -q -d COMPUTE";
    case cudaErrorNoKernelImageForDevice:
        return "this build has no code for this GPU; build Sluice with "
               "-DSLUICE_CUDA_ARCHITECTURES= of its compute capability";
    case cudaErrorJitCompilerNotFound:
        return "the driver lacks its PTX compiler (libnvidia-ptxjitcompiler.so); install it, or "
               "build Sluice with -DSLUICE_CUDA_ARCHITECTURES= of the GPU's compute capability";
    case cudaErrorUnsupportedPtxVersion:
        return "the driver is older than the CUDA toolkit that built Sluice and cannot compile its "
               "PTX; update the driver, or build Sluice with -DSLUICE_CUDA_ARCHITECTURES= of the "
               "GPU's compute capability";
    case cudaErrorJitCompilationDisabled:
        return "CUDA_DISABLE_PTX_JIT is set; unset it, or build Sluice with "
               "-DSLUICE_CUDA_ARCHITECTURES= of the GPU's compute capability";
    case cudaErrorSystemNotReady:
        return "a service of the machine has not started; on NVSwitch machines see "
               "`systemctl status nvidia-fabricmanager`";
    case cudaErrorSystemDriverMismatch:
        return "the kernel module and libcuda.so are of different versions; reboot, or load the "
               "module again";
    case cudaErrorCompatNotSupportedOnDevice:
        return "the cuda-compat package does not support this GPU; remove it from "
               "LD_LIBRARY_PATH, or update the driver";
    case cudaErrorMpsConnectionFailed:
        return "the MPS control daemon does not answer; start it by `nvidia-cuda-mps-control -d`, "
               "with the CUDA_MPS_PIPE_DIRECTORY of this process";
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
        return "the MPS server is not ready; try again, and see its log in CUDA_MPS_LOG_DIRECTORY";
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
        return "the MPS server takes no further client; start fewer processes on this GPU, or with "
               "a smaller CUDA_DEVICE_MAX_CONNECTIONS";
    case cudaErrorMpsClientTerminated:
        return "the MPS server has ended this process's work, as after a fault of another client; "
               "start the job again";
    default:
        return NULL;
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
    return sli_fail(sli_cuda_status(error), "%s: %s, %s%s%s", text, cudaGetErrorName(error),
                    cudaGetErrorString(error), advice(error) != NULL ? "; " : "",
                    advice(error) != NULL ? advice(error) : "");
}

void sli_cuda_warn(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        sli_log(SLUICE_LOG_WARN, "%s: %s, %s", what, cudaGetErrorName(error),
                cudaGetErrorString(error));
    }
}
