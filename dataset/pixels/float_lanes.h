/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors of floats for kernels in which the compiler does not vectorize the loop that matters:
 * sums over lines, whose accumulators must stay in registers. The vector extensions of gcc and
 * clang compile to the instructions of each level. Included by kernels only.
 */
#ifndef SLUICE_FLOAT_LANES_H
#define SLUICE_FLOAT_LANES_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

/* Lanes of a vector, and vectors that are summed side by side. */
#if defined(__AVX512F__)
enum { LANES = 16, LANES_PARTS = 4 };
#elif defined(__AVX2__)
enum { LANES = 8, LANES_PARTS = 8 };
#else
enum { LANES = 4, LANES_PARTS = 8 };
#endif

typedef float float_lanes __attribute__((vector_size(4 * LANES)));

/* Vectors are passed by address, since how they are passed by value depends on the level. */
static inline void lanes_set(float_lanes *lanes, float value)
{
    const float_lanes zero = {0};

    *lanes = value - zero;
}

static inline void lanes_load(float_lanes *lanes, const float *from)
{
    memcpy(lanes, from, sizeof(*lanes));
}

static inline void lanes_store(const float_lanes *lanes, float *to)
{
    memcpy(to, lanes, sizeof(*lanes));
}

#if defined(__AVX512F__)

static inline void lanes_load_bytes(float_lanes *lanes, const uint8_t *from)
{
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)from);

    *lanes = (float_lanes)_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

/* Stores whole numbers from 0 to 255. */
static inline void lanes_store_bytes(const float_lanes *lanes, uint8_t *to)
{
    _mm_storeu_si128((__m128i *)(void *)to,
                     _mm512_cvtepi32_epi8(_mm512_cvttps_epi32((__m512)*lanes)));
}

#elif defined(__AVX2__)

static inline void lanes_load_bytes(float_lanes *lanes, const uint8_t *from)
{
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)from);

    *lanes = (float_lanes)_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}

static inline void lanes_store_bytes(const float_lanes *lanes, uint8_t *to)
{
    const __m256i words = _mm256_cvttps_epi32((__m256)*lanes);
    const __m128i halves =
        _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));

    _mm_storel_epi64((__m128i *)(void *)to, _mm_packus_epi16(halves, halves));
}

#else

static inline void lanes_load_bytes(float_lanes *lanes, const uint8_t *from)
{
    for (int i = 0; i < LANES; i++) {
        (*lanes)[i] = from[i];
    }
}

static inline void lanes_store_bytes(const float_lanes *lanes, uint8_t *to)
{
    for (int i = 0; i < LANES; i++) {
        to[i] = (uint8_t)(int32_t)(*lanes)[i];
    }
}

#endif

#endif
