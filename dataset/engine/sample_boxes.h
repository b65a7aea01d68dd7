/* SPDX-License-Identifier: Apache-2.0 */
/* Applies an image's geometry to its boxes, and computes the map back to the source's image. */
#ifndef SLUICE_SAMPLE_BOXES_H
#define SLUICE_SAMPLE_BOXES_H

#include "plan.h"

/* The geometry applied to a sample's first image. Boxes and masks follow it. */
typedef struct image_way {
    uint32_t width; /* width of the image before all geometry */
    uint32_t height;
    const fused_geometry *groups; /* groups of geometry stages, in order */
    uint32_t group_count;
    const color_chain *colors; /* its warps come after the groups; NULL: there are none */
    uint8_t flips; /* SLI_ROW_FLIP, SLI_ROW_FLIP_LINES: flips after all geometry, by the workers or
                      by the device */
} image_way;

/*
 * Writes the (2, 3) affine map, all warps being affine, from a point (X, Y) of the result to a
 * point (x, y) of the image before all geometry: x = map[0] * X + map[1] * Y + map[2], y = map[3] *
 * X + map[4] * Y + map[5]. Pixel i of a line covers [i, i + 1), as for boxes.
 */
void way_back(const image_way *way, float map[6]);

/*
 * Moves and clips the boxes of a sample. Boxes without remaining area are dropped; the others keep
 * their order. Elements that belong to a dropped box are also dropped. Rows after the last box are
 * zeroed, and the length is updated. `buffers` has one entry for each column of `schema`, the
 * columns of the source; NULL: the column is not needed. E_CORRUPT: a box extends beyond its image.
 */
sluice_status boxes_follow(const stage_schema *schema, const image_way *way, void *const *buffers);

#endif
