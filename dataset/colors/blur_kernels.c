/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blur kernels of one instruction set level. This file is compiled once for each level
 * (SLI_LEVEL); the compiler vectorizes the loops over a block.
 */
#include "blur_kernels.h"

#include "cpu_int.h"

enum { BLOCK = 64 };

/* 1.5 * 2^23: (value + ROUND) - ROUND is the nearest integer, halves to even, of a small float. */
#define ROUND 12582912.0F

/* Blocks of a line, the last one of which may be shorter. */
#define BLOCK_OF(count, first) ((count) - (first) < BLOCK ? (count) - (first) : BLOCK)

static void sum_lines(const uint8_t *const *lines, const float *weights, uint32_t taps, float *to,
                      uint32_t count)
{
    for (uint32_t first = 0; first < count; first += BLOCK) {
        const uint32_t size = BLOCK_OF(count, first);
        float sums[BLOCK] = {0};

        for (uint32_t j = 0; j < taps; j++) {
            const uint8_t *line = lines[j] + first;
            const float weight = weights[j];

            for (uint32_t i = 0; i < size; i++) {
                sums[i] += weight * line[i];
            }
        }
        for (uint32_t i = 0; i < size; i++) {
            to[first + i] = sums[i];
        }
    }
}

static void sum_values(const float *from, const float *weights, uint32_t taps, uint32_t step,
                       uint8_t *to, uint32_t count)
{
    for (uint32_t first = 0; first < count; first += BLOCK) {
        const uint32_t size = BLOCK_OF(count, first);
        float sums[BLOCK] = {0};

        for (uint32_t j = 0; j < taps; j++) {
            const float *values = from + first + (size_t)j * step;
            const float weight = weights[j];

            for (uint32_t i = 0; i < size; i++) {
                sums[i] += weight * values[i];
            }
        }
        for (uint32_t i = 0; i < size; i++) {
            to[first + i] = (uint8_t)(int32_t)(sums[i] + ROUND - ROUND);
        }
    }
}

static void sharpen(const uint8_t *above, const uint8_t *line, const uint8_t *below, uint32_t step,
                    float share, uint8_t *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const int64_t at = i;
        const int32_t sum = above[at - step] + above[at] + above[at + step] + line[at - step] +
                            5 * line[at] + line[at + step] + below[at - step] + below[at] +
                            below[at + step];
        const float value = line[at];
        const float mean = (float)(int32_t)((float)sum * (float)(1.0 / 13) + 0.5F);
        float result = value + (mean - value) * share;

        result = result > 0 ? result : 0;
        result = result < 255 ? result : 255;
        to[i] = (uint8_t)(int32_t)result;
    }
}

const blur_kernels SLI_AT_LEVEL(sli_blur_kernels) = {
    .sum_lines = sum_lines,
    .sum_values = sum_values,
    .sharpen = sharpen,
};
