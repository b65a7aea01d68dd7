/* SPDX-License-Identifier: Apache-2.0 */
/* Images with an Exif orientation, and what they are to look like, by the plainest code. */
#ifndef SLUICE_UPRIGHT_KIT_H
#define SLUICE_UPRIGHT_KIT_H

#include "image.h"

/* Where Exif 3.0, 4.6.5 puts the stored pixel (x, y) of an image of this size. */
void upright_place(uint32_t orientation, uint32_t width, uint32_t height, uint32_t x, uint32_t y,
                   uint32_t to[2]);

/* The upright image without gaps between lines, from malloc(). */
uint8_t *upright_pixels_of(const image_view *stored, uint32_t orientation);

/* A JPEG file of a size, with this Exif orientation; seed is its picture's. From malloc(). */
uint8_t *oriented_jpeg(uint32_t width, uint32_t height, uint32_t orientation, uint32_t seed,
                       size_t *size_out);

/* Writes such a file. */
void write_oriented(const char *folder, const char *name, uint32_t width, uint32_t height,
                    uint32_t orientation, uint32_t seed);

/* Writes what a stored image is to look like as PPM, or in gray as PGM. */
void write_upright_image(const char *folder, const char *name, const image_view *stored,
                         uint32_t orientation);

/* The same of such a JPEG file. */
void write_upright(const char *folder, const char *name, uint32_t width, uint32_t height,
                   uint32_t orientation, uint32_t seed, bool gray);

#endif
