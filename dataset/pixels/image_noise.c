/* SPDX-License-Identifier: Apache-2.0 */
#include "image_noise.h"

#include "cpu_int.h"
#include "noise_kernels.h"

void noise_line(const image_noise *noise, uint32_t y, const uint8_t *from, uint8_t *to,
                uint32_t values)
{
    const noise_kernels *kernels = SLI_CHOOSE(sli_noise_kernels);
    const uint32_t groups = (values + NOISE_NORMALS - 1) / NOISE_NORMALS;
    float normals[NOISE_NORMALS];

    for (uint32_t i = 0; i < values; i++) {
        int32_t sum;

        if (i % NOISE_NORMALS == 0) {
            kernels->normal(&noise->draws, (y * groups + i / NOISE_NORMALS) * NOISE_BLOCKS,
                            normals);
        }
        sum = from[i] + (int32_t)(noise->mean + normals[i % NOISE_NORMALS] * noise->sigma);
        to[i] = (uint8_t)(!noise->clips ? sum & 0xFF : sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}
