/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the masks and boxes of a sample over its image. */
#ifndef SLUICE_TILE_MARKS_H
#define SLUICE_TILE_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/channel.h>

/* The area that an image occupies in a picture, an array (..., 3) of bytes. */
typedef struct sheet_tile {
    uint8_t *pixels; /* upper left pixel of the image */
    size_t stride;   /* bytes between lines */
    uint32_t height, width;
    uint32_t scale; /* pixels of the picture, in each direction, per pixel of the image */
} sheet_tile;

/*
 * Tints the pixels whose value in the column `mask` is not 0, with one colour per value. A mask has
 * an integer type and the size of the image; other columns of that name are ignored.
 */
void tile_mark_mask(const sheet_tile *tile, const sluice_batch *batch, uint32_t row);

/* Draws the frames of the column `boxes`, f32 (n, 4), x0 y0 x1 y1 in pixels. The column
 * `boxes_length`, if it exists, has the number of boxes. Boxes without area are not drawn.
 */
void tile_mark_boxes(const sheet_tile *tile, const sluice_batch *batch, uint32_t row);

#endif
