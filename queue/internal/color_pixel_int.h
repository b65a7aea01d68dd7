/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colour formulas of one pixel, for the vectorised kernels of workers and for GetNext on a device:
 * IEEE single precision without contraction, so that all give the same bits. Values are bytes as
 * floats. Formulas of torchvision for uint8 tensors (transforms.v2.functional: adjust_brightness,
 * adjust_saturation, adjust_hue, rgb_to_grayscale), in the same order of operations, and of darknet
 * (src/image.c: distort_image).
 */
#ifndef SLUICE_COLOR_PIXEL_INT_H
#define SLUICE_COLOR_PIXEL_INT_H

#include <stdint.h>

#include "device_fn_int.h"
#include "float16_int.h"

typedef struct sli_rgb {
    float red;
    float green;
    float blue;
} sli_rgb;

/* Returns the luma with torchvision's weights, truncated to a whole number. White gives 254. */
SLI_DEVICE_FN float sli_luma(sli_rgb in)
{
    return (float)(int32_t)(in.red * 0.2989F + in.green * 0.587F + in.blue * 0.114F);
}

/* Clamps a value to [0, most]. */
SLI_DEVICE_FN float sli_color_clamp(float value, float most)
{
    value = value > 0 ? value : 0;
    return value < most ? value : most;
}

/* The larger and the smaller of two numbers, neither a NaN. */
SLI_DEVICE_FN float sli_color_larger(float a, float b)
{
#if defined(__CUDA_ARCH__)
    return fmaxf(a, b);
#else
    return a > b ? a : b;
#endif
}

SLI_DEVICE_FN float sli_color_smaller(float a, float b)
{
#if defined(__CUDA_ARCH__)
    return fminf(a, b);
#else
    return a < b ? a : b;
#endif
}

/* Truncates a value to a whole number from 0 to 255. */
SLI_DEVICE_FN uint8_t sli_color_byte(float value)
{
    return (uint8_t)(value <= 0 ? 0 : value >= 255 ? 255 : (int32_t)value);
}

/* Blends a pixel with its luma; rest is 1 - factor. The result is from 0 to 255. */
SLI_DEVICE_FN sli_rgb sli_saturate(sli_rgb in, float factor, float rest)
{
    const float gray = sli_luma(in) * rest;
    sli_rgb out;

    out.red = sli_color_clamp(in.red * factor + gray, 255);
    out.green = sli_color_clamp(in.green * factor + gray, 255);
    out.blue = sli_color_clamp(in.blue * factor + gray, 255);
    return out;
}

/* Row `row` of a matrix (3, 4) applied to a pixel, rounded to nearest, from 0 to 255. */
SLI_DEVICE_FN float sli_twist(sli_rgb in, const float row[4])
{
    const float value = in.red * row[0] + in.green * row[1] + in.blue * row[2] + row[3];

    return sli_color_clamp(value + 0.5F, 255);
}

/* Returns `one` if `condition` is 1, `other` if it is 0. On a CPU by their bits: gcc does not
 * vectorize loops with nested branches. */
SLI_DEVICE_FN float sli_color_choose(int32_t condition, float one, float other)
{
#if defined(__CUDA_ARCH__)
    return condition != 0 ? one : other;
#else
    const uint32_t mask = 0 - (uint32_t)condition;

    return sli_f32_of_bits((sli_f32_bits(one) & mask) | (sli_f32_bits(other) & ~mask));
#endif
}

/* True if a number is one of two. */
SLI_DEVICE_FN int32_t sli_color_is_one_of(int32_t number, int32_t one, int32_t other)
{
    return (number == one) | (number == other);
}

/*
 * Returns the hue of a pixel in turns, from 0 (red) to below 1. `top`: its largest channel. The
 * channels are chosen before the divisions, of which two then suffice.
 */
SLI_DEVICE_FN float sli_hue_of(sli_rgb in, float top, float divisor)
{
    const int32_t is_red = top == in.red;
    const int32_t is_green = top == in.green;
    const float one =
        sli_color_choose(is_red, in.blue, sli_color_choose(is_green, in.red, in.green));
    const float other =
        sli_color_choose(is_red, in.green, sli_color_choose(is_green, in.blue, in.red));
    const float start = sli_color_choose(is_red, 0.0F, sli_color_choose(is_green, 2.0F, 4.0F));
    const float sixths = (top - one) / divisor + start - (top - other) / divisor;
    const float hue = sixths * (float)(1.0 / 6.0) + 1.0F;

    return hue - (float)(hue >= 1.0F);
}

