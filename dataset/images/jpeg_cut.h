/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a JPEG file at its restart markers. The data between two of them are decoded
 * independently, so the segments under a box, with headers of the smaller size, are a JPEG file of
 * that part of the image. Data outside the box are not decoded.
 */
#ifndef SLUICE_JPEG_CUT_H
#define SLUICE_JPEG_CUT_H

#include "jpeg_layout.h"

/*
 * Makes a file of the segments that the box needs. CANNOT: segments are neither parts of a row nor
 * whole rows, or restart markers are not where the headers say.
 */
jpeg_part_result jpeg_cut(const jpeg_layout *layout, const uint8_t *bytes, size_t size,
                          const image_box *box, image_buffer *file, size_t *file_size_out,
                          jpeg_cells *cells_out);

#endif
