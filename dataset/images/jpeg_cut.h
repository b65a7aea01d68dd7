/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortens a JPEG file at its restart markers. The segments between the markers can be decoded
 * independently. The segments that cover a box, preceded by headers with the smaller size, form a
 * JPEG file of that part of the image. Data outside the box are not decoded.
 */
#ifndef SLUICE_JPEG_CUT_H
#define SLUICE_JPEG_CUT_H

#include "jpeg_layout.h"

/*
 * Makes a JPEG file of the restart intervals that the box needs. Returns CANNOT if the restart
 * interval neither divides an MCU row nor is a multiple of one, or if restart markers are not where
 * the headers imply.
 */
jpeg_part_result jpeg_cut(const jpeg_layout *layout, const uint8_t *bytes, size_t size,
                          const image_box *box, image_buffer *file, size_t *file_size_out,
                          jpeg_cells *cells_out);

#endif
