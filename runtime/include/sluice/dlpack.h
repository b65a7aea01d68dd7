/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tensor exchange with other libraries by DLPack (https://github.com/dmlc/dlpack). The struct is
 * declared by dlpack/dlpack.h, which is not needed to compile this header.
 */
#ifndef SLUICE_DLPACK_H
#define SLUICE_DLPACK_H

#include <sluice/device.h>
#include <sluice/tensor.h>

SLUICE_BEGIN_DECLS

struct DLManagedTensor;

/**
 * Wraps a tensor as a DLManagedTensor, which torch.from_dlpack() and other consumers take in a
 * capsule named "dltensor". The data is not copied.
 *
 * @param tensor       a tensor of a step or a batch; need not outlive the call
 * @param device       the device of its data: `host:N` is kDLCPU 0 for any N, `cuda:N` is kDLCUDA
 *                     N. The wrapper has no stream: read it on a stream that may read the tensor
 * @param managed_out  its deleter frees the wrapper, and must be called once. The data is borrowed:
 *                     copy it if it must outlive the tensor
 *
 * Shape:   the tensor's, with the strides of a compact row-major array; byte_offset 0.
 * Returns: E_INVALID an argument is NULL, or the tensor is invalid; E_NO_MEMORY; E_UNSUPPORTED
 *          DLPack has no type for the device.
 * Threads: any, also for the deleter.
 */
SLUICE_API_CHECKED sluice_status sluice_tensor_to_dlpack(const sluice_tensor *tensor,
                                                         const sluice_device *device,
                                                         struct DLManagedTensor **managed_out);

SLUICE_END_DECLS

#endif
