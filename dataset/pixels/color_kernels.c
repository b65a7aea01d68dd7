/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colour kernels of one instruction set level. This file is compiled once for each level
 * (SLI_LEVEL); the compiler vectorizes the loops over a block. The formulas are in
 * color_pixel_int.h.
 */
#include "color_kernels.h"

#include <stdbool.h>
#include <string.h>

#include "color_pixel_int.h"
#include "cpu_int.h"
#include "rgb_block.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

enum { BLOCK = RGB_BLOCK, CHANNELS = RGB_CHANNELS };

static inline sli_rgb pixel_of(const rgb_block *block, int i)
{
    return (sli_rgb){block->red[i], block->green[i], block->blue[i]};
}

static inline void set_pixel(rgb_block *block, int i, sli_rgb pixel)
{
    block->red[i] = pixel.red;
    block->green[i] = pixel.green;
    block->blue[i] = pixel.blue;
}

static inline void saturate_block(rgb_block *block, float factor, float rest)
{
    for (int i = 0; i < BLOCK; i++) {
        set_pixel(block, i, sli_saturate(pixel_of(block, i), factor, rest));
    }
}

static inline void gray_block(rgb_block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        const float gray = sli_luma(pixel_of(block, i));

        set_pixel(block, i, (sli_rgb){gray, gray, gray});
    }
}

static inline void shift_block(rgb_block *block, float shift)
{
    for (int i = 0; i < BLOCK; i++) {
        set_pixel(block, i, sli_shift_hue(pixel_of(block, i), shift));
    }
}

static inline void twist_block(rgb_block *block, const float *matrix)
{
    for (int i = 0; i < BLOCK; i++) {
        const sli_rgb in = pixel_of(block, i);
        const sli_rgb out = {sli_twist(in, matrix), sli_twist(in, matrix + 4),
                             sli_twist(in, matrix + 8)};

        set_pixel(block, i, out);
    }
}

static inline void change_block(rgb_block *block, sli_hsv by)
{
    for (int i = 0; i < BLOCK; i++) {
        set_pixel(block, i, sli_change_hsv(pixel_of(block, i), by));
    }
}

/* Calls `work` for each block of a line. */
#define FOR_BLOCKS(work)                                                                           \
    for (uint32_t at = 0; at < pixels; at += BLOCK) {                                              \
        const size_t bytes = CHANNELS * (size_t)(pixels - at < BLOCK ? pixels - at : BLOCK);       \
        uint8_t tail[CHANNELS * BLOCK];                                                            \
        rgb_block block;                                                                           \
                                                                                                   \
        if (bytes < sizeof(tail)) {                                                                \
            memset(tail, 0, sizeof(tail));                                                         \
            memcpy(tail, from + CHANNELS * (size_t)at, bytes);                                     \
        }                                                                                          \
        rgb_load(bytes < sizeof(tail) ? tail : from + CHANNELS * (size_t)at, &block);              \
        work;                                                                                      \
        rgb_store(&block, bytes < sizeof(tail) ? tail : to + CHANNELS * (size_t)at);               \
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

static void change_hsv(const uint8_t *from, uint8_t *to, uint32_t pixels, uint32_t channels,
                       sli_hsv by)
{
    if (channels != CHANNELS) {
        for (size_t i = 0; i < (size_t)pixels * channels; i++) {
            to[i] = (uint8_t)sli_color_clamp((float)from[i] * by.value + 0.5F, 255);
        }
        return;
    }
    FOR_BLOCKS(change_block(&block, by))
}

static void gray(const uint8_t *from, uint8_t *to, uint32_t pixels)
{
    FOR_BLOCKS(gray_block(&block))
}

/* The sum of the lumas of a block. */
static inline uint32_t sum_block(const rgb_block *block)
{
    uint32_t sum = 0;

    for (int i = 0; i < BLOCK; i++) {
        sum += (uint32_t)(int32_t)sli_luma(pixel_of(block, i));
    }
    return sum;
}

static uint64_t sum_gray(const uint8_t *from, uint32_t pixels)
{
    uint32_t sum = 0; /* a line of 65535 pixels sums to less than 2^24 */
    uint32_t at = 0;

    for (; at + BLOCK <= pixels; at += BLOCK) {
        rgb_block block;

        rgb_load(from + CHANNELS * (size_t)at, &block);
        sum += sum_block(&block);
    }
    for (; at < pixels; at++) {
        const uint8_t *pixel = from + CHANNELS * (size_t)at;

        sum += (uint32_t)(int32_t)sli_luma((sli_rgb){pixel[0], pixel[1], pixel[2]});
    }
    return sum;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void look_up_scalar(const uint8_t *table, const uint8_t *from, uint8_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = table[from[i]];
    }
}

static void look_up_rgb_scalar(const uint8_t *tables, const uint8_t *from, uint8_t *to,
                               uint32_t pixels)
{
    for (size_t i = 0; i < (size_t)pixels * CHANNELS; i += CHANNELS) {
        to[i] = tables[from[i]];
        to[i + 1] = tables[256 + from[i + 1]];
        to[i + 2] = tables[512 + from[i + 2]];
    }
}

#if defined(__AVX512BW__)

/* Level v4 does not include VBMI, which looks up 64 values in a table of 128 at once; processors
 * that have it are newer. */
#define VBMI __attribute__((target("avx512vbmi")))

static bool has_vbmi(void)
{
    return __builtin_cpu_supports("avx512vbmi") != 0;
}

/* A table of 256 values. */
typedef struct wide_table {
    __m512i quarters[4];
} wide_table;

VBMI static inline void load_table(const uint8_t *table, wide_table *to)
{
    for (int i = 0; i < 4; i++) {
        to->quarters[i] = _mm512_loadu_si512(table + 64 * i);
    }
}

VBMI static inline __m512i find(const wide_table *table, __m512i values)
{
    const __m512i low = _mm512_permutex2var_epi8(table->quarters[0], values, table->quarters[1]);
    const __m512i high = _mm512_permutex2var_epi8(table->quarters[2], values, table->quarters[3]);

    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(values), low, high);
}

