/* SPDX-License-Identifier: Apache-2.0 */
#include "resample_wide.h"

#include <string.h>

sluice_status resample_wide_reserve(image_resampler *r)
{
    return image_buffer_reserve(&r->middle,
                                (size_t)r->span.width * r->job.channels * sizeof(float));
}

/* The pixels of a line of the span; NULL: it is in the margins. */
static const uint8_t *line_of(const image_resampler *r, const image_view *needed, uint32_t row)
{
    const uint32_t line = row - r->lead_y; /* wraps around above `needed` */

    return line < needed->height ? needed->pixels + line * needed->stride : NULL;
}

/* ---- nearest --------------------------------------------------------------------------------- */

static void nearest_line(const image_resampler *r, const image_view *needed, uint32_t i,
                         uint8_t *out)
{
    const size_t pixel = image_pixel_bytes(needed);
    const uint8_t *line = line_of(r, needed, (uint32_t)r->y.first[i] - r->span.y);

    for (uint32_t x = 0; x < r->x.count; x++) {
        const uint32_t column = (uint32_t)r->x.first[x] - r->span.x - r->lead_x;

        if (line != NULL && column < needed->width) {
            memcpy(out + x * pixel, line + column * pixel, pixel);
        } else {
            memset(out + x * pixel, 0, pixel);
        }
    }
}

/* ---- filters --------------------------------------------------------------------------------- */

/* The weights of an output. A value of weight 0 is left out of a sum: a float that is not finite
 * must not reach outputs that do not use it. */
static const float *weights_of(const resample_axis *axis, uint32_t i)
{
    return axis->floats + (size_t)i * axis->taps;
}

static inline float value_of(const void *pixels, size_t i, image_element element)
{
    return element == IMAGE_U16 ? (float)((const uint16_t *)pixels)[i] : ((const float *)pixels)[i];
}

/* Adds weighted values of a line. */
static inline __attribute__((always_inline)) void
add_line(const void *pixels, float weight, float *sums, size_t count, image_element element)
{
    for (size_t i = 0; i < count; i++) {
        sums[i] += weight * value_of(pixels, i, element);
    }
}

/* The vertical pass: a line of the span. */
static void sum_lines(const image_resampler *r, const image_view *needed, uint32_t i, float *sums)
{
    const size_t count = (size_t)needed->width * needed->channels;
    const float *weights = weights_of(&r->y, i);

    memset(sums, 0, (size_t)r->span.width * needed->channels * sizeof(*sums));
    sums += (size_t)r->lead_x * needed->channels;
    for (uint32_t k = 0; k < r->y.taps; k++) {
        const uint8_t *line =
            weights[k] != 0 ? line_of(r, needed, (uint32_t)r->y.first[i] - r->span.y + k) : NULL;

        if (line != NULL && needed->element == IMAGE_U16) {
            add_line(line, weights[k], sums, count, IMAGE_U16);
        } else if (line != NULL) {
            add_line(line, weights[k], sums, count, IMAGE_F32);
        }
    }
}

static uint16_t round_value(float value)
{
    return (uint16_t)(value <= 0 ? 0 : value >= 65535 ? 65535 : value + 0.5F);
}

/* The horizontal pass of one channel of one pixel. */
static float sum_columns(const float *sums, const float *weights, uint32_t taps, uint32_t channels)
{
    float sum = 0;

    for (uint32_t k = 0; k < taps; k++) {
        sum += weights[k] != 0 ? weights[k] * sums[(size_t)k * channels] : 0;
    }
    return sum;
}

void resample_wide_line(const image_resampler *r, const image_view *needed, uint32_t i,
                        uint8_t *out)
{
    const uint32_t channels = r->job.channels;
    float *sums = (float *)(void *)r->middle.data;

    if (r->job.filter.filter == FILTER_NEAREST) {
        nearest_line(r, needed, i, out);
        return;
    }
    sum_lines(r, needed, i, sums);
    for (uint32_t x = 0; x < r->x.count; x++) {
        const float *weights = weights_of(&r->x, x);
        const float *first = sums + (size_t)((uint32_t)r->x.first[x] - r->span.x) * channels;

        for (uint32_t c = 0; c < channels; c++) {
            const float value = sum_columns(first + c, weights, r->x.taps, channels);

            if (needed->element == IMAGE_U16) {
                ((uint16_t *)(void *)out)[(size_t)x * channels + c] = round_value(value);
            } else {
                ((float *)(void *)out)[(size_t)x * channels + c] = value;
            }
        }
    }
}
