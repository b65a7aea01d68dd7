/* SPDX-License-Identifier: Apache-2.0 */
/* Images as a worker processes them: uint8, interleaved channels, in reusable buffers. */
#ifndef SLUICE_IMAGE_H
#define SLUICE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Bytes that may be read past the end of every line of an image: initialised, with no meaning. */
enum { IMAGE_SLACK = 64 };

/* The largest difference between a buffer's capacity and the bytes reserved. */
enum { IMAGE_MOST_SPARE = (1 << 20) + IMAGE_SLACK };

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

/*
 * The number of first bytes of an encoded image that must hold its header where the rest is not
 * read.
 */
enum { IMAGE_HEAD = 512 };

/* The location of an encoded image whose first bytes only were read. */
typedef struct image_rest {
    int fd;               /* open until the image is decoded */
    uint64_t offset;      /* of the image's first byte */
    uint64_t size;        /* of the whole image; 0: all of it was read */
    uint64_t *bytes_read; /* is increased by the bytes read */
} image_rest;

/* Memory that a worker keeps between samples. It grows to the largest size requested. */
typedef struct image_buffer {
    uint8_t *data;
    size_t capacity;
} image_buffer;

/*
 * Reserves at least `bytes`, and IMAGE_SLACK zeros behind them, aligned to 64. Its contents are
 * lost. E_NO_MEMORY.
 */
sluice_status image_buffer_reserve(image_buffer *buffer, size_t bytes);
void image_buffer_free(image_buffer *buffer);

/* Releases the capacity beyond the `bytes` it holds; its contents stay. E_NO_MEMORY. */
sluice_status image_buffer_fit(image_buffer *buffer, size_t bytes);

/*
 * An index of an encoded image, which makes decoding a region faster. Building it reads the whole
 * file once; the source stores it, as bytes in the format's own layout.
 */
typedef struct image_index {
    image_buffer bytes;
    size_t size;     /* bytes of the index; 0: none */
    bool wanted;     /* build an index with the next region, if there is none */
    bool is_made;    /* out: an index was built; size 0: this file can have none */
    bool is_used;    /* out: the region was decoded by the index */
    bool is_wrong;   /* out: the index does not match the file */
    bool is_refused; /* by the index store: the record is damaged, or of an older file */
} image_index;

/* a * b / 255, rounded: the sample a with coverage b. */
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
