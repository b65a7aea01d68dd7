/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Colour formulas of one pixel, for the vectorised kernels of workers and for GetNext on a device:
 * IEEE single precision without contraction, so that all give the same bits. Values are bytes as
 * floats. Formulas of torchvision for uint8 tensors (transforms.v2.functional: adjust_brightness,
 * adjust_saturation, adjust_hue, rgb_to_grayscale), in the same order of operations.
 */
#ifndef SLUICE_COLOR_PIXEL_INT_H
#define SLUICE_COLOR_PIXEL_INT_H

#include <stdint.h>

#include "device_fn_int.h"

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

/* Returns `one` or `other`, without a branch: gcc does not vectorize loops with nested branches.
 * Exact, since one of the products is 0. */
SLI_DEVICE_FN float sli_color_choose(int32_t condition, float one, float other)
{
    return (float)condition * one + (float)(1 - condition) * other;
}

/* Returns the hue of a pixel in turns, from 0 (red) to below 1. `top`: its largest channel. */
SLI_DEVICE_FN float sli_hue_of(sli_rgb in, float top, float divisor)
{
    const float rc = (top - in.red) / divisor;
    const float gc = (top - in.green) / divisor;
    const float bc = (top - in.blue) / divisor;
    const float at_red = bc - gc;
    const float at_green = rc + 2.0F - bc;
    const float at_blue = gc + 4.0F - rc;
    const float sixths = sli_color_choose(top == in.red, at_red,
                                          sli_color_choose(top == in.green, at_green, at_blue));
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
    const float more = part_of_1.red > part_of_1.green ? part_of_1.red : part_of_1.green;
    const float less = part_of_1.red < part_of_1.green ? part_of_1.red : part_of_1.green;
    const float top = more > part_of_1.blue ? more : part_of_1.blue;
    const float range = top - (less < part_of_1.blue ? less : part_of_1.blue);
    const int32_t gray = range == 0;
    const float saturation = range / sli_color_choose(gray, 1.0F, top);
    float hue = sli_hue_of(part_of_1, top, sli_color_choose(gray, 1.0F, range)) + shift;
    int32_t sector;
    float part;
    float low;
    float falling;
    float rising;
    sli_rgb out;

    hue += (float)(hue < 0);
    hue -= (float)(hue >= 1.0F);
    hue *= 6.0F;
    sector = (int32_t)hue;
    part = saturation * (hue - (float)sector);
    sector *= sector != 6;
    low = sli_color_clamp((1.0F - saturation) * top, 1);
    falling = sli_color_clamp((1.0F - part) * top, 1);
    rising = sli_color_clamp((part + (1.0F - saturation)) * top, 1);
    out.red = sli_color_choose((sector == 0) | (sector == 5), top,
                               sli_color_choose(sector == 1, falling,
                                                sli_color_choose(sector == 4, rising, low))) *
              255.999F;
    out.green = sli_color_choose((sector == 1) | (sector == 2), top,
                                 sli_color_choose(sector == 0, rising,
                                                  sli_color_choose(sector == 3, falling, low))) *
                255.999F;
    out.blue = sli_color_choose((sector == 3) | (sector == 4), top,
                                sli_color_choose(sector == 2, rising,
                                                 sli_color_choose(sector == 5, falling, low))) *
               255.999F;
    return out;
}

#endif
