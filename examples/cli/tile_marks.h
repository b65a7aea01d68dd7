/* SPDX-License-Identifier: Apache-2.0 */
/* Masks and boxes of a sample, drawn over its image. */
#ifndef SLUICE_TILE_MARKS_H
#define SLUICE_TILE_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/channel.h>

/* Where an image is in a picture of bytes (..., 3). */
typedef struct sheet_tile {
    uint8_t *pixels; /* of its upper left pixel */
    size_t stride;   /* bytes from line to line */
    uint32_t height, width;
    uint32_t scale; /* pixels of the picture, in each direction, for one of the image */
} sheet_tile;

/*
 * Tints the pixels whose value in the column `mask` is not 0, a colour for each value. A mask is of
 * whole numbers and has the size of the image; other columns of that name are left out.
 */
void tile_mark_mask(const sheet_tile *tile, const sluice_batch *batch, uint32_t row);

/*
 * Draws the frames of the column `boxes`, f32 (n, 4), x0 y0 x1 y1 in pixels; the column
 * `boxes_length`, where there is one, has their number. Boxes without area are left out.
 */
void tile_mark_boxes(const sheet_tile *tile, const sluice_batch *batch, uint32_t row);

#endif
