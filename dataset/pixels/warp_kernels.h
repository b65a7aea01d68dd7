/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of warps: one set for each instruction set level. All sets give the same bytes.
 */
#ifndef SLUICE_WARP_KERNELS_H
#define SLUICE_WARP_KERNELS_H

#include "image.h"
#include "warp_pixel_int.h"

/* Pixels of a line that the kernels compute at once. */
enum { WARP_BLOCK = 32 };

/* One line of a result. */
typedef struct warp_row {
    sli_warp_row points;
    uint32_t width;      /* pixels of the line */
    const uint8_t *fill; /* (4): value of each channel outside the image */
    bool constant;       /* of image_warp */
    const float *shifts; /* displacements of the pixels along x; NULL: none. Those along y follow,
                            shift_stride after them. Whole blocks are read. */
    size_t shift_stride;
    float across[3]; /* with shifts: of each sum of the map (sli_warp_row_of()), its factor of y */
} warp_row;

/* Writes a line of `row->width` pixels; up to 3 bytes after the line are overwritten. */
typedef struct warp_kernels {
    void (*nearest)(const warp_row *row, const image_view *from, uint8_t *to);
    void (*bilinear)(const warp_row *row, const image_view *from, uint8_t *to);
} warp_kernels;

extern const warp_kernels sli_warp_kernels_portable;
extern const warp_kernels sli_warp_kernels_v3;
extern const warp_kernels sli_warp_kernels_v4;

#endif