/*
 * Adds `shift` turns, -0.5 to 0.5, to the hue in HSV (A. R. Smith, "Color gamut transform pairs",
 * 1978). The result is from 0 to below 256.
 */
SLI_DEVICE_FN sli_rgb sli_shift_hue(sli_rgb in, float shift)
{
    const sli_rgb part_of_1 = {in.red * (float)(1.0 / 255.0), in.green * (float)(1.0 / 255.0),
                               in.blue * (float)(1.0 / 255.0)};
    const float more = sli_color_larger(part_of_1.red, part_of_1.green);
    const float less = sli_color_smaller(part_of_1.red, part_of_1.green);
    const float top = sli_color_larger(more, part_of_1.blue);
    const float range = top - sli_color_smaller(less, part_of_1.blue);
    const int32_t gray = range == 0;
    const float saturation = range / sli_color_choose(gray, 1.0F, top);
    float hue = sli_hue_of(part_of_1, top, sli_color_choose(gray, 1.0F, range)) + shift;
    int32_t sector;
    float part;
    float high;
    float low;
    float middle;
    sli_rgb out;

    hue += (float)(hue < 0);
    hue -= (float)(hue >= 1.0F);
    hue *= 6.0F;
    sector = (int32_t)hue;
    part = saturation * (hue - (float)sector);
    sector *= sector != 6;
    high = top * 255.999F;
    low = sli_color_clamp((1.0F - saturation) * top, 1) * 255.999F;
    /* falls in the sectors 1, 3 and 5, rises in the others */
    middle = sli_color_clamp(
                 sli_color_choose(sector & 1, 1.0F - part, part + (1.0F - saturation)) * top, 1) *
             255.999F;
    out.red = sli_color_choose(sli_color_is_one_of(sector, 0, 5), high,
                               sli_color_choose(sli_color_is_one_of(sector, 1, 4), middle, low));
    out.green = sli_color_choose(sli_color_is_one_of(sector, 1, 2), high,
                                 sli_color_choose(sli_color_is_one_of(sector, 0, 3), middle, low));
    out.blue = sli_color_choose(sli_color_is_one_of(sector, 3, 4), high,
                                sli_color_choose(sli_color_is_one_of(sector, 2, 5), middle, low));
    return out;
}

/* Changes in HSV: turns that are added to the hue, -0.5 to 0.5, and factors of saturation and
 * value.
 */
typedef struct sli_hsv {
    float hue;
    float saturation;
    float value;
} sli_hsv;

/* A channel of a colour in HSV, rounded to nearest, from 0 to 255. sixths: the hue in sixths of a
 * turn, from 5 (red), 3 (green) or 1 (blue) on; chroma: saturation times value */
SLI_DEVICE_FN float sli_hsv_channel(float sixths, float value, float chroma)
{
    const float at = sixths - 6.0F * (float)(sixths >= 6.0F);
    const float fall = sli_color_clamp(sli_color_smaller(at, 4.0F - at), 1);

    return sli_color_clamp(value - chroma * fall + 0.5F, 255);
}

/* Changes hue, saturation and value at once, without a limit between them, as darknet does. */
SLI_DEVICE_FN sli_rgb sli_change_hsv(sli_rgb in, sli_hsv by)
{
    const float top = sli_color_larger(sli_color_larger(in.red, in.green), in.blue);
    const float range = top - sli_color_smaller(sli_color_smaller(in.red, in.green), in.blue);
    const float value = top * by.value;
    const float chroma = range * by.saturation * by.value;
    float hue = sli_hue_of(in, top, sli_color_choose(range == 0, 1.0F, range)) + by.hue;
    sli_rgb out;

    hue += (float)(hue < 0);
    hue -= (float)(hue >= 1.0F);
    hue *= 6.0F;
    out.red = sli_hsv_channel(hue + 5.0F, value, chroma);
    out.green = sli_hsv_channel(hue + 3.0F, value, chroma);
    out.blue = sli_hsv_channel(hue + 1.0F, value, chroma);
    return out;
}

#endif
