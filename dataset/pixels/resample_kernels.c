/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resize kernels of one instruction set level. This file is compiled once for each level
 * (SLI_LEVEL).
 */
#include "resample_kernels.h"

#include <string.h>

#include "cpu_int.h"

enum {
    MIDDLE_SHIFT = RESAMPLE_WEIGHT_BITS - RESAMPLE_MID_BITS,
    FINAL_SHIFT = RESAMPLE_MID_BITS + RESAMPLE_WEIGHT_BITS,
    MIDDLE_MOST = 255 << RESAMPLE_MID_BITS,
    ALL_WEIGHT = 1 << RESAMPLE_WEIGHT_BITS, /* the weight of one input when all others are zero */
#if defined(__AVX512BW__)
    BLOCK = 64 /* samples per iteration of the vertical pass */
#else
    BLOCK = 32
#endif
};

/*
 * Scalar implementation of vertical_wide() for samples [i, n); also processes the tail of the
 * vector version.
 */
static void vertical_wide_from(size_t i, const int16_t *const *rows, const int16_t *weights,
                               uint32_t taps, uint8_t *out, size_t n)
{
    for (; i < n; i++) {
        int32_t sum = 1 << (FINAL_SHIFT - 1);

        for (uint32_t k = 0; k < taps; k++) {
            sum += rows[k][i] * weights[k];
        }
        sum >>= FINAL_SHIFT;
        out[i] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

#if defined(__AVX2__)
#include "resample_x86.h"
#else

static void vertical(const uint8_t *const *rows, const int16_t *weights, uint32_t taps,
                     int16_t *out, size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        int32_t sums[BLOCK];

        for (int j = 0; j < BLOCK; j++) {
            sums[j] = 1 << (MIDDLE_SHIFT - 1);
        }
        for (uint32_t k = 0; k < taps; k += 2) {
            const uint8_t *row0 = rows[k] + i;
            const uint8_t *row1 = rows[k + 1] + i;
            const int16_t weight0 = weights[k];
            const int16_t weight1 = weights[k + 1];

            for (int j = 0; j < BLOCK; j++) {
                const int16_t sample0 = row0[j]; /* int16, for vectorised 16 by 16 bit products */
                const int16_t sample1 = row1[j];

                sums[j] += sample0 * weight0 + sample1 * weight1;
            }
        }
        for (int j = 0; j < BLOCK; j++) {
            out[i + (size_t)j] = (int16_t)(sums[j] >> MIDDLE_SHIFT);
        }
    }
}

static void horizontal_rgb(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                           uint8_t *const *out)
{
    for (int line = 0; line < STRIP; line++) {
        resample_horizontal(axis, origin, in[line], out[line], 3);
    }
}

static void horizontal_wide(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                            int16_t *const *out)
{
    for (int line = 0; line < STRIP; line++) {
        resample_horizontal_wide(axis, origin, in[line], out[line], 3);
    }
}

static void vertical_wide(const int16_t *const *rows, const int16_t *weights, uint32_t taps,
                          uint8_t *out, size_t n)
{
    vertical_wide_from(0, rows, weights, taps, out, n);
}

#endif

static void widen(const uint8_t *in, int16_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = in[i];
    }
}

const resample_kernels SLI_AT_LEVEL(sli_resample_kernels) = {
    .vertical = vertical,
    .horizontal_rgb = horizontal_rgb,
    .widen = widen,
    .horizontal_wide = horizontal_wide,
    .vertical_wide = vertical_wide,
};
