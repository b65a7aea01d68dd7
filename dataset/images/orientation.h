/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an Exif orientation (exif.h) puts the pixels of an image. The stored image is that of the
 * file, the upright one what is to be seen. Exif 3.0, 4.6.5; the same as Pillow's
 * ImageOps.exif_transpose(). Every orientation is from 1 to 8.
 */
#ifndef SLUICE_ORIENTATION_H
#define SLUICE_ORIENTATION_H

#include "image.h"

/* The axes of the stored image: each is mirrored or not, and then they are exchanged or not. */
typedef struct orientation_axes {
    bool mirrors_x;
    bool mirrors_y;
    bool exchanges;
} orientation_axes;

orientation_axes orientation_axes_of(uint32_t orientation);

/* The box of the stored image that is this box of the upright one. */
image_box orientation_stored_box(uint32_t orientation, const image_box *upright,
                                 uint32_t stored_width, uint32_t stored_height);

/* Moves a point of the stored image to the upright one. Pixel i of a line covers [i, i + 1). */
void orientation_point(uint32_t orientation, double stored_width, double stored_height,
                       const double from[2], double to[2]);

/*
 * Writes the upright image into `to`, whose memory *upright_out borrows. The stored image must not
 * be in that memory. E_NO_MEMORY; SLUICE_CLOSED: the thread was interrupted.
 */
sluice_status orientation_apply(uint32_t orientation, const image_view *stored, image_buffer *to,
                                image_view *upright_out);

#endif
