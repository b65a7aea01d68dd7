/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tensors for other libraries, by DLPack (https://github.com/dmlc/dlpack). The struct itself is
 * declared by dlpack/dlpack.h, which is not needed to compile this header.
 */
#ifndef SLUICE_DLPACK_H
#define SLUICE_DLPACK_H

#include <sluice/device.h>
#include <sluice/tensor.h>

SLUICE_BEGIN_DECLS

struct DLManagedTensor;

/**
 * Wraps a tensor as a DLManagedTensor, as torch.from_dlpack() and its like take it (in a capsule
 * named "dltensor"). No byte of data is copied.
 *
 * @param tensor       of a step or a batch; need not outlive the call
 * @param device       where its bytes are: `host:N` is kDLCPU 0 whatever N is, `cuda:N` is kDLCUDA
 *                     N. The wrapper knows of no stream: it is read where the tensor may be
 * @param managed_out  its deleter frees the wrapper, and must be called once. The bytes stay lent
 *                     as they are: whoever wants them longer copies them
 *
 * Shape:   as the tensor's, with the strides of a compact row-major array; byte_offset 0.
 * Returns: E_INVALID an argument is NULL, or the tensor is none; E_NO_MEMORY; E_UNSUPPORTED the
 *          device is none that DLPack knows of.
 * Threads: any; the deleter, too.
 */
SLUICE_API_CHECKED sluice_status sluice_tensor_to_dlpack(const sluice_tensor *tensor,
                                                         const sluice_device *device,
                                                         struct DLManagedTensor **managed_out);

SLUICE_END_DECLS

#endif
