/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files for tests, made in memory, and a plain decode of them to compare with. */
#ifndef SLUICE_JPEG_MAKER_H
#define SLUICE_JPEG_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* jpeglib.h wants stdio.h before it. */
#include <jpeglib.h>

#include "random_kit.h"

/* What a file is like. Zeros: 8x8 RGB noise, coded as YCbCr 4:4:4, baseline, quality 75. */
typedef struct jpeg_recipe {
    uint32_t width;
    uint32_t height;
    J_COLOR_SPACE space; /* of the file; JCS_UNKNOWN is JCS_YCbCr */
    uint8_t sampling[4]; /* factors of each component, 0x21 is 2 across and 1 down; 0 is 0x11 */
    int quality;         /* 0 is 75 */
    bool progressive;
    bool arithmetic;
    bool optimised;
    bool no_adobe;               /* no Adobe marker: CMYK is then not inverted */
    unsigned restart;            /* MCUs between restart markers; 0 none */
    const jpeg_scan_info *scans; /* a script of its own; NULL: the library's */
    int scan_count;
    int flat;      /* not 0: every sample of the picture is flat - 1, without noise */
    bool smooth;   /* slopes only: red grows with x, green with y, blue with both */
    uint32_t seed; /* of the picture */
} jpeg_recipe;

/* The file, from malloc(). NULL when this libjpeg cannot make it; ends the program on other errors.
 */
uint8_t *jpeg_make(const jpeg_recipe *recipe, size_t *size_out);

/* What a plain decode gave. */
typedef struct jpeg_plain {
    uint8_t *pixels; /* (height, width, channels), from malloc(); NULL: it failed */
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    long warnings;
} jpeg_plain;

/* Decodes a whole file into JCS_RGB, JCS_GRAYSCALE or JCS_CMYK: line by line, accurate DCT, smooth
 * upsampling. */
jpeg_plain jpeg_plain_decode(const uint8_t *bytes, size_t size, J_COLOR_SPACE out);

/* The same at 1/divisor of the size. */
jpeg_plain jpeg_scaled_decode(const uint8_t *bytes, size_t size, J_COLOR_SPACE out,
                              unsigned divisor);

/* A sample of the test picture: edges, slopes and noise; channel c. */
uint8_t picture_sample(uint32_t seed, uint32_t x, uint32_t y, uint32_t c);

#endif
