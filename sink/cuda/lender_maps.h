/* SPDX-License-Identifier: Apache-2.0 */
/* The device maps of a channel on CUDA: the values that their views point to, and their calls. */
#ifndef SLUICE_LENDER_MAPS_H
#define SLUICE_LENDER_MAPS_H

#include <cuda_runtime_api.h>

#include "lender.h"
#include "step_kernels.h"

typedef struct lender_maps {
    const data_feed *data;
    step_frame *frames; /* (held) in device memory, one for each set of tensors; NULL: no maps */
    batch_frame batch;  /* argument of the kernel, read at its launch */
    sli_kernel_launch launch;
} lender_maps;

/* Without maps nothing is allocated. The device's context must be current. */
sluice_status lender_maps_open(lender_maps *maps, const data_feed *data);
void lender_maps_close(lender_maps *maps);

/* Enqueues in the stream the kernel that writes the frame of a batch, which has been gathered
 * there, and calls its maps. */
sluice_status lender_maps_call(lender_maps *maps, const lend_request *request, cudaStream_t stream);

/* Replaces the inputs of a batch by those after its maps. */
void lender_maps_take(const lender_maps *maps, uint32_t set, sli_inputs *inputs);

#endif
