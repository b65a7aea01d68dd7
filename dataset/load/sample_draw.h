/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws what the image of a sample goes through, before any pixel is made: the steps of a
 * transform. Sizes and boxes are known before pixels are.
 */
#ifndef SLUICE_SAMPLE_DRAW_H
#define SLUICE_SAMPLE_DRAW_H

#include "sample_loader.h"

/*
 * Draws groups [first, end) of a list for an image of this size before them, and appends steps to
 * `transform`, of the image or of a tile. A group that changes nothing of this image adds none,
 * except for the last group of all, which writes the row. E_INVALID: a stage does not fit the
 * image; loader->last.stage is its name.
 */
sluice_status draw_groups(sample_loader *loader, sample_transform *transform, const plan_list *list,
                          uint32_t first, uint32_t end, const image_draws *draws, uint32_t width,
                          uint32_t height);

/* The draws of a view of the image; `draws`: those of the image. View 0 has the random numbers of
 * an image without views. */
image_draws draws_of_view(const struct plan_details *details, const image_draws *draws,
                          uint32_t view);

/* Draws the operations of the lines of all steps again, for another image of the sample, whose
 * windows are those of the first one. */
void draw_lines_again(sample_loader *loader, const sample_transform *transform,
                      const image_draws *draws);

#endif
