/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts parts out of JPEG files that have no restart markers, by an index. For every eighth MCU of a
 * row the index has the bit position at which the MCU begins, and the DC values before it. The bits
 * under a box are concatenated, and the first DC differences of each row are recoded. The result is
 * a JPEG file of that part of the image.
 *
 * The format of an index; numbers are little-endian:
 *
 *     u32    1, the version
 *     u32    MCUs between two entries
 *     10 bytes for each entry, row by row from the left, and one for the end of the data:
 *         u32     the position in the file, in bits (offset * 8 + bit)
 *         i16 x 3 DC values of the components' last blocks before it
 */
#ifndef SLUICE_JPEG_STITCH_H
#define SLUICE_JPEG_STITCH_H

#include "jpeg_layout.h"

/*
 * True if files of this layout can have an index. Files with restart markers cannot; they need
 * none.
 */
bool jpeg_can_index(const jpeg_layout *layout, size_t size);

/* Returns the size of an index for files of this layout, in bytes. */
size_t jpeg_index_size(const jpeg_layout *layout);

/*
 * Builds the index of a file, which has jpeg_index_size() bytes. False: the data are corrupt, or
 * their coding cannot be stitched.
 */
bool jpeg_index_make(const jpeg_layout *layout, const uint8_t *bytes, size_t size, uint8_t *index);

/*
 * Makes a JPEG file of the part that the box needs. CANNOT: the index does not match the file. If
 * the index belongs to another file, the result is wrong pixels or a decode error, never an invalid
 * memory access.
 */
jpeg_part_result jpeg_stitch(const jpeg_layout *layout, const uint8_t *bytes, size_t size,
                             const uint8_t *index, size_t index_size, const image_box *box,
                             image_buffer *file, size_t *file_size_out, jpeg_cells *cells_out);

#endif
