/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes under the fused geometry of a group. */
#ifndef SLUICE_FUSED_BOXES_H
#define SLUICE_FUSED_BOXES_H

#include "plan.h"

/* Clips a box to an image of this size. False: nothing is left of it. */
bool fused_clip(uint32_t width, uint32_t height, double x[2], double y[2]);

/* Transforms a box by a group, and clips it to the crop and to the window. False: nothing is left
 * of it. */
bool fused_follow(const fused_geometry *g, double x[2], double y[2]);

/* The same without clipping. False: a warp maps the image to a line. */
bool fused_move(const fused_geometry *g, double x[2], double y[2]);

/* Transforms all boxes of a sample by a group. Those of which nothing is left are dropped. */
void fused_follow_all(const fused_geometry *g, const plan_boxes *boxes, double (*corners_out)[4]);

#endif
