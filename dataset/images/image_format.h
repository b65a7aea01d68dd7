/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of an image format, which each decoder implements and image_decoder.c calls. */
#ifndef SLUICE_IMAGE_FORMAT_H
#define SLUICE_IMAGE_FORMAT_H

#include <stdbool.h>

#include "image.h"
#include "image_formats.h"

/*
 * An image format: functions that operate on the format's own state. A worker creates the state
 * when it opens the first file of the format.
 */
typedef struct image_format {
    const char *name;
    image_formats formats; /* the set that it is in */
    const uint8_t *magic;  /* magic number at the beginning of its files; not of a format module */
    size_t magic_size;
    sluice_status (*create)(void **state_out);
    void (*destroy)(void *state);
    sluice_status (*open)(void *state, const uint8_t *bytes, size_t size, uint64_t max_pixels,
                          bool gray, uint32_t *width_out, uint32_t *height_out);
    /* Optional: opens a file of which only the first bytes were read; the region is read from the
     * file later. */
    sluice_status (*open_head)(void *state, const uint8_t *bytes, size_t size,
                               const image_rest *rest, uint64_t max_pixels, bool gray,
                               uint32_t *width_out, uint32_t *height_out);
    sluice_status (*region)(void *state, const image_box *box, image_view *region_out);
    bool (*scale)(void *state, uint32_t divisor, uint32_t *width_out,
                  uint32_t *height_out);                /* NULL: the format cannot scale */
    void (*use_index)(void *state, image_index *index); /* NULL: indexes are not supported */
    bool (*lacks_index)(const void *state); /* NULL: no file of the format can have an index */
    sluice_status (*request_indices)(void *state); /* NULL: files of the format store colours */
    /* Selects values of 16 bits or floats as pixels, whichever the file has, in its colours, gray
     * or RGB; only for files of more than 8 bits. NULL: the format has no such files. */
    void (*request_wide)(void *state);
    /* Describes the open file by its header; on entry `format` is set, `orientation` is 1, and the
     * other fields are 0. */
    void (*describe)(const void *state, image_facts *facts);
} image_format;

extern const image_format format_bmp;
extern const image_format format_gif;
extern const image_format format_jp2; /* of a module: format_modules.h */
extern const image_format format_jpeg;
extern const image_format format_pbm;
extern const image_format format_pgm;
extern const image_format format_plain_pbm;
extern const image_format format_plain_pgm;
extern const image_format format_plain_ppm;
extern const image_format format_png;
extern const image_format format_ppm;
extern const image_format format_tiff; /* of a module */
extern const image_format format_webp; /* of a module */

/* Checks the size in a header. E_INVALID: the image has more than max_pixels pixels; E_UNSUPPORTED:
 * a side has more than a million. */
sluice_status image_check_size(uint32_t width, uint32_t height, uint64_t max_pixels);

/* Fails with E_INVALID because the image has more than max_pixels pixels. */
sluice_status image_too_large(uint64_t width, uint64_t height, uint64_t max_pixels);

#endif
