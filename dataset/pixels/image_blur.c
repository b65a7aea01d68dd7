/* SPDX-License-Identifier: Apache-2.0 */
#include "image_blur.h"

#include <string.h>

#include "blur_kernels.h"
#include "cpu_int.h"
#include "rng_int.h"

/* The weight of tap i before the division by the sum of all. */
static double gaussian(uint32_t i, uint32_t taps, double sigma)
{
    const double x = ((double)i - (taps - 1) * 0.5) / sigma;
    const double exponent = -0.5 * x * x;

    return exponent < -200 ? 0 : sli_exp(exponent); /* exp(-200) is 0 in single precision */
}

void gaussian_weights(uint32_t taps, double sigma, float *weights)
{
    double sum = 0;

    for (uint32_t i = 0; i < taps; i++) {
        sum += gaussian(i, taps, sigma);
    }
    for (uint32_t i = 0; i < taps; i++) {
        weights[i] = (float)(gaussian(i, taps, sigma) / sum);
    }
}

void blur_make(image_blur *blur, uint32_t taps, double sigma)
{
    blur->taps = taps;
    gaussian_weights(taps, sigma, blur->weights);
}

uint32_t blur_reflect(int64_t at, uint32_t length)
{
    const int64_t period = length > 1 ? 2 * (int64_t)(length - 1) : 1;
    const int64_t rest = (at % period + period) % period;

    return (uint32_t)(rest < length ? rest : period - rest);
}

size_t blur_bytes(const image_blur *blur, const image_view *from)
{
    return ((size_t)from->width + blur->taps) * from->channels * sizeof(float);
}

void blur_line(const image_blur *blur, const image_view *from, uint32_t y, float *memory,
               uint8_t *to)
{
    const blur_kernels *kernels = SLI_CHOOSE(sli_blur_kernels);
    const uint32_t channels = from->channels;
    const uint32_t count = from->width * channels;
    const uint32_t half = blur->taps / 2;
    const uint8_t *lines[BLUR_TAPS];
    float *sums = memory + (size_t)half * channels; /* after the reflection on the left */

    for (uint32_t j = 0; j < blur->taps; j++) {
        lines[j] = from->pixels + blur_reflect((int64_t)y + j - half, from->height) * from->stride;
    }
    kernels->sum_lines(lines, blur->weights, blur->taps, sums, count);
    for (uint32_t j = 1; j <= half; j++) {
        memcpy(sums - (size_t)j * channels,
               sums + (size_t)blur_reflect(-(int64_t)j, from->width) * channels,
               channels * sizeof(*sums));
        memcpy(sums + count + (size_t)(j - 1) * channels,
               sums + (size_t)blur_reflect((int64_t)from->width - 1 + j, from->width) * channels,
               channels * sizeof(*sums));
    }
    kernels->sum_values(memory, blur->weights, blur->taps, channels, to, count);
}

void sharpen_line(float factor, const image_view *from, uint32_t y, uint8_t *to)
{
    const uint32_t channels = from->channels;
    const uint8_t *line = from->pixels + y * from->stride;
    const size_t bytes = (size_t)from->width * channels;

    memcpy(to, line, bytes);
    if (from->width > 2 && y > 0 && y + 1 < from->height) {
        SLI_CHOOSE(sli_blur_kernels)
            ->sharpen(line - from->stride + channels, line + channels,
                      line + from->stride + channels, channels, 1 - factor, to + channels,
                      (from->width - 2) * channels);
    }
}
