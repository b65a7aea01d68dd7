/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes follow the geometry of their image. */
#ifndef SLUICE_SAMPLE_BOXES_H
#define SLUICE_SAMPLE_BOXES_H

#include "plan.h"

/* What was done to an image, for what follows it. */
typedef struct image_way {
    uint32_t width; /* of the image before all geometry */
    uint32_t height;
    const fused_geometry *groups; /* in their order */
    uint32_t group_count;
    bool flipped; /* at the end, by the workers or by the device */
} image_way;

/*
 * Moves, clips and drops the boxes of a sample: those without area in the result go, the others
 * keep their order, and what belongs to a box goes with it. Rows behind the last box are zero; the
 * column of the length is set. `buffers` has the columns of `schema`, those of the source; NULL:
 * not needed. E_CORRUPT: a box that reaches beyond its image.
 */
sluice_status boxes_follow(const stage_schema *schema, const image_way *way, void *const *buffers);

#endif
