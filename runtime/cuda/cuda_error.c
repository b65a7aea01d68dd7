/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_error_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "format_int.h"
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

/* What to do about errors that the machine or the build causes. The codes are those of cuda.h; the
 * runtime's are the same. */
static const struct {
    cudaError_t error;
    const char *advice;
} advice[] = {
    {cudaErrorDevicesUnavailable,
     "another process has the GPU alone (compute mode Exclusive_Process), or it may not be used; "
     "see nvidia-smi -q -d COMPUTE"},
    {cudaErrorNoKernelImageForDevice,
     "this build has no code for this GPU; build Sluice with -DSLUICE_CUDA_ARCHITECTURES= of its "
     "compute capability"},
    {cudaErrorJitCompilerNotFound,
     "the driver lacks its PTX compiler (libnvidia-ptxjitcompiler.so); install it, or build Sluice "
     "with -DSLUICE_CUDA_ARCHITECTURES= of the GPU's compute capability"},
    {cudaErrorUnsupportedPtxVersion,
     "the driver is older than the CUDA toolkit that built Sluice and cannot compile its PTX; "
     "update the driver, or build Sluice with -DSLUICE_CUDA_ARCHITECTURES= of the GPU's compute "
     "capability"},
    {cudaErrorJitCompilationDisabled,
     "CUDA_DISABLE_PTX_JIT is set; unset it, or build Sluice with -DSLUICE_CUDA_ARCHITECTURES= of "
     "the GPU's compute capability"},
    {cudaErrorSystemNotReady,
     "a service of the machine has not started; on NVSwitch machines see `systemctl status "
     "nvidia-fabricmanager`"},
    {cudaErrorSystemDriverMismatch,
     "the NVIDIA kernel module and libcuda.so have different versions; reload the module, or "
     "reboot"},
    {cudaErrorCompatNotSupportedOnDevice,
     "the cuda-compat package does not support this GPU; remove it from LD_LIBRARY_PATH, or update "
     "the driver"},
    {cudaErrorMpsConnectionFailed,
     "the MPS control daemon does not answer; start it by `nvidia-cuda-mps-control -d`, with the "
     "CUDA_MPS_PIPE_DIRECTORY of this process"},
    {cudaErrorMpsRpcFailure,
     "the MPS server is not ready; try again, and see its log in CUDA_MPS_LOG_DIRECTORY"},
    {cudaErrorMpsServerNotReady,
     "the MPS server is not ready; try again, and see its log in CUDA_MPS_LOG_DIRECTORY"},
    {cudaErrorMpsMaxClientsReached,
     "the MPS server takes no further client; start fewer processes on this GPU"},
    {cudaErrorMpsMaxConnectionsReached,
     "the MPS server takes no further connection; start fewer processes on this GPU, or with a "
     "smaller CUDA_DEVICE_MAX_CONNECTIONS"},
    {cudaErrorMpsClientTerminated,
     "the MPS server has ended this process's work, as after a fault of another client; start the "
     "job again"},
    {cudaErrorIllegalAddress,
     "a kernel used memory that is not this device's, as of another GPU or of the host, or beyond "
     "its end: compute-sanitizer names the kernel of your step or device map"},
    {cudaErrorMisalignedAddress,
     "a kernel used an address that is not a multiple of its type's size: compute-sanitizer names "
     "the kernel of your step or device map"},
    {cudaErrorECCUncorrectable,
     "a memory error of the GPU: start the job again, on another GPU if nvidia-smi -q -d ECC shows "
     "more of them"},
    {cudaErrorNvlinkUncorrectable,
     "an error of the NVLink connection: start the job again; see nvidia-smi nvlink -e"},
    {cudaErrorUnknown,
     "if the kernel's log (dmesg) has lines of NVRM with an Xid, the GPU failed or was lost: reset "
     "it, or use another"},
};

/* "; " and what to do, as two parts; both empty: the error's text says it. */
static void find_advice(cudaError_t error, const char *parts[2])
{
    parts[0] = "";
    parts[1] = "";
    for (size_t i = 0; i < sizeof(advice) / sizeof(advice[0]); i++) {
        if (advice[i].error == error) {
            parts[0] = "; ";
            parts[1] = advice[i].advice;
        }
    }
}

sluice_status sli_cuda_fail(cudaError_t error, const char *format, ...)
{
    char text[SLI_ERROR_SIZE];
    const char *what_to_do[2];
    va_list args;

    va_start(args, format);
    sli_print_args(text, sizeof(text), format, args);
    va_end(args);
    (void)cudaGetLastError();
    find_advice(error, what_to_do);
    return sli_fail(sli_cuda_status(error), "%s: %s, %s%s%s", text, cudaGetErrorName(error),
                    cudaGetErrorString(error), what_to_do[0], what_to_do[1]);
}

void sli_cuda_warn(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        sli_log(SLUICE_LOG_WARN, "%s: %s, %s", what, cudaGetErrorName(error),
                cudaGetErrorString(error));
    }
}
