/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures to resample, in memory of their own. */
#ifndef SLUICE_PICTURE_KIT_H
#define SLUICE_PICTURE_KIT_H

#include <stddef.h>
#include <stdint.h>

/* A picture of its own memory, whose lines have no gaps. */
typedef struct picture {
    uint8_t *pixels; /* (height, width, channels) and the slack of images, from malloc() */
    uint32_t width;
    uint32_t height;
    uint32_t channels;
} picture;

/* In bytes, without the slack. */
size_t picture_size(const picture *p);

/* Of bytes that are neither 0 nor of any picture. */
picture picture_empty(uint32_t width, uint32_t height, uint32_t channels);
picture picture_zero(uint32_t width, uint32_t height, uint32_t channels);

/* The picture of jpeg_maker.h. */
picture picture_make(uint32_t width, uint32_t height, uint32_t channels, uint32_t seed);

/* Reads a binary PGM or PPM file of the fixtures, tests/data/FOLDER/NAME. */
picture picture_read(const char *folder, const char *name);

#endif
