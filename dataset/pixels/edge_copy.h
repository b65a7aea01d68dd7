/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of an image that is continued beyond its edges by its own pixels. */
#ifndef SLUICE_EDGE_COPY_H
#define SLUICE_EDGE_COPY_H

#include "image.h"

/*
 * The range of pixels of a side of `length` that the window [start, start + count) shows:
 * [*from, *from + *needed).
 */
void edge_range(image_edge edge, int64_t start, uint32_t count, uint32_t length, uint32_t *from,
                uint32_t *needed);

/* Returns the pixel of a side of `length` that is shown at position i, which may be outside. */
uint32_t edge_index(image_edge edge, int64_t i, uint32_t length);

/*
 * Writes the pixels at positions [start, start + count) of a line of `length` pixels, of which
 * `line` has those from `from` on, each of pixel_bytes bytes.
 */
void edge_line(image_edge edge, int64_t start, uint32_t count, uint32_t length, const uint8_t *line,
               uint32_t from, size_t pixel_bytes, uint8_t *to);

#endif
