/* SPDX-License-Identifier: Apache-2.0 */
#include "image_warp.h"

#include <string.h>

#include "cpu_int.h"
#include "warp_kernels.h"

void warp_line(const image_warp *warp, const image_view *from, uint32_t y, uint8_t *to)
{
    const double *m = warp->matrix.m;
    const double middle = (double)y + 0.5;
    const warp_row row = {
        .start = {(float)(m[0] * 0.5 + m[1] * middle + m[2]),
                  (float)(m[3] * 0.5 + m[4] * middle + m[5]),
                  (float)(m[6] * 0.5 + m[7] * middle + m[8])},
        .step = {(float)m[0], (float)m[3], (float)m[6]},
        .divides = !warp_is_affine(&warp->matrix) || m[8] != 1,
        .fill = warp->fill,
    };
    const warp_kernels *kernels = SLI_CHOOSE(sli_warp_kernels);

    (warp->nearest ? kernels->nearest : kernels->bilinear)(&row, from, to);
}

image_warp warp_of_mask(const image_warp *warp)
{
    image_warp mask = *warp;

    mask.nearest = true;
    memset(mask.fill, warp->mask_fill, sizeof(mask.fill));
    return mask;
}
