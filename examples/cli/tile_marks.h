/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the masks, boxes and points of a sample over its image. */
#ifndef SLUICE_TILE_MARKS_H
#define SLUICE_TILE_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/channel.h>
#include <sluice/custom.h>

/* The area that an image occupies in a picture, an array (..., 3) of bytes. */
typedef struct sheet_tile {
    uint8_t *pixels; /* upper left pixel of the image */
    size_t stride;   /* bytes between lines */
    uint32_t height, width;
    uint32_t scale; /* pixels of the picture, in each direction, per pixel of the image */
} sheet_tile;

/*
 * Sets the role of a plain column by its name: `mask` and `boxes` are drawn, too. Returns whether
 * the column is drawn.
 */
bool tile_is_marked(sluice_column_spec *spec);

/*
 * Draws a column of a sample, if its type and shape are those of its role:
 *
 *   mask    an integer type, of the size of the image: pixels whose value is not 0 are tinted, with
 *           a colour for each value
 *   boxes   f32 (n, 4), x0 y0 x1 y1 in pixels: frames. Boxes without area are not drawn
 *   points  f32 (n, 2) or (n, k, 2), x y in pixels: crosses, with a colour for each index (of k).
 *           Points outside the image are not drawn
 *
 * The column NAME_length, or that of the boxes to which points belong, has the number of rows.
 */
void tile_mark(const sheet_tile *tile, const sluice_batch *batch, const sluice_column_spec *spec,
               uint32_t row);

#endif
