/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a stage of colours or of a warp (STAGE_COLOR). */
#ifndef SLUICE_COLOR_OPS_H
#define SLUICE_COLOR_OPS_H

#include <stdbool.h>

#include "color_chain.h"
#include "rng_int.h"
#include "stage.h"

typedef struct color_ops {
    /* Adds the stage's operations for one image. */
    void (*add)(const void *args, const sli_draws *draws, color_chain *chain);
    /* Without stage_def.infer, which calls schema_add_colors() itself: */
    uint32_t operations; /* the most that add() adds for one image; 0: 1 */
    bool any_channels;   /* the images need not have 1 or 3 channels */
    /* Optional: true if each pixel of the result depends on one point of the image, so that GetNext
     * can run the stage. */
    bool (*is_by_pixel)(const void *args);
    bool warps; /* add() may warp the image: masks, boxes and points follow */
    /* With `warps`, optional: false if it does not warp with these arguments; see stage_warps(). */
    bool (*warps_with)(const void *args);
    bool places; /* its operations have positions in the image, so it matters whether the image is
                    flipped before or after them; true if `warps` */
    /* Optional: the definition, of the same name and parameters, that replaces this one if an image
     * that the stage works on is not uint8 (H, W, C) any more: a conversion. */
    const stage_def *when_converted;
} color_ops;

#endif
