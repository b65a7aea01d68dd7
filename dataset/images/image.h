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
 * How many bytes of an encoded image are read first where the rest is not read. They must contain
 * its whole header.
 */
enum { IMAGE_HEAD = 512 };

/* The location of an encoded image of which only the first bytes were read. */
typedef struct image_rest {
    int fd;               /* open file descriptor; stays open until the image is decoded */
    uint64_t offset;      /* of the image's first byte in the file */
    uint64_t size;        /* of the whole image; 0: all of it was read */
    uint64_t *bytes_read; /* counter, increased by the bytes read */
} image_rest;

/* Memory that a worker keeps between samples. It grows to the largest size requested. */
typedef struct image_buffer {
    uint8_t *data;
    size_t capacity;
} image_buffer;

/*
 * Reserves at least `bytes`, followed by IMAGE_SLACK zeros, aligned to 64. The previous contents
 * are lost. E_NO_MEMORY.
 */
sluice_status image_buffer_reserve(image_buffer *buffer, size_t bytes);
void image_buffer_free(image_buffer *buffer);

/* Releases the capacity beyond the `bytes` it holds; its contents stay. E_NO_MEMORY. */
sluice_status image_buffer_fit(image_buffer *buffer, size_t bytes);

/*
 * An index of an encoded image: with it, decoding a region is faster. Building it reads the whole
 * file once. The source stores it, in a layout that the image format defines.
 */
typedef struct image_index {
    image_buffer bytes;
    size_t size;     /* bytes of the index; 0: none */
    bool wanted;     /* in: build an index while decoding the next region, if size is 0 */
    bool is_made;    /* out: an index was built; then size 0 means that this file cannot have one */
    bool is_used;    /* out: the region was decoded by the index */
    bool is_wrong;   /* out: the index did not match the file */
    bool is_refused; /* set by the index store: its record is damaged, or belongs to an older
                        version of the file */
} image_index;

/* a * b / 255, rounded: scales sample a by coverage b. */
static inline uint8_t image_times(uint8_t a, uint8_t b)
{
    uint32_t product = (uint32_t)a * b + 128;

    return (uint8_t)((product + (product >> 8)) >> 8);
}

/* Luma of ITU-R BT.601 in 16-bit fixed point, with the weights of libjpeg and Pillow. */
static inline uint8_t image_luma(uint8_t red, uint8_t green, uint8_t blue)
{
    return (uint8_t)((red * 19595U + green * 38470U + blue * 7471U + 32768U) >> 16);
}

#endif
