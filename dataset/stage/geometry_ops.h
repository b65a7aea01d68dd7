/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a stage of geometry (STAGE_GEOMETRY), and what they get and return. */
#ifndef SLUICE_GEOMETRY_OPS_H
#define SLUICE_GEOMETRY_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "image.h"
#include "image_warp.h"
#include "resize_filter.h"
#include "rng_int.h"
#include "stage.h"

/* What is outside an image. */
typedef struct stage_padding {
    image_edge edge;              /* if it is not EDGE_CONSTANT, the next two are not used */
    uint8_t fill[IMAGE_CHANNELS]; /* value of each channel */
    bool has_parts;               /* a value has a fraction: `fill` is the nearest byte, */
    float parts[IMAGE_CHANNELS];  /* and these are converted into the row (plan_fills.c) */
    uint8_t mask_fill;            /* value in masks */
} stage_padding;

/*
 * The geometry of a stage for an image of a given size: crops the image to a box, resizes the box,
 * and takes a window of the result. A stage with a padding may have a box or a window that extends
 * beyond the image.
 */
typedef struct stage_window {
    bool crops;
    int64_t x;
    int64_t y;
    uint32_t width;
    uint32_t height;
    bool resizes;
    uint32_t new_width;
    uint32_t new_height;
    resize_filter filter; /* valid if `resizes` */
    bool frames;          /* take the window below from the resized box; requires `resizes` */
    int64_t window_x;
    int64_t window_y;
    uint32_t window_width;
    uint32_t window_height;
    bool turns; /* instead of all this: the image becomes the result of a warp, of size new_width by
                   new_height */
    image_warp *turn; /* memory of the caller for the warp; NULL: only the size is needed */
} stage_window;

/* The boxes of a sample at a stage of geometry, in pixels of the image before the stage. */
typedef struct stage_boxes {
    uint32_t count;
    const double (*corners)[4]; /* (count, 4) x0 y0 x1 y1 */
    uint8_t *dropped;           /* (count) 1: no box any more; the stage may drop more */
} stage_boxes;

/*
 * Instead of `draw`: the stage makes several views of the image, and later stages run on each of
 * them, with random numbers of their own.
 */
typedef struct view_ops {
    uint32_t (*count)(const void *args); /* 2 to 16 */
    /* Returns the geometry of a view. */
    sluice_status (*draw)(const void *args, uint32_t view, uint32_t width, uint32_t height,
                          stage_window *geometry_out);
    /* Optional: the flips of a view, after its geometry, as row flags. */
    uint8_t (*flips)(const void *args, uint32_t view);
} view_ops;

/*
 * Instead of `draw`: the image is made of `count` samples, its tiles. Tile 0 is the sample itself;
 * the others are its partners. The draws are those of tile 0.
 */
typedef struct tile_ops {
    uint32_t count;
    /* False: nothing of the tile is shown, whatever the size of its image is. */
    bool (*shows)(const void *args, const sli_draws *draws, uint32_t tile);
    /* Returns the resize of a tile's image of this size, and where the result is: its window, whose
     * size is the same for all tiles and draws. */
    void (*place)(const void *args, const sli_draws *draws, uint32_t tile, uint32_t width,
                  uint32_t height, stage_window *window_out);
} tile_ops;

/* Instead of `draw`: the stage has branches (nested_of()). */
typedef struct branch_ops {
    /* Writes the numbers of those that an image goes through to `order`, in order, and returns how
     * many. */
    uint32_t (*choose)(const void *args, const sli_draws *draws, uint32_t *order);
    /* True if a stage in a branch may warp the image. */
    bool (*warps)(const void *args);
} branch_ops;

typedef struct geometry_ops {
    /* Returns the geometry for an image of this size. E_INVALID: the size is unsuitable. */
    sluice_status (*draw)(const void *args, const sli_draws *draws, uint32_t width, uint32_t height,
                          stage_window *geometry_out);
    /* Instead of `draw`: also depends on the boxes of the sample, which has one column of them, as
     * infer() checks. */
    sluice_status (*draw_of_boxes)(const void *args, const sli_draws *draws,
                                   const stage_boxes *boxes, uint32_t width, uint32_t height,
                                   stage_window *geometry_out);
    const view_ops *views;
    const tile_ops *tiles;
    const branch_ops *branches;
    bool resizes; /* draw() may set `resizes` */
    bool crops;   /* parts of the image may not be in its result */
    bool turns;   /* draw() may set `turns` */
    bool squares; /* a size of one number means a square */
    /* Optional: returns whether the result of draw() may extend beyond the image, and sets the
     * padding, which is zeros at first. */
    bool (*padding)(const void *args, stage_padding *padding_out);
} geometry_ops;

#endif
