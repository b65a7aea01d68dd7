/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the image of a sample goes through, as it was drawn: a list that the image runs through, and
 * that masks, boxes and points follow.
 */
#ifndef SLUICE_SAMPLE_TRANSFORM_H
#define SLUICE_SAMPLE_TRANSFORM_H

#include "color_chain.h"
#include "plan.h"

/* A window of an image, and the operations on the lines of the result. */
typedef struct transform_step {
    fused_geometry window;
    color_chain *lines;      /* colour operations and warps; NULL: there are none */
    const plan_group *group; /* what it was drawn from; NULL: the resize of a tile */
} transform_step;

/* What the Exif orientation of an image's file was applied to. */
typedef struct applied_orientation {
    uint8_t image;  /* the orientation, applied to the image; 1: none */
    uint8_t labels; /* the same, where annotations are for the image as stored, and follow it; 1:
                       they are for the image that was decoded */
} applied_orientation;

static const applied_orientation nothing_applied = {1, 1};

typedef struct sample_transform {
    uint32_t width; /* width of the image before all geometry */
    uint32_t height;
    applied_orientation applied; /* before all geometry */
    const transform_step *steps; /* (step_count) */
    uint32_t step_count;
    uint32_t shared_steps; /* with views: the steps before them */
    const color_chain
        *device;     /* the operations of GetNext, after all steps; NULL: there are none */
    bool warps;      /* some operation may be a warp */
    uint8_t flips;   /* SLI_ROW_FLIP, SLI_ROW_FLIP_LINES: flips at the end, by the workers or by the
                        device */
    bool are_pixels; /* boxes are in pixels of the image, also if the source has fractions of it */
    const box_limits *limits; /* of boxes after the transform; NULL: none */
    const plan_boxes *boxes;  /* those that stages of geometry have dropped; NULL: no stage drops
                                 boxes */
} sample_transform;

/* The transforms of a worker, which are drawn for each sample (sample_draw.h). */
typedef struct drawn_transforms {
    sample_transform image; /* what the last image went through, for its masks and boxes */
    sample_transform tile;  /* of a mosaic: what the last tile went through */
    transform_step *steps;  /* (plan_image_geometry.most_steps) those of `image` or `tile` */
    plan_boxes boxes; /* of the last sample; `corners` NULL: no stage of geometry needs them */
} drawn_transforms;

/*
 * Sets what the transforms of all samples have in common. device: the worker's chain of operations
 * of GetNext. After E_NO_MEMORY call transforms_free(), too.
 */
sluice_status transforms_init(drawn_transforms *drawn, const sli_plan *plan,
                              const color_chain *device);
void transforms_free(drawn_transforms *drawn);

/* The boxes that stages of geometry depend on; NULL: none does. */
static inline plan_boxes *drawn_boxes(drawn_transforms *drawn)
{
    return drawn->boxes.corners != NULL ? &drawn->boxes : NULL;
}

/* A part of a transform that moves points: a window, or a warp of an image of this size. */
typedef struct transform_part {
    const fused_geometry *window; /* NULL: it is a warp */
    const image_warp *warp;
    uint32_t width; /* of the result */
    uint32_t height;
} transform_part;

/* A position in a transform; zero-initialise for the first part. */
typedef struct transform_place {
    uint32_t step;
    bool in_lines;      /* its window is behind */
    uint32_t operation; /* the next one of its lines */
} transform_place;

/* Finds the next part, in the order in which an image runs through them, without the flips. False:
 * there is none. */
bool transform_next(const sample_transform *transform, transform_place *place,
                    transform_part *part_out);

/* The size of the image that the annotations are for. */
void transform_label_size(const sample_transform *transform, uint32_t *width_out,
                          uint32_t *height_out);

/* Moves a point of the annotations to the image. */
void transform_label_point(const sample_transform *transform, const double from[2], double to[2]);

/*
 * Writes the (2, 3) affine map, all warps being affine, from a point (X, Y) of the result to a
 * point (x, y) of the image that the annotations are for, before all geometry: x = map[0] * X +
 * map[1] * Y + map[2], y = map[3] * X + map[4] * Y + map[5]. Pixel i of a line covers [i, i + 1),
 * as for boxes.
 */
void transform_invert(const sample_transform *transform, float map[6]);

/* Parts of a transform for points: a projective map, and then displacements. */
typedef struct transform_leg {
    warp_matrix map;
    const warp_shifts *shifts; /* of an image of this size; NULL: none */
    uint32_t width;
    uint32_t height;
    bool is_last;
} transform_leg;

/*
 * Joins the next parts up to the next displacements or, with the flips, up to the end; nothing is
 * clipped. False: a warp maps the whole image to a line.
 */
bool transform_join(const sample_transform *transform, transform_place *place,
                    transform_leg *leg_out);

/*
 * Subtracts the displacement of a point in an image of this size, an approximation of the inverse
 * of its addition. As in torchvision, it is that of the pixel at the point's coordinates, rounded
 * up; of a point outside the image, that of the nearest pixel.
 */
void transform_unshift(const warp_shifts *shifts, uint32_t width, uint32_t height, double point[2]);

#endif
