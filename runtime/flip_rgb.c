/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once per instruction-set level (SLI_LEVEL). */
#include "flip_rgb_int.h"

#include <stddef.h>
#include <string.h>

#include "cpu_int.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512BW__)

/* Flips 16 pixels at a time, four in each lane of 128 bits. Returns the number of flipped pixels.
 */
static inline uint32_t flip_rgb_wide(const uint8_t *in, uint8_t *out, uint32_t width)
{
    const __m512i spread = _mm512_setr_epi32(9, 10, 11, 12, 6, 7, 8, 9, 3, 4, 5, 6, 0, 1, 2, 3);
    const __m512i reverse =
        _mm512_broadcast_i32x4(_mm_setr_epi8(9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2, -1, -1, -1, -1));
    const __m512i gather = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 3, 7, 11, 15);
    uint32_t x = 0;

    for (; x + 16 <= width; x += 16) {
        const uint8_t *from = in + (size_t)(width - x - 16) * 3;
        const __m512i bytes = _mm512_inserti32x4(
            _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(const void *)from)),
            _mm_loadu_si128((const __m128i *)(const void *)(from + 32)), 2);
        const __m512i pixels =
            _mm512_shuffle_epi8(_mm512_permutexvar_epi32(spread, bytes), reverse);
        const __m512i packed = _mm512_permutexvar_epi32(gather, pixels);
        uint8_t *to = out + (size_t)x * 3;

        _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(packed));
        _mm_storeu_si128((__m128i *)(void *)(to + 32), _mm512_extracti32x4_epi32(packed, 2));
    }
    return x;
}

#endif

void SLI_AT_LEVEL(sli_flip_rgb)(const uint8_t *in, uint8_t *out, uint32_t width)
{
    uint32_t x = 0;

#if defined(__AVX512BW__)
    x = flip_rgb_wide(in, out, width);
#endif
#if defined(__AVX2__)
    /*
     * Flips five pixels (15 bytes) at a time and stores 16 bytes. The next store overwrites the
     * sixteenth byte, so the loop stops while at least one more pixel follows. A load starts one
     * byte early, so that it does not read past the line.
     */
    const __m128i reversed = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, 0);
    const uint8_t *from = in + (size_t)(width - x) * 3 - 16;
    uint8_t *to = out + (size_t)x * 3;

    for (; x + 11 <= width; x += 10, from -= 30, to += 30) {
        const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)from);
        const __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(from - 15));

        _mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(first, reversed));
        _mm_storeu_si128((__m128i *)(void *)(to + 15), _mm_shuffle_epi8(second, reversed));
    }
    if (x + 6 <= width) {
        const __m128i pixels = _mm_loadu_si128((const __m128i *)(const void *)from);

        _mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(pixels, reversed));
        x += 5;
    }
#endif
    for (; x < width; x++) {
        memcpy(out + (size_t)x * 3, in + (size_t)(width - 1 - x) * 3, 3);
    }
}
