/* SPDX-License-Identifier: Apache-2.0 */
/* Shared functions of the stages that warp images. */
#ifndef SLUICE_WARP_STAGE_H
#define SLUICE_WARP_STAGE_H

#include "operators/color/color_stage.h"
#include "operators/window/fill_args.h"
#include "stage.h"

/* How a warp samples. */
typedef struct warp_options {
    uint32_t filter; /* index in warp_filters */
    uint32_t border; /* index in warp_borders */
    fill_args outside;
} warp_options;

extern const char *const warp_filters[];
extern const char *const warp_borders[];

/* The parameters of an argument struct with warp_options in `field`. */
#define WARP_PARAMS(struct_type, field, text)                                                      \
    {.name = "filter",                                                                             \
     .type = PARAM_CHOICE,                                                                         \
     .offset = PARAM_OFFSET_(struct_type, field.filter, PARAM_CHOICE),                             \
     .default_text = (text),                                                                       \
     .choices = warp_filters,                                                                      \
     .help = "interpolation"},                                                                     \
        FILL_PARAM(struct_type, field.outside), MASK_FILL_PARAM(struct_type, field.outside)

/* The last parameter of these: it came later, and arguments without names go by position. */
#define BORDER_PARAM(struct_type, field)                                                           \
    {                                                                                              \
        .name = "border", .type = PARAM_CHOICE,                                                    \
        .offset = PARAM_OFFSET_(struct_type, field.border, PARAM_CHOICE),                          \
        .default_text = "masked", .choices = warp_borders,                                         \
        .help = "pixels at the border of the image, with filter=bilinear: masked, torchvision's; " \
                "constant, OpenCV's BORDER_CONSTANT"                                               \
    }

/* A parameter `center`: two numbers, or the name `image`. */
#define CENTER_PARAM(struct_type, field)                                                           \
    {                                                                                              \
        .name = "center", .type = PARAM_REALS,                                                     \
        .offset = PARAM_OFFSET_(struct_type, field, PARAM_REALS), .default_text = "image",         \
        .help = "X,Y of the fixed point, in pixels, -1e6 to 1e6; image: the centre of the image"   \
    }

/* Appended to the details of stages that warp. */
#define WARP_DETAILS                                                                               \
    "Each pixel of the result is sampled at one point of the image, without "                      \
    "antialiasing: filter=nearest takes the pixel that contains the point, "                       \
    "bilinear the four pixels around it, rounded once, halves to even. Pixels outside of the "     \
    "image have the value of fill. Where some of the four are outside, border says how they are "  \
    "blended; v is the weighted sum of the pixels inside, and w the sum of their weights:\n"       \
    "  border=masked    v w + fill (1 - w)  as torchvision: a dark frame where fill is not 0\n"    \
    "  border=constant  v + fill (1 - w)    as OpenCV's BORDER_CONSTANT, and DALI\n"               \
    "Adjacent warps with the same filter, border and fills, also with flips between them, are "    \
    "fused: their matrices are multiplied, so pixels that the first one would move out of the "    \
    "image are not lost.\n"                                                                        \
    "Masks are warped by nearest neighbour. A box becomes the bounding box of its "                \
    "four warped corners, clipped to the image; boxes without remaining area are "                 \
    "dropped. Points move with the image. All images of a sample get the same "                    \
    "draws. The stage comes before normalize, to_dtype and to_chw."

sluice_status warp_check_center(const char *stage, const param_reals *center);

/* The affine warp about this center, of an image of the size of the chain. */
warp_matrix warp_about_center(const warp_affine *affine, const param_reals *center,
                              const color_chain *chain);

sluice_status warp_check(const char *stage, const warp_options *options);

/*
 * Checks that there are decoded uint8 images, with the number of channels of the fill, and
 * adds `operations`, the most that the stage has for one image. `bends`: the
 * warp is not affine, so there must be no column of stage geometry.
 */
sluice_status warp_infer(const char *stage, const warp_options *options, uint32_t operations,
                         bool bends, stage_schema *schema);

/* The warp by a matrix with these options. */
image_warp warp_by(const warp_options *options, const warp_matrix *matrix);

void warp_add(const warp_options *options, const warp_matrix *matrix, color_chain *chain);

/*
 * Replaces one number x, at least 0, of a range by -x,x; checks that a range LOW,HIGH is within
 * [least, most].
 */
sluice_status warp_check_range(const char *stage, const char *name, double least, double most,
                               param_reals *range);

/* A uniform number between values 2 * number and 2 * number + 1. */
double warp_uniform(const param_reals *values, uint32_t number, uint32_t bits);

#endif
