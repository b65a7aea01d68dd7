/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block of pixels as floats, one array for each channel: loading and storing it at the level of
 * the file that includes it. Compilers make several shuffles of each vector from loops over every
 * third byte. Included by kernels only.
 */
#ifndef SLUICE_RGB_BLOCK_H
#define SLUICE_RGB_BLOCK_H

#include <stdint.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum { RGB_BLOCK = 32, RGB_CHANNELS = 3, RGB_BYTES = RGB_BLOCK * RGB_CHANNELS };

typedef struct rgb_block {
    float red[RGB_BLOCK];
    float green[RGB_BLOCK];
    float blue[RGB_BLOCK];
} rgb_block;

#if defined(__AVX2__)

/* For a shuffle: the byte at `first` and every third one after it, each extended to 32 bits. */
static inline __m128i rgb_every_third(int first)
{
    const int zeros = (int)0x80808000;

    return _mm_setr_epi32(zeros | first, zeros | (first + 3), zeros | (first + 6),
                          zeros | (first + 9));
}

/* For a shuffle: the lower three bytes of each 32 bits, side by side. */
static inline __m128i rgb_lower_three(void)
{
    return _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
}

#endif

#if defined(__AVX512BW__)

/* Each lane of 128 bits gets four pixels, from which the bytes of a channel are taken. */
static inline void rgb_load(const uint8_t *from, rgb_block *block)
{
    const __m512i spread = _mm512_setr_epi32(0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12);
    const __m512i red = _mm512_broadcast_i32x4(rgb_every_third(0));
    const __m512i green = _mm512_broadcast_i32x4(rgb_every_third(1));
    const __m512i blue = _mm512_broadcast_i32x4(rgb_every_third(2));

    for (int i = 0; i < RGB_BLOCK; i += 16) {
        const uint8_t *at = from + RGB_CHANNELS * i;
        const __m512i bytes = _mm512_inserti32x4(
            _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)at)),
            _mm_loadu_si128((const __m128i *)(const void *)(at + 32)), 2);
        const __m512i pixels = _mm512_permutexvar_epi32(spread, bytes);

        _mm512_storeu_ps(block->red + i, _mm512_cvtepi32_ps(_mm512_shuffle_epi8(pixels, red)));
        _mm512_storeu_ps(block->green + i, _mm512_cvtepi32_ps(_mm512_shuffle_epi8(pixels, green)));
        _mm512_storeu_ps(block->blue + i, _mm512_cvtepi32_ps(_mm512_shuffle_epi8(pixels, blue)));
    }
}

/* Stores values from 0 to below 256, truncated. */
static inline void rgb_store(const rgb_block *block, uint8_t *to)
{
    const __m512i gather = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    const __m512i close = _mm512_broadcast_i32x4(rgb_lower_three());

    for (int i = 0; i < RGB_BLOCK; i += 16) {
        const __m512i red = _mm512_cvttps_epi32(_mm512_loadu_ps(block->red + i));
        const __m512i green = _mm512_cvttps_epi32(_mm512_loadu_ps(block->green + i));
        const __m512i blue = _mm512_cvttps_epi32(_mm512_loadu_ps(block->blue + i));
        const __m512i pixels = _mm512_or_si512(
            red, _mm512_or_si512(_mm512_slli_epi32(green, 8), _mm512_slli_epi32(blue, 16)));

        const __m512i packed = _mm512_permutexvar_epi32(gather, _mm512_shuffle_epi8(pixels, close));
        uint8_t *at = to + RGB_CHANNELS * i;

        _mm256_storeu_si256((__m256i *)(void *)at, _mm512_castsi512_si256(packed));
        _mm_storeu_si128((__m128i *)(void *)(at + 32), _mm512_extracti32x4_epi32(packed, 2));
    }
}

#elif defined(__AVX2__)

/* The same with two lanes; the second one begins at byte 8, to read none after the pixels. */
static inline void rgb_load(const uint8_t *from, rgb_block *block)
{
    const __m256i red = _mm256_setr_m128i(rgb_every_third(0), rgb_every_third(4));
    const __m256i green = _mm256_setr_m128i(rgb_every_third(1), rgb_every_third(5));
    const __m256i blue = _mm256_setr_m128i(rgb_every_third(2), rgb_every_third(6));

    for (int i = 0; i < RGB_BLOCK; i += 8) {
        const uint8_t *at = from + RGB_CHANNELS * i;
        const __m256i pixels = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)at)),
            _mm_loadu_si128((const __m128i *)(const void *)(at + 8)), 1);

        _mm256_storeu_ps(block->red + i, _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, red)));
        _mm256_storeu_ps(block->green + i, _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, green)));
        _mm256_storeu_ps(block->blue + i, _mm256_cvtepi32_ps(_mm256_shuffle_epi8(pixels, blue)));
    }
}

static inline void rgb_store(const rgb_block *block, uint8_t *to)
{
    const __m256i gather = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    const __m256i close = _mm256_broadcastsi128_si256(rgb_lower_three());

    for (int i = 0; i < RGB_BLOCK; i += 8) {
        const __m256i red = _mm256_cvttps_epi32(_mm256_loadu_ps(block->red + i));
        const __m256i green = _mm256_cvttps_epi32(_mm256_loadu_ps(block->green + i));
        const __m256i blue = _mm256_cvttps_epi32(_mm256_loadu_ps(block->blue + i));
        const __m256i pixels = _mm256_or_si256(
            red, _mm256_or_si256(_mm256_slli_epi32(green, 8), _mm256_slli_epi32(blue, 16)));
        const __m256i packed =
            _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(pixels, close), gather);
        uint8_t *at = to + RGB_CHANNELS * i;

        _mm_storeu_si128((__m128i *)(void *)at, _mm256_castsi256_si128(packed));
        _mm_storel_epi64((__m128i *)(void *)(at + 16), _mm256_extracti128_si256(packed, 1));
    }
}

#else

static inline void rgb_load(const uint8_t *from, rgb_block *block)
{
    for (int i = 0; i < RGB_BLOCK; i++) {
        block->red[i] = from[RGB_CHANNELS * i];
        block->green[i] = from[RGB_CHANNELS * i + 1];
        block->blue[i] = from[RGB_CHANNELS * i + 2];
    }
}

static inline void rgb_store(const rgb_block *block, uint8_t *to)
{
    for (int i = 0; i < RGB_BLOCK; i++) {
        to[RGB_CHANNELS * i] = (uint8_t)(int32_t)block->red[i];
        to[RGB_CHANNELS * i + 1] = (uint8_t)(int32_t)block->green[i];
        to[RGB_CHANNELS * i + 2] = (uint8_t)(int32_t)block->blue[i];
    }
}

#endif

#endif
