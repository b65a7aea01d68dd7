/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of elastic displacements of one instruction set level. This file is compiled once for
 * each level (SLI_LEVEL); the compiler vectorizes the loops over a block.
 */
#include "elastic_kernels.h"

#include "cpu_int.h"

static void smooth(const float *const *lines, const float *weights, uint32_t taps, float *to,
                   uint32_t count)
{
    const uint32_t half = taps / 2;

    for (uint32_t first = 0; first < count; first += SMOOTH_BLOCK) {
        const float *middle = lines[half] + first;
        float sums[SMOOTH_BLOCK];

        for (int i = 0; i < SMOOTH_BLOCK; i++) {
            sums[i] = weights[half] * middle[i];
        }
        for (uint32_t j = 0; j < half; j++) {
            const float *one = lines[j] + first;
            const float *other = lines[taps - 1 - j] + first;
            const float weight = weights[j];

            for (int i = 0; i < SMOOTH_BLOCK; i++) {
                sums[i] += weight * (one[i] + other[i]);
            }
        }
        for (int i = 0; i < SMOOTH_BLOCK; i++) {
            to[first + (uint32_t)i] = sums[i];
        }
    }
}

const elastic_kernels SLI_AT_LEVEL(sli_elastic_kernels) = {
    .smooth = smooth,
};