VBMI static void look_up_wide(const uint8_t *table, const uint8_t *from, uint8_t *to, size_t count)
{
    wide_table wide;
    size_t i = 0;

    load_table(table, &wide);
    for (; i + 64 <= count; i += 64) {
        _mm512_storeu_si512(to + i, find(&wide, _mm512_loadu_si512(from + i)));
    }
    look_up_scalar(table, from + i, to + i, count - i);
}

VBMI static void look_up_rgb_wide(const uint8_t *tables, const uint8_t *from, uint8_t *to,
                                  uint32_t pixels)
{
    /* Bits of the green and the blue values of three vectors. */
    static const uint64_t green[3] = {UINT64_C(0x2492492492492492), UINT64_C(0x9249249249249249),
                                      UINT64_C(0x4924924924924924)};
    static const uint64_t blue[3] = {UINT64_C(0x4924924924924924), UINT64_C(0x2492492492492492),
                                     UINT64_C(0x9249249249249249)};
    wide_table wide[CHANNELS];
    uint32_t at = 0;

    for (int c = 0; c < CHANNELS; c++) {
        load_table(tables + (size_t)256 * c, &wide[c]);
    }
    for (; at + 64 <= pixels; at += 64) {
        for (int k = 0; k < CHANNELS; k++) {
            const size_t place = CHANNELS * (size_t)at + 64 * (size_t)k;
            const __m512i values = _mm512_loadu_si512(from + place);
            __m512i found = find(&wide[0], values);

            found = _mm512_mask_mov_epi8(found, green[k], find(&wide[1], values));
            found = _mm512_mask_mov_epi8(found, blue[k], find(&wide[2], values));
            _mm512_storeu_si512(to + place, found);
        }
    }
    look_up_rgb_scalar(tables, from + CHANNELS * (size_t)at, to + CHANNELS * (size_t)at,
                       pixels - at);
}

#endif

static void look_up(const uint8_t *table, const uint8_t *from, uint8_t *to, size_t count)
{
#if defined(__AVX512BW__)
    if (has_vbmi()) {
        look_up_wide(table, from, to, count);
        return;
    }
#endif
    look_up_scalar(table, from, to, count);
}

static void look_up_rgb(const uint8_t *tables, const uint8_t *from, uint8_t *to, uint32_t pixels)
{
#if defined(__AVX512BW__)
    if (has_vbmi()) {
        look_up_rgb_wide(tables, from, to, pixels);
        return;
    }
#endif
    look_up_rgb_scalar(tables, from, to, pixels);
}

const color_kernels SLI_AT_LEVEL(sli_color_kernels) = {
    .look_up = look_up,
    .look_up_rgb = look_up_rgb,
    .saturate = saturate,
    .shift_hue = shift_hue,
    .twist = twist,
    .change_hsv = change_hsv,
    .gray = gray,
    .sum_gray = sum_gray,
};
