/* SPDX-License-Identifier: Apache-2.0 */
/* PNG files for tests, made in memory by libpng. Only where the build has libpng. */
#ifndef SLUICE_PNG_MAKER_H
#define SLUICE_PNG_MAKER_H

#include <png.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a file is like. */
typedef struct png_recipe {
    uint32_t width;
    uint32_t height;
    int colour; /* PNG_COLOR_TYPE_... */
    int depth;
    bool interlaced;
    bool transparent; /* a tRNS chunk: of a palette's entries, or the colour of sample 0, 0 */
    double gamma;     /* of a gAMA chunk; 0: none */
    int flat;         /* 1: all samples are 0, 2: the highest; 0: noise */
    uint32_t seed;
} png_recipe;

enum { PNG_MAKER_COLOURS = 200 }; /* most entries of a palette */

/* Sample c of a pixel; an index of a palette's. Alpha is the last one. */
uint32_t png_sample(const png_recipe *recipe, uint32_t x, uint32_t y, uint32_t c);

/* Red, green, blue and alpha of a palette's entry. */
void png_palette_entry(const png_recipe *recipe, uint32_t i, uint8_t rgba[4]);

/* The file, from malloc(). */
uint8_t *png_make(const png_recipe *recipe, size_t *size_out);

/* Writes the checksum of every chunk that is there whole, so that a change gets past them. */
void png_seal(uint8_t *bytes, size_t size);

#endif
