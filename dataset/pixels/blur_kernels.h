/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of operations that combine neighbouring pixels: one set for each instruction set
 * level. All sets give the same bytes: the arithmetic is IEEE single precision without contraction.
 */
#ifndef SLUICE_BLUR_KERNELS_H
#define SLUICE_BLUR_KERNELS_H

#include <stddef.h>
#include <stdint.h>

typedef struct blur_kernels {
    /* Writes the weighted sum of lines of `count` values, in their order. */
    void (*sum_lines)(const uint8_t *const *lines, const float *weights, uint32_t taps, float *to,
                      uint32_t count);

    /*
     * Writes `count` values: each is the weighted sum of from[0], from[step], ..., from[(taps - 1)
     * * step], rounded to nearest, halves to even. `from` advances by one value at a time.
     */
    void (*sum_values)(const float *from, const float *weights, uint32_t taps, uint32_t step,
                       uint8_t *to, uint32_t count);

    /*
     * Adds share * (mean - value) to each of `count` values. The mean is that of the value (weight
     * 5) and its 8 neighbours (weight 1 each), rounded; the result is truncated. The values `step`
     * before and after each one are read, too.
     */
    void (*sharpen)(const uint8_t *above, const uint8_t *line, const uint8_t *below, uint32_t step,
                    float share, uint8_t *to, uint32_t count);
} blur_kernels;

extern const blur_kernels sli_blur_kernels_portable;
extern const blur_kernels sli_blur_kernels_v3;
extern const blur_kernels sli_blur_kernels_v4;

#endif
