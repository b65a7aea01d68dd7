/* SPDX-License-Identifier: Apache-2.0 */
#include "image_format.h"

#include "status_int.h"

enum { MAX_SIDE = 1000000 }; /* also libpng's own limit */

sluice_status image_too_large(uint64_t width, uint64_t height, uint64_t max_pixels)
{
    return sli_fail(SLUICE_E_INVALID,
                    "the header gives a size of %llux%llu, more than max_pixels=%llu; decode "
                    "max_pixels=N allows more",
                    (unsigned long long)width, (unsigned long long)height,
                    (unsigned long long)max_pixels);
}

sluice_status image_check_size(uint32_t width, uint32_t height, uint64_t max_pixels)
{
    if ((uint64_t)width * height > max_pixels) {
        return image_too_large(width, height, max_pixels);
    }
    return width <= MAX_SIDE && height <= MAX_SIDE
               ? SLUICE_OK
               : sli_fail(SLUICE_E_UNSUPPORTED, "the image is %ux%u; sides go up to %d", width,
                          height, MAX_SIDE);
}
