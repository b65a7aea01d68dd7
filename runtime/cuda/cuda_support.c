/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_support.h"

#include "cuda_error_int.h"
#include "probe_kernel.h"
#include "status_int.h"

/* SLI_CUDA_LEAST: the least compute capability of SLUICE_CUDA_ARCHITECTURES, 75 for 7.5. */

static sluice_status ask(const cuda_device *device, enum cudaDeviceAttr attribute, int *value_out)
{
    const cudaError_t error = cudaDeviceGetAttribute(value_out, attribute, (int)device->ordinal);

    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cudaDeviceGetAttribute", device->ordinal);
}

static sluice_status check_mode(const cuda_device *device, const char *model)
{
    int mode = cudaComputeModeDefault;
    const sluice_status st = ask(device, cudaDevAttrComputeMode, &mode);

    if (st != SLUICE_OK || mode != cudaComputeModeProhibited) {
        return st;
    }
    return sli_fail(
        SLUICE_E_NO_DEVICE,
        "device cuda:%u (%s): its compute mode is Prohibited, and must be Default or "
        "Exclusive_Process; `nvidia-smi -i GPU -c DEFAULT` sets it, by root; or use another device",
        device->ordinal, model);
}

static sluice_status check_capability(const cuda_device *device, const char *model)
{
    int major = 0;
    int minor = 0;
    sluice_status st = ask(device, cudaDevAttrComputeCapabilityMajor, &major);

    if (st == SLUICE_OK) {
        st = ask(device, cudaDevAttrComputeCapabilityMinor, &minor);
    }
    if (st != SLUICE_OK || 10 * major + minor >= SLI_CUDA_LEAST) {
        return st;
    }
    return sli_fail(
        SLUICE_E_UNSUPPORTED,
        "device cuda:%u (%s): its compute capability is %d.%d, and must be at least %d.%d, the "
        "least that this build has kernels for; build Sluice with -DSLUICE_CUDA_ARCHITECTURES=%d%d "
        "by a CUDA toolkit that still compiles for it (12 for 5.0 to 7.2), or use host:0",
        device->ordinal, model, major, minor, SLI_CUDA_LEAST / 10, SLI_CUDA_LEAST % 10, major,
        minor);
}

sluice_status cuda_support_check(const cuda_device *device, const char *model)
{
    const sluice_status st = check_mode(device, model);

    return st == SLUICE_OK ? check_capability(device, model) : st;
}

sluice_status cuda_support_check_kernels(const cuda_device *device, const char *model)
{
    struct cudaFuncAttributes attributes;
    sluice_status st = sli_cuda_enter(device);
    cudaError_t error;

    if (st != SLUICE_OK) {
        return st;
    }
    error = cudaFuncGetAttributes(&attributes, cuda_probe_kernel());
    if (error != cudaSuccess) {
        st = sli_cuda_fail(error, "device cuda:%u (%s): to load a kernel of this library",
                           device->ordinal, model);
    }
    sli_cuda_leave(device);
    return st;
}
