/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a random crop that overlaps the boxes of a sample, which the stages
 * random_iou_crop and random_bbox_crop share. */
#ifndef SLUICE_BOX_CROP_H
#define SLUICE_BOX_CROP_H

#include <math.h>

#include "geometry_ops.h"

/* An option of a search: the image does not change. */
#define BOX_CROP_NONE HUGE_VAL

enum { BOX_CROP_OPTIONS = PARAM_MAX_REALS + 1 };

/* Crops are x0 y0 x1 y1 in whole pixels of the image. */
typedef struct box_crop_search {
    const void *args; /* of the functions */
    /* Returns a crop of an image of this size. False: these bits give none. */
    bool (*draw)(const void *args, const uint32_t bits[4], uint32_t width, uint32_t height,
                 double crop[4]);
    /* True if a box stays in the sample. */
    bool (*keeps)(const double crop[4], const double box[4]);
    /* Returns how much the crop and the boxes overlap. Called for crops that keep a box. */
    double (*measure)(const void *args, const double crop[4], const stage_boxes *boxes);
    double options[BOX_CROP_OPTIONS]; /* minimum measures, or BOX_CROP_NONE; one is drawn */
    uint32_t option_count;
    uint32_t trials;      /* crops that are drawn before another option is */
    uint32_t most_trials; /* crops that are drawn in all */
    bool takes_best;      /* after them: the crop with the largest measure; else the image does not
                             change */
} box_crop_search;

/* Checks the argument of a stage that has the options: 1 to PARAM_MAX_REALS numbers, 0 to 1. */
sluice_status box_crop_check(const char *stage, const char *argument, const param_reals *options);

/* Checks the columns, and makes the size of the image unknown. */
sluice_status box_crop_infer(const char *stage, stage_schema *schema);

/* The areas of the intersection and of the union of two boxes. */
double box_crop_shared(const double a[4], const double b[4]);
double box_crop_joined(const double a[4], const double b[4]);

/* Draws crops until one has the measure that an option needs, and drops the boxes that it does not
 * keep. An image without boxes does not change. */
void box_crop_find(const box_crop_search *search, const sli_draws *draws, const stage_boxes *boxes,
                   uint32_t width, uint32_t height, stage_window *out);

#endif
