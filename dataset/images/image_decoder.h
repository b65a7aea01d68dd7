/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding image files of any format the build knows, whole or only a region. A format is one
 * image_format in a file of its own and one line in image_decoder.c.
 *
 * Files may be hostile: sizes and memory are limited, damage that changes pixels is an error, and
 * nothing of an earlier image can show up in a later one.
 */
#ifndef SLUICE_IMAGE_DECODER_H
#define SLUICE_IMAGE_DECODER_H

#include <stdbool.h>

#include "image.h"

typedef struct image_decoder image_decoder;

/* One for each worker. E_NO_MEMORY. */
sluice_status image_decoder_create(image_decoder **decoder_out);
void image_decoder_destroy(image_decoder *decoder);

/*
 * Reads the header of a file in memory, which must stay there until the region is decoded. gray:
 * one channel comes out instead of three. E_CORRUPT no image, or a damaged header; E_UNSUPPORTED
 * a kind that this build cannot decode; E_INVALID more than max_pixels; E_NO_MEMORY.
 */
sluice_status image_decoder_open(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                 uint64_t max_pixels, bool gray, uint32_t *width_out,
                                 uint32_t *height_out);

/* What image_decoder_open_head() wants to see of a file at most. */
enum { IMAGE_HEAD = 512 };

/* Is an image that begins with these bytes one whose regions can be read without the others? */
bool image_decoder_takes_head(const uint8_t *bytes, size_t size);

/*
 * image_decoder_open() of an image of which only the first bytes are in memory, IMAGE_HEAD of them,
 * and which image_decoder_takes_head(); a region then is read from the file, E_IO. A rest of size 0
 * makes it image_decoder_open() itself.
 */
sluice_status image_decoder_open_head(image_decoder *decoder, const uint8_t *bytes, size_t size,
                                      const image_rest *rest, uint64_t max_pixels, bool gray,
                                      uint32_t *width_out, uint32_t *height_out);

/*
 * Decodes a box of the opened file, which lies within it, once for each opening; its pixels are
 * those of a full decode. region_out borrows the decoder's memory until the next call. E_CORRUPT
 * damage within what had to be read; E_UNSUPPORTED, E_NO_MEMORY.
 */
sluice_status image_decoder_region(image_decoder *decoder, const image_box *box,
                                   image_view *region_out);

/*
 * Makes the opened image smaller by a power of two up to 8, where its format decodes that faster
 * than the whole; its sides are then divided by that and rounded up, and regions are of what is
 * left. False: it does not, and nothing has changed.
 */
bool image_decoder_scale(image_decoder *decoder, uint32_t divisor, uint32_t *width_out,
                         uint32_t *height_out);

/*
 * What decoding a region of a file is faster with, for which the file has to be read through once.
 * Whoever has the file keeps it, as bytes of the format's own.
 */
typedef struct image_index {
    image_buffer bytes;
    size_t size;     /* of it; 0: there is none */
    bool wanted;     /* make one with the next region, where there is none */
    bool is_made;    /* out: it was; size 0: this file can have none */
    bool is_used;    /* out: the region was decoded by it */
    bool is_wrong;   /* out: the one that there was is none of this file */
    bool is_refused; /* of its keeper: what was kept is damaged, or of the file as it was */
} image_index;

/* Gives the opened file an index, which must stay until its region was decoded. */
void image_decoder_use_index(image_decoder *decoder, image_index *index);

/* A format: the same calls on a state of its own, made at the first file of that format. */
typedef struct image_format {
    const char *name;
    const uint8_t *magic; /* what its files begin with */
    size_t magic_size;
    sluice_status (*create)(void **state_out);
    void (*destroy)(void *state);
    sluice_status (*open)(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                          bool gray, uint32_t *width_out, uint32_t *height_out);
    /* Optional: opens by the first bytes alone, whose rest is read by region. */
    sluice_status (*open_head)(void *state, const uint8_t *bytes, size_t size,
                               const image_rest *rest, uint64_t max_pixels, bool gray,
                               uint32_t *width_out, uint32_t *height_out);
    sluice_status (*region)(void *state, const image_box *box, image_view *region_out);
    bool (*scale)(void *state, uint32_t divisor, uint32_t *width_out,
                  uint32_t *height_out);                /* NULL: it does not */
    void (*use_index)(void *state, image_index *index); /* NULL: it has none */
} image_format;

/* The answer of a format to an image that is too large. */
sluice_status image_too_large(uint64_t width, uint64_t height, uint64_t max_pixels);

#endif
