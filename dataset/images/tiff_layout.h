/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the headers of a TIFF file say of its first page: size, samples, and strips or tiles. All of
 * it is checked, so that the decoder (tiff_decoder.c) meets only what it can decode, and reserves
 * memory within the limit of pixels. Tags and values are those of TIFF 6.0.
 */
#ifndef SLUICE_TIFF_LAYOUT_H
#define SLUICE_TIFF_LAYOUT_H

#include <sluice/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tiffio.h>

enum { MOST_SAMPLES = 4 }; /* of a pixel: RGB and alpha, or CMYK */

typedef struct tiff_layout {
    uint32_t width;
    uint32_t height;
    uint16_t bits;
    uint16_t samples; /* of a pixel */
    uint16_t photometric;
    uint16_t orientation;
    uint16_t extra;      /* the kind of the sample after the colours; EXTRASAMPLE_UNSPECIFIED */
    bool planes;         /* the samples are stored apart from each other */
    bool tiles;          /* else strips */
    uint32_t part_width; /* of a strip or tile */
    uint32_t part_height;
    uint8_t palette[3][256]; /* of PHOTOMETRIC_PALETTE */
} tiff_layout;

/*
 * Reads and checks the headers of the first page. E_CORRUPT: a size is 0, or the palette is
 * missing; E_INVALID: the image, or a strip or tile, exceeds max_pixels; E_UNSUPPORTED: the file
 * cannot be decoded here.
 */
sluice_status tiff_layout_read(tiff_layout *layout, TIFF *tiff, uint64_t max_pixels);

/* The number of colours of a pixel; 0: they cannot be decoded. */
uint16_t tiff_layout_colours(uint16_t photometric);

/* Bytes of a line of one plane of a strip or tile. */
size_t tiff_layout_line_bytes(const tiff_layout *layout);

#endif
