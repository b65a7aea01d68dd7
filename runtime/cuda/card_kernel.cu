/* SPDX-License-Identifier: Apache-2.0 */
#include "card_kernel.h"

extern "C" __global__ void sli_kernel_card(void)
{
}

const void *cuda_card_kernel(void)
{
    return (const void *)sli_kernel_card;
}
