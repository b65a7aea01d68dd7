/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry that was applied to an image of a sample, and its maps of points. */
#ifndef SLUICE_IMAGE_WAY_H
#define SLUICE_IMAGE_WAY_H

#include "plan.h"

/* The geometry applied to a sample's first image. Boxes, points and masks follow it. */
typedef struct image_way {
    uint32_t width; /* width of the image before all geometry */
    uint32_t height;
    const fused_geometry *groups; /* groups of geometry stages, in order */
    uint32_t group_count;
    const color_chain *colors; /* its warps come after the groups; NULL: there are none */
    const plan_boxes *boxes;   /* those that stages of geometry have dropped; NULL: no stage drops
                                  boxes */
    uint8_t flips; /* SLI_ROW_FLIP, SLI_ROW_FLIP_LINES: flips after all geometry, by the workers or
                      by the device */
    bool are_pixels; /* boxes are in pixels of the image, also if the source has fractions of it */
} image_way;

/*
 * Writes the (2, 3) affine map, all warps being affine, from a point (X, Y) of the result to a
 * point (x, y) of the image before all geometry: x = map[0] * X + map[1] * Y + map[2], y = map[3] *
 * X + map[4] * Y + map[5]. Pixel i of a line covers [i, i + 1), as for boxes.
 */
void way_back(const image_way *way, float map[6]);

/* A part of the way of a point: a projective map, and then displacements. */
typedef struct way_leg {
    warp_matrix map;
    const warp_shifts *shifts; /* NULL: none */
} way_leg;

#define WAY_END UINT32_MAX

/*
 * Finds the next part of the way from the image before all geometry to the result; nothing is
 * clipped. *next is 0 for the first part, and WAY_END after the last one. False: a warp maps the
 * whole image to a line.
 */
bool way_ahead(const image_way *way, uint32_t *next, way_leg *leg_out);

/*
 * Subtracts the displacement of a point in an image of this size, an approximation of the inverse
 * of its addition. As in torchvision, it is that of the pixel at the point's coordinates, rounded
 * up; of a point outside the image, that of the nearest pixel.
 */
void way_shift_back(const warp_shifts *shifts, uint32_t width, uint32_t height, double point[2]);

#endif
