/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a JPEG file at its restart markers. Between two of them data are decoded by themselves,
 * so the segments under a box, with headers that say the smaller size, are a JPEG file of that
 * part of the image: what lies outside is not even read through.
 */
#ifndef SLUICE_JPEG_CUT_H
#define SLUICE_JPEG_CUT_H

#include "jpeg_layout.h"

/*
 * Makes a file of the segments that the box needs. CANNOT: restart markers do not divide the rows or
 * rows between them, or are not where the headers promise.
 */
jpeg_part_result jpeg_cut(const jpeg_layout *layout, const uint8_t *bytes, size_t size,
                          const image_box *box, image_buffer *file, size_t *file_size_out,
                          jpeg_cells *cells_out);

#endif
