/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once for each level (SLI_LEVEL). */
#include "resample_kernels.h"

#include <string.h>

#include "cpu_int.h"

enum {
    MIDDLE_SHIFT = 8 + RESAMPLE_WEIGHT_BITS - (8 + RESAMPLE_MID_BITS),
    FINAL_SHIFT = RESAMPLE_MID_BITS + RESAMPLE_WEIGHT_BITS
};

#if defined(__AVX2__)
#include <immintrin.h>

/* A pair of weights in every 32-bit lane. */
static inline int32_t weight_pair(const int16_t *weights)
{
    int32_t pair;

    memcpy(&pair, weights, sizeof(pair));
    return pair;
}

/* Adds two rows of 32 bytes, weighted; sums are in the order that unpacking leaves. */
static inline void add_pair(__m256i sums[4], const uint8_t *row0, const uint8_t *row1,
                            __m256i weights)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)row0);
    __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)row1);
    __m256i low = _mm256_unpacklo_epi8(a, b);
    __m256i high = _mm256_unpackhi_epi8(a, b);

    sums[0] =
        _mm256_add_epi32(sums[0], _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), weights));
    sums[1] =
        _mm256_add_epi32(sums[1], _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), weights));
    sums[2] =
        _mm256_add_epi32(sums[2], _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), weights));
    sums[3] =
        _mm256_add_epi32(sums[3], _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), weights));
}

static void vertical(const uint8_t *const *rows, const int16_t *weights, uint32_t taps,
                     int16_t *out, size_t n)
{
    for (size_t i = 0; i < n; i += 32) {
        const __m256i half = _mm256_set1_epi32(1 << (MIDDLE_SHIFT - 1));
        __m256i sums[4] = {half, half, half, half};
        __m256i low;
        __m256i high;

        for (uint32_t k = 0; k < taps; k += 2) {
            add_pair(sums, rows[k] + i, rows[k + 1] + i,
                     _mm256_set1_epi32(weight_pair(weights + k)));
        }
        for (int j = 0; j < 4; j++) {
            sums[j] = _mm256_srai_epi32(sums[j], MIDDLE_SHIFT);
        }
        /* Packing undoes the unpacking within each half; then the halves go to their places. */
        low = _mm256_packs_epi32(sums[0], sums[1]);
        high = _mm256_packs_epi32(sums[2], sums[3]);
        _mm256_storeu_si256((__m256i *)(void *)(out + i),
                            _mm256_permute2x128_si256(low, high, 0x20));
        _mm256_storeu_si256((__m256i *)(void *)(out + i + 16),
                            _mm256_permute2x128_si256(low, high, 0x31));
    }
}

/* Bytes r0 g0 b0 r1 g1 b1 of two pixels to the pairs r0 r1 g0 g1 b0 b1; 16-bit values. */
#define PAIRS _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1)

static inline __m128i load_pixels(const int16_t *in)
{
    return _mm_loadu_si128((const __m128i *)(const void *)in);
}

/* Stores 3 bytes, by way of 4 where more of the line follows. */
static inline void store_pixel(uint8_t *to, uint32_t rgb, bool last)
{
    if (last) {
        memcpy(to, &rgb, 3);
    } else {
        memcpy(to, &rgb, 4);
    }
}

#if defined(__AVX512BW__)
/* One pixel of each of four lines: a line in each 128-bit lane. */
static inline __m128i four_lines(const int16_t *const *in, size_t at, const int16_t *weights,
                                 uint32_t taps)
{
    const __m512i pairs = _mm512_broadcast_i32x4(PAIRS);
    __m512i sums = _mm512_set1_epi32(1 << (FINAL_SHIFT - 1));

    for (uint32_t k = 0; k < taps; k += 2, at += 6) {
        __m512i pixels = _mm512_castsi128_si512(load_pixels(in[0] + at));

        pixels = _mm512_inserti32x4(pixels, load_pixels(in[1] + at), 1);
        pixels = _mm512_inserti32x4(pixels, load_pixels(in[2] + at), 2);
        pixels = _mm512_inserti32x4(pixels, load_pixels(in[3] + at), 3);
        sums =
            _mm512_add_epi32(sums, _mm512_madd_epi16(_mm512_shuffle_epi8(pixels, pairs),
                                                     _mm512_set1_epi32(weight_pair(weights + k))));
    }
    return _mm512_cvtusepi32_epi8(
        _mm512_max_epi32(_mm512_srai_epi32(sums, FINAL_SHIFT), _mm512_setzero_si512()));
}
#else
static inline __m128i four_lines(const int16_t *const *in, size_t at, const int16_t *weights,
                                 uint32_t taps)
{
    const __m256i pairs = _mm256_broadcastsi128_si256(PAIRS);
    __m256i sums01 = _mm256_set1_epi32(1 << (FINAL_SHIFT - 1));
    __m256i sums23 = sums01;
    __m256i packed;

    for (uint32_t k = 0; k < taps; k += 2, at += 6) {
        __m256i weight = _mm256_set1_epi32(weight_pair(weights + k));
        __m256i a = _mm256_inserti128_si256(_mm256_castsi128_si256(load_pixels(in[0] + at)),
                                            load_pixels(in[1] + at), 1);
        __m256i b = _mm256_inserti128_si256(_mm256_castsi128_si256(load_pixels(in[2] + at)),
                                            load_pixels(in[3] + at), 1);

        sums01 = _mm256_add_epi32(sums01, _mm256_madd_epi16(_mm256_shuffle_epi8(a, pairs), weight));
        sums23 = _mm256_add_epi32(sums23, _mm256_madd_epi16(_mm256_shuffle_epi8(b, pairs), weight));
    }
    /* Lanes hold lines 0 | 1 and 2 | 3; packing gives 0 2 | 1 3, and the middle is swapped back. */
    packed = _mm256_packs_epi32(_mm256_srai_epi32(sums01, FINAL_SHIFT),
                                _mm256_srai_epi32(sums23, FINAL_SHIFT));
    packed = _mm256_permute4x64_epi64(packed, 0xD8);
    return _mm_packus_epi16(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1));
}
#endif

static void horizontal_rgb(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                           uint8_t *const *out)
{
    for (uint32_t i = 0; i < axis->count; i++) {
        size_t at = (size_t)(axis->first[i] - origin) * 3;
        bool last = i + 1 == axis->count;
        uint32_t pixels[STRIP];
        __m128i packed = four_lines(in, at, axis->weights + (size_t)i * axis->taps, axis->taps);

        _mm_storeu_si128((__m128i *)(void *)pixels, packed);
        for (int line = 0; line < STRIP; line++) {
            store_pixel(out[line] + (size_t)i * 3, pixels[line], last);
        }
    }
}

#else

static void vertical(const uint8_t *const *rows, const int16_t *weights, uint32_t taps,
                     int16_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 1 << (MIDDLE_SHIFT - 1);

        for (uint32_t k = 0; k < taps; k++) {
            sum += rows[k][i] * weights[k];
        }
        out[i] = (int16_t)(sum >> MIDDLE_SHIFT);
    }
}

static void horizontal_rgb(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                           uint8_t *const *out)
{
    for (int line = 0; line < STRIP; line++) {
        resample_horizontal(axis, origin, in[line], out[line], 3);
    }
}

#endif

const resample_kernels SLI_AT_LEVEL(sli_resample_kernels) = {
    .vertical = vertical,
    .horizontal_rgb = horizontal_rgb,
};
