/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of elastic displacements of one instruction set level. This file is compiled once for
 * each level (SLI_LEVEL).
 */
#include "elastic_kernels.h"

#include "cpu_int.h"
#include "float_lanes.h"

enum { PARTS = LANES_PARTS, BLOCK = PARTS * LANES };

static void smooth(const float *const *lines, const float *weights, uint32_t taps, float *to,
                   uint32_t count)
{
    const uint32_t half = taps / 2;

    for (uint32_t first = 0; first < count; first += BLOCK) {
        float_lanes sums[PARTS];
        float_lanes weight;

        lanes_set(&weight, weights[half]);
        for (int k = 0; k < PARTS; k++) {
            lanes_load(&sums[k], lines[half] + first + LANES * k);
            sums[k] *= weight;
        }
        for (uint32_t j = 0; j < half; j++) {
            lanes_set(&weight, weights[j]);
            for (int k = 0; k < PARTS; k++) {
                float_lanes one;
                float_lanes other;

                lanes_load(&one, lines[j] + first + LANES * k);
                lanes_load(&other, lines[taps - 1 - j] + first + LANES * k);
                sums[k] += weight * (one + other);
            }
        }
        for (int k = 0; k < PARTS; k++) {
            lanes_store(&sums[k], to + first + LANES * k);
        }
    }
}

const elastic_kernels SLI_AT_LEVEL(sli_elastic_kernels) = {
    .smooth = smooth,
};
