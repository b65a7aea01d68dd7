/* SPDX-License-Identifier: Apache-2.0 */
/* Images in a worker's memory: interleaved channels of one element type, in reusable buffers. */
#ifndef SLUICE_IMAGE_H
#define SLUICE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/*
 * Bytes past the end of every line of an image that may be read: they are initialised, but their
 * values have no meaning.
 */
enum { IMAGE_SLACK = 64 };

/* Maximum excess of a buffer's capacity over the bytes reserved. */
enum { IMAGE_MOST_SPARE = (1 << 20) + IMAGE_SLACK };

/*
 * The type of a pixel's channels; an element has 1 << image_element bytes. Code that moves pixels
 * works on bytes of a pixel, whatever the element is. Code that computes values, such as colours,
 * warps and mixes, works on IMAGE_U8 only; the schema refuses it for other images.
 */
typedef enum image_element { IMAGE_U8, IMAGE_U16, IMAGE_F32 } image_element;

/* Borrowed pixels, (height, width, channels); consecutive lines are stride bytes apart. */
typedef struct image_view {
    const uint8_t *pixels; /* of wider elements: aligned to the element, as every line is */
    size_t stride;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    image_element element;
} image_view;

/* Bytes of one pixel. */
static inline size_t image_pixel_bytes(const image_view *image)
{
    return (size_t)image->channels << image->element;
}

/* What the header of an encoded image says besides the size. */
typedef struct image_facts {
    const char *format; /* "JPEG", "PNG", "BMP", "GIF", "WebP", "TIFF", "JPEG 2000", "PPM", "PGM" or
                           "PBM" */
    uint32_t channels;  /* stored channels; 1 for a palette */
    uint32_t bits;      /* per channel, or per palette index; 32: floats */
    uint32_t orientation;      /* of Exif, 1 to 8; 1: upright, or not stated (exif.h) */
    bool further;              /* the file has further images or frames, which are not decoded */
    bool transparent;          /* alpha, or a transparent colour */
    bool palette;              /* the pixels are indices into a palette */
    bool progressive;          /* JPEG: progressive; PNG: interlaced */
    bool arithmetic;           /* JPEG: arithmetic-coded */
    uint32_t restart_interval; /* JPEG: MCUs between restart markers; 0: none */
    uint32_t chroma_x; /* JPEG of several channels: horizontal chroma subsampling; 0: not whole */
    uint32_t chroma_y; /* the same vertically */
} image_facts;

/* A rectangle of an image: [x, x + width) by [y, y + height). */
typedef struct image_box {
    uint32_t x;
    uint32_t y;
    uint32_t width;
    uint32_t height;
} image_box;

/* Numbers of pixels beside an image. */
typedef struct image_margins {
    uint32_t left;
    uint32_t top;
    uint32_t right;
    uint32_t bottom;
} image_margins;

/* What is outside an image: a value, or its pixels, continued beyond its edges. Of a line abcd: */
typedef enum image_edge {
    EDGE_CONSTANT,
    EDGE_REPEAT,   /* aaa|abcd|ddd */
    EDGE_REFLECT,  /* dcb|abcd|cba; of a line of one pixel that pixel */
    EDGE_SYMMETRIC /* cba|abcd|dcb */
} image_edge;

enum { IMAGE_CHANNELS = 4 }; /* most channels of an image */

/*
 * Number of bytes that are read first of an encoded image that need not be read completely. They
 * must contain its whole header.
 */
enum { IMAGE_HEAD = 512 };

/* The location of an encoded image, of which only the first bytes were read. */
typedef struct image_rest {
    int fd;               /* open file descriptor; stays open until the image is decoded */
    uint64_t offset;      /* offset of the image's first byte in the file */
    uint64_t size;        /* size of the whole image; 0: all of the image was read */
    uint64_t *bytes_read; /* byte counter, incremented by the bytes read from the file */
} image_rest;

/* A worker's reusable memory, which grows to the largest size requested. */
typedef struct image_buffer {
    uint8_t *data;
    size_t capacity;
} image_buffer;

/*
 * Reserves at least `bytes` bytes, aligned to 64 and followed by IMAGE_SLACK zeros. The previous
 * contents are lost. Returns E_NO_MEMORY on failure.
 */
sluice_status image_buffer_reserve(image_buffer *buffer, size_t bytes);
void image_buffer_free(image_buffer *buffer);

/*
 * Shrinks the buffer to its first `bytes` bytes and keeps their contents. Returns E_NO_MEMORY on
 * failure.
 */
sluice_status image_buffer_fit(image_buffer *buffer, size_t bytes);

/*
 * The decode index of an encoded image, which makes decoding a region faster. Building it requires
 * reading the whole file once. The source stores the index; the image format defines its layout.
 */
typedef struct image_index {
    image_buffer bytes;
    size_t size;  /* bytes of the index; 0: there is no index */
    bool wanted;  /* input: if size is 0, build an index while decoding the next region */
    bool is_made; /* output: building was attempted; if size is 0, this file cannot have an index */
    bool is_used; /* output: the index was used to decode the region */
    bool is_wrong;   /* output: the index did not match the file */
    bool is_refused; /* set by the index store: the stored record is corrupt, or belongs to an older
                        version of the file */
} image_index;

/* Returns a * b / 255, rounded: sample a scaled by coverage b. */
static inline uint8_t image_times(uint8_t a, uint8_t b)
{
    uint32_t product = (uint32_t)a * b + 128;

    return (uint8_t)((product + (product >> 8)) >> 8);
}

/* Returns the ITU-R BT.601 luma in 16-bit fixed point, with the weights of libjpeg and Pillow. */
static inline uint8_t image_luma(uint8_t red, uint8_t green, uint8_t blue)
{
    return (uint8_t)((red * 19595U + green * 38470U + blue * 7471U + 32768U) >> 16);
}

#endif
