/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colour kernels of one instruction set level. This file is compiled once for each level
 * (SLI_LEVEL); the compiler vectorizes the loops over a block. The formulas are in
 * color_pixel_int.h.
 */
#include "color_kernels.h"

#include <string.h>

#include "color_pixel_int.h"
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

static inline sli_rgb pixel_of(const color_block *block, int i)
{
    return (sli_rgb){block->red[i], block->green[i], block->blue[i]};
}

static inline void set_pixel(color_block *block, int i, sli_rgb pixel)
{
    block->red[i] = pixel.red;
    block->green[i] = pixel.green;
    block->blue[i] = pixel.blue;
}

static inline void saturate_block(color_block *block, float factor, float rest)
{
    for (int i = 0; i < BLOCK; i++) {
        set_pixel(block, i, sli_saturate(pixel_of(block, i), factor, rest));
    }
}

static inline void gray_block(color_block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        const float gray = sli_luma(pixel_of(block, i));

        set_pixel(block, i, (sli_rgb){gray, gray, gray});
    }
}

static inline void shift_block(color_block *block, float shift)
{
    for (int i = 0; i < BLOCK; i++) {
        set_pixel(block, i, sli_shift_hue(pixel_of(block, i), shift));
    }
}

static inline void twist_block(color_block *block, const float *matrix)
{
    for (int i = 0; i < BLOCK; i++) {
        const sli_rgb in = pixel_of(block, i);
        const sli_rgb out = {sli_twist(in, matrix), sli_twist(in, matrix + 4),
                             sli_twist(in, matrix + 8)};

        set_pixel(block, i, out);
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

static void twist(const uint8_t *from, uint8_t *to, uint32_t pixels, const float *matrix)
{
    FOR_BLOCKS(twist_block(&block, matrix))
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
    .twist = twist,
    .gray = gray,
    .sum_gray = sum_gray,
};
