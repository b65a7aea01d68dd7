/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of colour operations: one set for each instruction set level. All sets give the same
 * bytes: the arithmetic is IEEE single precision without contraction.
 */
#ifndef SLUICE_COLOR_KERNELS_H
#define SLUICE_COLOR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "color_pixel_int.h"

/* Lines are (pixels, 3) uint8; `from` and `to` may be the same line. */
typedef struct color_kernels {
    /* Replaces each of `count` values by the entry of a table. */
    void (*look_up)(const uint8_t table[256], const uint8_t *from, uint8_t *to, size_t count);

    /* The same with a table (3, 256) for each channel. */
    void (*look_up_rgb)(const uint8_t *tables, const uint8_t *from, uint8_t *to, uint32_t pixels);

    /* x * factor + luma * rest, clamped to 0..255 and truncated. */
    void (*saturate)(const uint8_t *from, uint8_t *to, uint32_t pixels, float factor, float rest);

    /* Adds `shift` turns, -0.5 to 0.5, to the hue. */
    void (*shift_hue)(const uint8_t *from, uint8_t *to, uint32_t pixels, float shift);

    /* Multiplies each pixel by a matrix (3, 4), the fourth column of which is added; the result is
     * clamped to 0..255 and rounded to nearest. */
    void (*twist)(const uint8_t *from, uint8_t *to, uint32_t pixels, const float *matrix);

    /* Changes hue, saturation and value, rounded to nearest; of one channel only its value. */
    void (*change_hsv)(const uint8_t *from, uint8_t *to, uint32_t pixels, uint32_t channels,
                       sli_hsv by);

    /* Sets the three channels to the luma. */
    void (*gray)(const uint8_t *from, uint8_t *to, uint32_t pixels);

    /* Returns the sum of the pixels' lumas. */
    uint64_t (*sum_gray)(const uint8_t *from, uint32_t pixels);
} color_kernels;

extern const color_kernels sli_color_kernels_portable;
extern const color_kernels sli_color_kernels_v3;
extern const color_kernels sli_color_kernels_v4;

#endif
