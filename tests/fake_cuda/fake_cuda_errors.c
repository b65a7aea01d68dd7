/* SPDX-License-Identifier: Apache-2.0 */
/* Names and texts of errors. */
#include "fake_cuda_work.h"

const char *cudaGetErrorName(cudaError_t error)
{
#define NAME(name)                                                                                 \
    case name:                                                                                     \
        return #name;
    switch (error) {
        NAME(cudaSuccess)
        NAME(cudaErrorInvalidValue)
        NAME(cudaErrorMemoryAllocation)
        NAME(cudaErrorInsufficientDriver)
        NAME(cudaErrorNoDevice)
        NAME(cudaErrorInvalidDevice)
        NAME(cudaErrorDeviceUninitialized)
        NAME(cudaErrorSymbolNotFound)
        NAME(cudaErrorIllegalAddress)
        NAME(cudaErrorHostMemoryAlreadyRegistered)
        NAME(cudaErrorHostMemoryNotRegistered)
        NAME(cudaErrorNotSupported)
        NAME(cudaErrorInvalidConfiguration)
        NAME(cudaErrorInvalidDeviceFunction)
        NAME(cudaErrorInvalidResourceHandle)
        NAME(cudaErrorInvalidMemcpyDirection)
        NAME(cudaErrorIllegalState)
        NAME(cudaErrorNotReady)
        NAME(cudaErrorLaunchFailure)
        NAME(cudaErrorLaunchOutOfResources)
        NAME(cudaErrorLaunchTimeout)
        NAME(cudaErrorStreamCaptureUnsupported)
        NAME(cudaErrorStreamCaptureInvalidated)
        NAME(cudaErrorStreamCaptureMerge)
        NAME(cudaErrorStreamCaptureUnmatched)
        NAME(cudaErrorStreamCaptureUnjoined)
        NAME(cudaErrorStreamCaptureIsolation)
        NAME(cudaErrorStreamCaptureImplicit)
        NAME(cudaErrorCapturedEvent)
        NAME(cudaErrorStreamCaptureWrongThread)
        NAME(cudaErrorUnknown)
    default:
        return "cudaErrorUnknown";
    }
#undef NAME
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaSuccess ? "no error" : "an error of the fake";
}
