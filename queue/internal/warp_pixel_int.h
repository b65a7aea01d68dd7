/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warps: the point at which a pixel of the result is sampled, and the weights of its samples. For
 * the vectorised kernels of workers and for GetNext on a device: IEEE arithmetic without
 * contraction, so that all give the same bits. dataset/pixels/image_warp.h has the formulas.
 */
#ifndef SLUICE_WARP_PIXEL_INT_H
#define SLUICE_WARP_PIXEL_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "device_fn_int.h"

/* 1.5 * 2^23: (value + ROUND) - ROUND is the nearest integer, halves to even, of a small float. */
#define SLI_WARP_ROUND      12582912.0F
#define SLI_WARP_ROUND_BITS UINT32_C(0x4B400000)

/*
 * The points at which one line of a result is sampled: pixel x at (start[0] + x step[0], start[1] +
 * x step[1]), divided by start[2] + x step[2] if `divides`.
 */
typedef struct sli_warp_row {
    float start[3];
    float step[3];
    bool divides;
} sli_warp_row;

/* Line y of a warp by the projective map m: (m[0] x + m[1] y + m[2]) / (m[6] x + m[7] y + m[8]),
 * the same with m[3] to m[5]. */
SLI_DEVICE_FN sli_warp_row sli_warp_row_of(const double *m, uint32_t y)
{
    const double middle = (double)y + 0.5;
    sli_warp_row row;

    row.start[0] = (float)(m[0] * 0.5 + m[1] * middle + m[2]);
    row.start[1] = (float)(m[3] * 0.5 + m[4] * middle + m[5]);
    row.start[2] = (float)(m[6] * 0.5 + m[7] * middle + m[8]);
    row.step[0] = (float)m[0];
    row.step[1] = (float)m[3];
    row.step[2] = (float)m[6];
    row.divides = m[6] != 0 || m[7] != 0 || m[8] != 1;
    return row;
}

typedef struct sli_warp_point {
    float x;
    float y;
} sli_warp_point;

/* The point of pixel `at` of a line. `divides` is row->divides, a constant in vectorised loops. */
SLI_DEVICE_FN sli_warp_point sli_warp_place(const sli_warp_row *row, bool divides, uint32_t at)
{
    const float x = (float)(int32_t)at;
    sli_warp_point point;

    point.x = x * row->step[0] + row->start[0];
    point.y = x * row->step[1] + row->start[1];
    if (divides) {
        const float divisor = x * row->step[2] + row->start[2];

        point.x /= divisor;
        point.y /= divisor;
    }
    return point;
}

/* Clamps a coordinate to [-2, extent + 1], so that it fits an int32; a NaN becomes -2. */
SLI_DEVICE_FN float sli_warp_limit(float value, float extent)
{
#if defined(__CUDA_ARCH__)
    return fminf(fmaxf(value, -2), extent + 1);
#else
    value = value > -2 ? value : -2;
    return value < extent + 1 ? value : extent + 1;
#endif
}

/* Rounds a limited coordinate down. On a GPU, whose conversions are slow, by an addition that
 * rounds down: the low bits of the sum are the number. */
SLI_DEVICE_FN int32_t sli_warp_floor(float value)
{
#if defined(__CUDA_ARCH__)
    return (int32_t)(__float_as_uint(__fadd_rd(value, SLI_WARP_ROUND)) - SLI_WARP_ROUND_BITS);
#else
    const int32_t truncated = (int32_t)value;

    return truncated - ((float)truncated > value);
#endif
}

/* A limited coordinate that has been rounded, as a float. */
SLI_DEVICE_FN float sli_warp_whole(int32_t value)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float((uint32_t)value + SLI_WARP_ROUND_BITS) - SLI_WARP_ROUND;
#else
    return (float)value;
#endif
}

/* The weights of the four samples around a point: upper left, upper right, lower left, lower
 * right. */
typedef struct sli_warp_weights {
    float upper_left;
    float upper_right;
    float lower_left;
    float lower_right;
} sli_warp_weights;

SLI_DEVICE_FN sli_warp_weights sli_warp_weigh(sli_warp_point point, int32_t column, int32_t line)
{
    const float right = point.x - sli_warp_whole(column);
    const float below = point.y - sli_warp_whole(line);
    const float left = 1 - right;
    const float above = 1 - below;
    sli_warp_weights weights;

    weights.upper_left = left * above;
    weights.upper_right = right * above;
    weights.lower_left = left * below;
    weights.lower_right = right * below;
    return weights;
}

/* Rounds a value from 0 to 255 to the nearest whole number, in the lowest byte; the second byte is
 * 0. On a GPU, whose conversions are slow, the sum has it there. */
SLI_DEVICE_FN uint32_t sli_warp_round(float value)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(value + SLI_WARP_ROUND);
#else
    return (uint32_t)(int32_t)(value + SLI_WARP_ROUND - SLI_WARP_ROUND);
#endif
}

/* Interpolates four bytes, all inside the image. */
SLI_DEVICE_FN uint32_t sli_warp_blend(sli_warp_weights weights, float upper_left, float upper_right,
                                      float lower_left, float lower_right)
{
    return sli_warp_round(weights.upper_left * upper_left + weights.upper_right * upper_right +
                          weights.lower_left * lower_left + weights.lower_right * lower_right);
}

/*
 * Interpolates at the edge of the image. sum, weight: of the samples inside. constant: the samples
 * outside are `fill`, as in OpenCV; else they are 0, and the sum is blended with the fill by the
 * same weight once more, as in torchvision.
 */
SLI_DEVICE_FN uint32_t sli_warp_blend_fill(float sum, float weight, float fill, bool constant)
{
    const float inner = constant ? weight : 1;
    const float outer = constant ? 1 : weight;

    return sli_warp_round((sum - fill * inner) * outer + fill);
}

#endif
