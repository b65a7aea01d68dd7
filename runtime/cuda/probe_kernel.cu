/* SPDX-License-Identifier: Apache-2.0 */
#include "probe_kernel.h"

extern "C" __global__ void sli_kernel_probe(void)
{
}

const void *cuda_probe_kernel(void)
{
    return (const void *)sli_kernel_probe;
}
