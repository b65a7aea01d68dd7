/* SPDX-License-Identifier: Apache-2.0 */
/* Images on their way through one worker: uint8, interleaved channels, in reusable buffers. */
#ifndef SLUICE_IMAGE_H
#define SLUICE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Bytes that may be read, and mean nothing, past the end of every line of an image. */
enum { IMAGE_SLACK = 64 };

/* (height, width, channels) uint8; lines are stride bytes apart. Borrowed memory. */
typedef struct image_view {
    const uint8_t *pixels;
    size_t stride;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
} image_view;

/* A rectangle of an image; [x, x + width) and [y, y + height). */
typedef struct image_box {
    uint32_t x;
    uint32_t y;
    uint32_t width;
    uint32_t height;
} image_box;

/* Where all of an encoded image lies, of which only the first bytes were read. */
typedef struct image_rest {
    int fd;               /* open until the image was decoded */
    uint64_t offset;      /* of the image's first byte */
    uint64_t size;        /* of the whole image; 0: nothing is left, all of it was read */
    uint64_t *bytes_read; /* grows by what is read of it */
} image_rest;

/* Memory that a worker keeps between samples. It grows to the largest it has seen. */
typedef struct image_buffer {
    uint8_t *data;
    size_t capacity;
} image_buffer;

/* At least `bytes` and IMAGE_SLACK, at a multiple of 64; what it held is lost. E_NO_MEMORY. */
sluice_status image_buffer_reserve(image_buffer *buffer, size_t bytes);
void image_buffer_free(image_buffer *buffer);

/* Gives back what it is too large by for the `bytes` it holds, which stay. E_NO_MEMORY. */
sluice_status image_buffer_fit(image_buffer *buffer, size_t bytes);

/* a * b / 255, rounded: a sample of which a part is covered. */
static inline uint8_t image_times(uint8_t a, uint8_t b)
{
    uint32_t product = (uint32_t)a * b + 128;

    return (uint8_t)((product + (product >> 8)) >> 8);
}

/* Luma of ITU-R BT.601 in 16-bit fixed point, as libjpeg and Pillow weigh it. */
static inline uint8_t image_luma(uint8_t red, uint8_t green, uint8_t blue)
{
    return (uint8_t)((red * 19595U + green * 38470U + blue * 7471U + 32768U) >> 16);
}

#endif
