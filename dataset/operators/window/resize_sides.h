/* SPDX-License-Identifier: Apache-2.0 */
/* The new sides of an image that is resized with its aspect ratio kept. */
#ifndef SLUICE_RESIZE_SIDES_H
#define SLUICE_RESIZE_SIDES_H

#include "geometry_ops.h"
#include "stage.h"

/* Longest side of a resized image. */
enum { RESIZE_MOST_SIDE = 65535 };

typedef sluice_status window_geometry(const void *args, const sli_draws *draws, uint32_t width,
                                      uint32_t height, stage_window *geometry_out);

/*
 * Resizes the shorter side to `length`, and the longer side by the same factor, rounded down, as in
 * torchvision.
 */
void resize_shorter_side(uint32_t width, uint32_t height, uint32_t length, stage_window *out);

/* Resizes both sides to r times their length, rounded down. */
void resize_by(double r, uint32_t width, uint32_t height, stage_window *out);

/*
 * Sets the size of the image in the schema to that after `geometry`. It is unknown if the size
 * before is; `draws`: or because the stage draws a size for each image.
 */
sluice_status resize_infer_sides(const char *stage, window_geometry *geometry, const void *args,
                                 bool draws, stage_schema *schema);

#endif
