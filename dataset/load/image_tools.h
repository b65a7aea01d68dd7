/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker makes pixels with, and the images in between: for the image of a sample, its
 * further images, and then for its masks, one after another.
 */
#ifndef SLUICE_IMAGE_TOOLS_H
#define SLUICE_IMAGE_TOOLS_H

#include "image_decoder.h"
#include "resample.h"
#include "sample_colors.h"

typedef struct image_tools {
    image_decoder *decoder; /* NULL: no image of the plan is encoded */
    image_resampler resampler;
    sample_colors colors;
    image_buffer between[2]; /* images between two groups of geometry stages, used alternately */
    image_buffer turned;     /* for image_turn() */
    image_buffer upright;    /* a mask that gets the orientation of its image's file */
    image_buffer shared;     /* the image before its views, if it was in `between` */
} image_tools;

/* Prepares zeroed tools for a plan. After an error call image_tools_free(), too. */
sluice_status image_tools_init(image_tools *tools, const sli_plan *plan);

/* Moves an image that is in `between` to memory of its own, where later groups keep it. */
void image_tools_share(image_tools *tools, const image_view *image);

void image_tools_free(image_tools *tools);

#endif
