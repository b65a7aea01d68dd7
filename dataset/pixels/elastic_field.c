/* SPDX-License-Identifier: Apache-2.0 */
#include "elastic_field.h"

#include <string.h>

#include "cpu_int.h"
#include "elastic_kernels.h"
#include "image_blur.h"
#include "noise_kernels.h"
#include "thread_interrupt_int.h"

/* ---- memory: the displacements, the noise of one axis, and one line with its reflections ----- */

static uint64_t stride_of(uint64_t width)
{
    return (width + SMOOTH_BLOCK - 1) / SMOOTH_BLOCK * SMOOTH_BLOCK; /* also of WARP_BLOCK */
}

/* Groups of noise of one axis. */
static uint64_t groups_of(uint64_t width, uint64_t height)
{
    return (stride_of(width) * height + NOISE_UNIFORMS - 1) / NOISE_UNIFORMS;
}

bool elastic_fits(uint64_t width, uint64_t height)
{
    return width <= UINT32_MAX && height <= UINT32_MAX &&
           groups_of(width, height) <= (UINT64_C(1) << 24) / (2 * NOISE_BLOCKS);
}

/* torchvision's number of taps: 8 sigma + 1, made odd. */
static uint32_t taps_of(double sigma)
{
    return sigma > 0 ? (uint32_t)(8 * sigma + 1) | 1 : 1;
}

sluice_status elastic_reserve(elastic_field *field)
{
    const size_t stride = stride_of(field->width);
    const size_t floats = 2 * stride * field->height +
                          NOISE_UNIFORMS * groups_of(field->width, field->height) + stride +
                          ELASTIC_TAPS;
    const sluice_status st = image_buffer_reserve(&field->memory, floats * sizeof(float));

    if (st == SLUICE_OK) {
        field->shifts = (warp_shifts){(const float *)(const void *)field->memory.data, stride};
    }
    return st;
}

static float *memory_of(const elastic_field *field)
{
    return (float *)(void *)field->memory.data;
}

float *elastic_noise(const elastic_field *field, uint32_t y)
{
    return memory_of(field) + field->shifts.stride * (2 * (size_t)field->height + y);
}

/* Memory of a line with its reflections, after the noise. */
static float *reflected_line(const elastic_field *field)
{
    return elastic_noise(field, 0) + NOISE_UNIFORMS * groups_of(field->width, field->height);
}

void elastic_free(elastic_field *field)
{
    image_buffer_free(&field->memory);
}

/* ---- noise ----------------------------------------------------------------------------------- */

static void swap(float *one, float *other)
{
    const float kept = *one;

    *one = *other;
    *other = kept;
}

/* Flips the noise of one axis; numbers along the axis of the flip change their sign. */
static void flip_noise(const elastic_field *field, uint32_t axis)
{
    const bool negative = axis == 0 ? field->flipped_x : field->flipped_y;
    const uint32_t width = field->width;
    const uint32_t height = field->height;

    for (uint32_t y = 0; y < height / 2 && field->flipped_y; y++) {
        for (uint32_t x = 0; x < width; x++) {
            swap(elastic_noise(field, y) + x, elastic_noise(field, height - 1 - y) + x);
        }
    }
    for (uint32_t y = 0; y < height && (negative || field->flipped_x); y++) {
        float *line = elastic_noise(field, y);

        for (uint32_t x = 0; x < width / 2 && field->flipped_x; x++) {
            swap(&line[x], &line[width - 1 - x]);
        }
        for (uint32_t x = 0; x < width && negative; x++) {
            line[x] = -line[x];
        }
    }
}

static void draw_noise(const elastic_field *field, uint32_t axis)
{
    const uint32_t groups = (uint32_t)groups_of(field->width, field->height);

    SLI_CHOOSE(sli_noise_kernels)
        ->uniform(&field->draws, axis * groups * NOISE_BLOCKS, groups, elastic_noise(field, 0));
    flip_noise(field, axis);
}

/* ---- smoothing ------------------------------------------------------------------------------- */

/* Smooths each line of the noise, in place. */
static void smooth_lines(const elastic_field *field, const float *weights, uint32_t taps)
{
    const elastic_kernels *kernels = SLI_CHOOSE(sli_elastic_kernels);
    const uint32_t width = field->width;
    const uint32_t half = taps / 2;
    float *reflected = reflected_line(field);
    const float *lines[ELASTIC_TAPS];

    for (uint32_t j = 0; j < taps; j++) {
        lines[j] = reflected + j;
    }
    memset(reflected, 0, (field->shifts.stride + taps) * sizeof(*reflected));
    for (uint32_t y = 0; y < field->height && !sli_is_interrupted_at(y); y++) {
        float *line = elastic_noise(field, y);

        memcpy(reflected + half, line, width * sizeof(*line));
        for (uint32_t j = 1; j <= half; j++) {
            reflected[half - j] = line[blur_reflect(-(int64_t)j, width)];
            reflected[half + width - 1 + j] = line[blur_reflect((int64_t)width - 1 + j, width)];
        }
        kernels->smooth(lines, weights, taps, line, (uint32_t)field->shifts.stride);
    }
}

void elastic_displace(elastic_field *field, uint32_t axis)
{
    const elastic_kernels *kernels = SLI_CHOOSE(sli_elastic_kernels);
    const double sides[2] = {field->width, field->height};
    const double scale = field->options.alpha[axis] / sides[1 - axis] * (0.5 * sides[axis]);
    const uint32_t taps = taps_of(field->options.sigma[axis]);
    const uint32_t half = taps / 2;
    const size_t stride = field->shifts.stride;
    const float *lines[ELASTIC_TAPS];
    float weights[ELASTIC_TAPS];

    if (taps > 1) {
        gaussian_weights(taps, field->options.sigma[0], weights);
        smooth_lines(field, weights, taps);
        gaussian_weights(taps, field->options.sigma[1], weights);
    } else {
        weights[0] = 1;
    }
    for (uint32_t j = 0; j < taps; j++) {
        weights[j] *= (float)scale;
    }
    for (uint32_t y = 0; y < field->height && !sli_is_interrupted_at(y); y++) {
        for (uint32_t j = 0; j < taps; j++) {
            lines[j] = elastic_noise(field, blur_reflect((int64_t)y + j - half, field->height));
        }
        kernels->smooth(lines, weights, taps, memory_of(field) + stride * (2 * (size_t)y + axis),
                        (uint32_t)stride);
    }
}

sluice_status elastic_make(elastic_field *field)
{
    sluice_status st = field->is_made ? SLUICE_OK : elastic_reserve(field);

    for (uint32_t axis = 0; axis < 2 && st == SLUICE_OK && !field->is_made; axis++) {
        draw_noise(field, axis);
        elastic_displace(field, axis);
        st = sli_is_interrupted() ? SLUICE_CLOSED : SLUICE_OK;
    }
    field->is_made = st == SLUICE_OK;
    return st;
}
