/* SPDX-License-Identifier: Apache-2.0 */
#include "image_warp.h"

#include <string.h>

#include "cpu_int.h"

void warp_line_of(const image_warp *warp, const image_view *from, uint32_t width, uint32_t y,
                  uint8_t *to)
{
    warp_row row = {.points = sli_warp_row_of(warp->matrix.m, y),
                    .width = width,
                    .fill = warp->fill,
                    .constant = warp->constant};
    const warp_kernels *kernels = SLI_CHOOSE(sli_warp_kernels);

    if (warp->shifts != NULL) {
        row.shifts = warp->shifts->lines + 2 * (size_t)y * warp->shifts->stride;
        row.shift_stride = warp->shifts->stride;
        for (int i = 0; i < 3; i++) {
            row.across[i] = (float)warp->matrix.m[3 * i + 1];
        }
    }
    (warp->nearest ? kernels->nearest : kernels->bilinear)(&row, from, to);
}

void warp_line(const image_warp *warp, const image_view *from, uint32_t y, uint8_t *to)
{
    warp_line_of(warp, from, from->width, y, to);
}

image_warp warp_of_mask(const image_warp *warp)
{
    image_warp mask = *warp;

    mask.nearest = true;
    memset(mask.fill, warp->mask_fill, sizeof(mask.fill));
    return mask;
}
