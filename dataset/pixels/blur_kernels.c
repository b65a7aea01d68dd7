/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blur kernels of one instruction set level. This file is compiled once for each level
 * (SLI_LEVEL).
 */
#include "blur_kernels.h"

#include "cpu_int.h"
#include "float_lanes.h"

enum { BLOCK = LANES_PARTS * LANES };

/* 1.5 * 2^23: (value + ROUND) - ROUND is the nearest integer, halves to even, of a small float. */
#define ROUND 12582912.0F

/* Sums `parts` vectors of values from `first` on; `parts` is a constant, at most LANES_PARTS. */
static inline void sum_lines_part(const uint8_t *const *lines, const float *weights, uint32_t taps,
                                  uint32_t first, int parts, float *to)
{
    float_lanes sums[LANES_PARTS];

    for (int k = 0; k < parts; k++) {
        lanes_set(&sums[k], 0);
    }
    for (uint32_t j = 0; j < taps; j++) {
        float_lanes weight;

        lanes_set(&weight, weights[j]);
        for (int k = 0; k < parts; k++) {
            float_lanes values;

            lanes_load_bytes(&values, lines[j] + first + LANES * k);
            sums[k] += weight * values;
        }
    }
    for (int k = 0; k < parts; k++) {
        lanes_store(&sums[k], to + first + LANES * k);
    }
}

static void sum_lines(const uint8_t *const *lines, const float *weights, uint32_t taps, float *to,
                      uint32_t count)
{
    uint32_t first = 0;

    for (; first + BLOCK <= count; first += BLOCK) {
        sum_lines_part(lines, weights, taps, first, LANES_PARTS, to);
    }
    for (; first + LANES <= count; first += LANES) {
        sum_lines_part(lines, weights, taps, first, 1, to);
    }
    for (; first < count; first++) {
        float sum = 0;

        for (uint32_t j = 0; j < taps; j++) {
            sum += weights[j] * lines[j][first];
        }
        to[first] = sum;
    }
}

static inline void sum_values_part(const float *from, const float *weights, uint32_t taps,
                                   uint32_t step, uint32_t first, int parts, uint8_t *to)
{
    float_lanes sums[LANES_PARTS];
    float_lanes round;

    lanes_set(&round, ROUND);
    for (int k = 0; k < parts; k++) {
        lanes_set(&sums[k], 0);
    }
    for (uint32_t j = 0; j < taps; j++) {
        float_lanes weight;

        lanes_set(&weight, weights[j]);
        for (int k = 0; k < parts; k++) {
            float_lanes values;

            lanes_load(&values, from + first + LANES * k + (size_t)j * step);
            sums[k] += weight * values;
        }
    }
    for (int k = 0; k < parts; k++) {
        sums[k] = sums[k] + round - round;
        lanes_store_bytes(&sums[k], to + first + LANES * k);
    }
}

static void sum_values(const float *from, const float *weights, uint32_t taps, uint32_t step,
                       uint8_t *to, uint32_t count)
{
    uint32_t first = 0;

    for (; first + BLOCK <= count; first += BLOCK) {
        sum_values_part(from, weights, taps, step, first, LANES_PARTS, to);
    }
    for (; first + LANES <= count; first += LANES) {
        sum_values_part(from, weights, taps, step, first, 1, to);
    }
    for (; first < count; first++) {
        float sum = 0;

        for (uint32_t j = 0; j < taps; j++) {
            sum += weights[j] * from[first + (size_t)j * step];
        }
        to[first] = (uint8_t)(int32_t)(sum + ROUND - ROUND);
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
