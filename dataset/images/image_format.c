/* SPDX-License-Identifier: Apache-2.0 */
#include "image_format.h"

#include "status_int.h"

sluice_status image_too_large(uint64_t width, uint64_t height, uint64_t max_pixels)
{
    return sli_fail(SLUICE_E_INVALID,
                    "the header gives a size of %llux%llu, more than max_pixels=%llu; decode "
                    "max_pixels=N allows more",
                    (unsigned long long)width, (unsigned long long)height,
                    (unsigned long long)max_pixels);
}
