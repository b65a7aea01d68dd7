/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warps an image: each pixel of the result is sampled at one point of the image, as in torchvision
 * with a fill: grid_sample with align_corners=False gives v, with zeros outside the image. The
 * result is v * w + fill * (1 - w), where w is the sum of the weights of the samples inside. With
 * `constant` it is v + fill * (1 - w), as in OpenCV. All arithmetic is IEEE single precision
 * without contraction, equal at all instruction set levels.
 */
#ifndef SLUICE_IMAGE_WARP_H
#define SLUICE_IMAGE_WARP_H

#include "image.h"
#include "warp_kernels.h"
#include "warp_matrix.h"

enum { WARP_CHANNELS = 4 };

/*
 * A displacement of each pixel of a result, in pixels. lines is (height, 2, stride): along x, then
 * along y. The stride is the width, rounded up to a multiple of WARP_BLOCK.
 */
typedef struct warp_shifts {
    const float *lines;
    size_t stride;
} warp_shifts;

typedef struct image_warp {
    warp_matrix matrix;
    const warp_shifts *shifts; /* added to the pixels' centres before the matrix is applied; NULL:
                                  none; set before warp_line(), of the size of the image */
    bool nearest;              /* the pixel that contains the point; false: bilinear */
    bool constant;             /* bilinear: samples outside of the image are the fill */
    uint8_t fill[WARP_CHANNELS];
    uint8_t mask_fill; /* fill of masks, which are always sampled by nearest neighbour */
} image_warp;

/* Writes line y of a result of the image's size; up to 3 bytes after the line are overwritten. */
void warp_line(const image_warp *warp, const image_view *from, uint32_t y, uint8_t *to);

/* The same of a result of any width. */
void warp_line_of(const image_warp *warp, const image_view *from, uint32_t width, uint32_t y,
                  uint8_t *to);

/* The warp of a mask: nearest, with mask_fill. */
image_warp warp_of_mask(const image_warp *warp);

#endif
