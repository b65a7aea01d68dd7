/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF files that libtiff writes, of TIFF_WIDTH x TIFF_HEIGHT pixels. */
#ifndef SLUICE_TIFF_MAKER_H
#define SLUICE_TIFF_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tiffio.h>

enum { TIFF_WIDTH = 37, TIFF_HEIGHT = 29 };

/* What a file has. */
typedef struct tiff_spec {
    uint16_t compression;
    uint16_t photometric;
    uint16_t bits;
    uint16_t samples;
    uint16_t extra; /* kind of the sample after the colours; 0: none */
    bool planes;
    bool tiles;
    bool big_endian;
    bool differences; /* predictor 2, of floats predictor 3 */
    bool floats;      /* of 32 bits */
    bool bytes;       /* the palette has 8 bits, as some writers store it */
} tiff_spec;

/* The stored number of a sample; of a file of floats its bits are those of tiff_float(). */
uint32_t tiff_stored(const tiff_spec *spec, uint32_t x, uint32_t y, uint32_t c);
float tiff_float(uint32_t x, uint32_t y, uint32_t c);

/* A channel of a colour of the palette. */
uint16_t tiff_colour(uint32_t index, uint32_t c);

/* Sets the tags of a page. */
void tiff_write_tags(TIFF *tiff, const tiff_spec *spec);

/* A file of some pages in memory of exactly its size, from malloc(). */
uint8_t *tiff_make(const tiff_spec *spec, int pages, uint16_t orientation, size_t *size_out);

#endif
