/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colour kernels of one instruction set level. This file is compiled once for each level
 * (SLI_LEVEL); the compiler vectorizes the loops over a block.
 *
 * Formulas of torchvision for uint8 tensors (transforms.v2.functional: adjust_saturation,
 * adjust_hue, rgb_to_grayscale), in the same order of operations.
 */
#include "color_kernels.h"

#include <string.h>

#include "cpu_int.h"

enum { BLOCK = 64, CHANNELS = 3 };

/* A block of pixels, one array for each channel. */
typedef struct color_block {
    float red[BLOCK];
    float green[BLOCK];
    float blue[BLOCK];
} color_block;

static inline void load_block(const uint8_t *from, color_block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        block->red[i] = from[CHANNELS * i];
        block->green[i] = from[CHANNELS * i + 1];
        block->blue[i] = from[CHANNELS * i + 2];
    }
}

/* Stores values from 0 to below 256, truncated. */
static inline void store_block(const color_block *block, uint8_t *to)
{
    for (int i = 0; i < BLOCK; i++) {
        to[CHANNELS * i] = (uint8_t)(int32_t)block->red[i];
        to[CHANNELS * i + 1] = (uint8_t)(int32_t)block->green[i];
        to[CHANNELS * i + 2] = (uint8_t)(int32_t)block->blue[i];
    }
}

/* Returns the luma with torchvision's weights, truncated to a whole number. White gives 254. */
static inline float luma(float red, float green, float blue)
{
    return (float)(int32_t)(red * 0.2989F + green * 0.587F + blue * 0.114F);
}

static inline float clamp(float value, float most)
{
    value = value > 0 ? value : 0;
    return value < most ? value : most;
}

static inline void saturate_block(color_block *block, float factor, float rest)
{
    for (int i = 0; i < BLOCK; i++) {
        const float gray = luma(block->red[i], block->green[i], block->blue[i]) * rest;

        block->red[i] = clamp(block->red[i] * factor + gray, 255);
        block->green[i] = clamp(block->green[i] * factor + gray, 255);
        block->blue[i] = clamp(block->blue[i] * factor + gray, 255);
    }
}

static inline void gray_block(color_block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        const float gray = luma(block->red[i], block->green[i], block->blue[i]);

        block->red[i] = gray;
        block->green[i] = gray;
        block->blue[i] = gray;
    }
}

/* Returns `one` or `other`, without a branch: gcc does not vectorize loops with nested branches.
 * Exact, since one of the products is 0. */
static inline float choose(int32_t condition, float one, float other)
{
    return (float)condition * one + (float)(1 - condition) * other;
}

/* Returns the hue of a pixel in turns, from 0 (red) to below 1. `top`: its largest channel. */
static inline float hue_of(float red, float green, float blue, float top, float divisor)
{
    const float rc = (top - red) / divisor;
    const float gc = (top - green) / divisor;
    const float bc = (top - blue) / divisor;
    const float at_red = bc - gc;
    const float at_green = rc + 2.0F - bc;
    const float at_blue = gc + 4.0F - rc;
    const float sixths = choose(top == red, at_red, choose(top == green, at_green, at_blue));
    const float hue = sixths * (float)(1.0 / 6.0) + 1.0F;

    return hue - (float)(hue >= 1.0F);
}

/* Shifts the hue in HSV (A. R. Smith, "Color gamut transform pairs", 1978). */
static inline void shift_block(color_block *block, float shift)
{
    for (int i = 0; i < BLOCK; i++) {
        const float red = block->red[i] * (float)(1.0 / 255.0);
        const float green = block->green[i] * (float)(1.0 / 255.0);
        const float blue = block->blue[i] * (float)(1.0 / 255.0);
        const float more = red > green ? red : green;
        const float less = red < green ? red : green;
        const float top = more > blue ? more : blue;
        const float range = top - (less < blue ? less : blue);
        const int32_t gray = range == 0;
        const float saturation = range / choose(gray, 1.0F, top);
        float hue = hue_of(red, green, blue, top, choose(gray, 1.0F, range)) + shift;
        int32_t sector;
        float part;
        float low;
        float falling;
        float rising;

        hue += (float)(hue < 0);
        hue -= (float)(hue >= 1.0F);
        hue *= 6.0F;
        sector = (int32_t)hue;
        part = saturation * (hue - (float)sector);
        sector *= sector != 6;
        low = clamp((1.0F - saturation) * top, 1);
        falling = clamp((1.0F - part) * top, 1);
        rising = clamp((part + (1.0F - saturation)) * top, 1);
        block->red[i] = choose((sector == 0) | (sector == 5), top,
                               choose(sector == 1, falling, choose(sector == 4, rising, low))) *
                        255.999F;
        block->green[i] = choose((sector == 1) | (sector == 2), top,
                                 choose(sector == 0, rising, choose(sector == 3, falling, low))) *
                          255.999F;
        block->blue[i] = choose((sector == 3) | (sector == 4), top,
                                choose(sector == 2, rising, choose(sector == 5, falling, low))) *
                         255.999F;
    }
}

/* Calls `work` for each block of a line. */
#define FOR_BLOCKS(work)                                                                           \
    for (uint32_t at = 0; at < pixels; at += BLOCK) {                                              \
        const size_t bytes = CHANNELS * (size_t)(pixels - at < BLOCK ? pixels - at : BLOCK);       \
        uint8_t tail[CHANNELS * BLOCK];                                                            \
        color_block block;                                                                         \
                                                                                                   \
        if (bytes < sizeof(tail)) {                                                                \
            memset(tail, 0, sizeof(tail));                                                         \
            memcpy(tail, from + CHANNELS * (size_t)at, bytes);                                     \
        }                                                                                          \
        load_block(bytes < sizeof(tail) ? tail : from + CHANNELS * (size_t)at, &block);            \
        work;                                                                                      \
        store_block(&block, bytes < sizeof(tail) ? tail : to + CHANNELS * (size_t)at);             \
        if (bytes < sizeof(tail)) {                                                                \
            memcpy(to + CHANNELS * (size_t)at, tail, bytes);                                       \
        }                                                                                          \
    }

static void saturate(const uint8_t *from, uint8_t *to, uint32_t pixels, float factor, float rest)
{
    FOR_BLOCKS(saturate_block(&block, factor, rest))
}

static void shift_hue(const uint8_t *from, uint8_t *to, uint32_t pixels, float shift)
{
    FOR_BLOCKS(shift_block(&block, shift))
}

static void gray(const uint8_t *from, uint8_t *to, uint32_t pixels)
{
    FOR_BLOCKS(gray_block(&block))
}

static uint64_t sum_gray(const uint8_t *from, uint32_t pixels)
{
    uint32_t sum = 0; /* a line of 65535 pixels sums to less than 2^24 */

    for (uint32_t i = 0; i < pixels; i++) {
        const uint8_t *pixel = from + CHANNELS * (size_t)i;

        sum += (uint32_t)(int32_t)(pixel[0] * 0.2989F + pixel[1] * 0.587F + pixel[2] * 0.114F);
    }
    return sum;
}

const color_kernels SLI_AT_LEVEL(sli_color_kernels) = {
    .saturate = saturate,
    .shift_hue = shift_hue,
    .gray = gray,
    .sum_gray = sum_gray,
};
