/* SPDX-License-Identifier: Apache-2.0 */
/* The resize passes in AVX2 and AVX-512; included by resample_kernels.c only. */
#ifndef SLUICE_RESAMPLE_X86_H
#define SLUICE_RESAMPLE_X86_H

#include <immintrin.h>

/*
 * Forces a specialised copy of the function per call, in which the number of taps and the kind of
 * output are constants. Without it gcc generates one shared function, which takes 1.2 times as
 * long.
 */
#define INLINED static inline __attribute__((always_inline))

/* ---- the vertical pass ----------------------------------------------------------------------- */

/* Returns two 16-bit weights as one 32-bit value, to be broadcast to all lanes. */
static inline int32_t weight_pair(const int16_t *weights)
{
    int32_t pair;

    memcpy(&pair, weights, sizeof(pair));
    return pair;
}

/* The vector type of the vertical pass: BLOCK bytes. */
#if defined(__AVX512BW__)
typedef __m512i vec;
#define VEC(op) _mm512_##op

static inline vec load_samples(const uint8_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline vec signed_samples(vec samples)
{
    return _mm512_xor_si512(samples, _mm512_set1_epi8(-128));
}

/*
 * Stores two vectors of 16-bit values in sample order. Unpacking leaves alternate groups of eight
 * in `low` and `high`.
 */
static inline void store_samples(int16_t *to, vec low, vec high)
{
    const vec first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const vec second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);

    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(to + 32, _mm512_permutex2var_epi64(low, second, high));
}
#else
typedef __m256i vec;
#define VEC(op) _mm256_##op

static inline vec load_samples(const uint8_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline vec signed_samples(vec samples)
{
    return _mm256_xor_si256(samples, _mm256_set1_epi8(-128));
}

/*
 * Stores two vectors of 16-bit values in sample order. Unpacking leaves alternate groups of eight
 * in `low` and `high`.
 */
static inline void store_samples(int16_t *to, vec low, vec high)
{
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256((__m256i *)(void *)(to + 16), _mm256_permute2x128_si256(low, high, 0x31));
}
#endif

/* Adds two weighted rows of BLOCK bytes to the sums, whose order is that of unpacking. */
static inline void add_pair(vec sums[4], vec a, vec b, vec weights)
{
    const vec zero = VEC(set1_epi8)(0);
    const vec low = VEC(unpacklo_epi8)(a, b);
    const vec high = VEC(unpackhi_epi8)(a, b);
    const vec parts[4] = {VEC(unpacklo_epi8)(low, zero), VEC(unpackhi_epi8)(low, zero),
                          VEC(unpacklo_epi8)(high, zero), VEC(unpackhi_epi8)(high, zero)};

    for (int j = 0; j < 4; j++) {
        sums[j] = VEC(add_epi32)(sums[j], VEC(madd_epi16)(parts[j], weights));
    }
}

/* Vertical pass for any weights and any number of taps. */
static void vertical_any(const uint8_t *const *rows, const int16_t *weights, uint32_t taps,
                         int16_t *out, size_t n)
{
    for (size_t i = 0; i < n; i += BLOCK) {
        const vec half = VEC(set1_epi32)(1 << (MIDDLE_SHIFT - 1));
        vec sums[4] = {half, half, half, half};

        for (uint32_t k = 0; k < taps; k += 2) {
            add_pair(sums, load_samples(rows[k] + i), load_samples(rows[k + 1] + i),
                     VEC(set1_epi32)(weight_pair(weights + k)));
        }
        for (int j = 0; j < 4; j++) {
            sums[j] = VEC(srai_epi32)(sums[j], MIDDLE_SHIFT);
        }
        store_samples(out + i, VEC(packs_epi32)(sums[0], sums[1]),
                      VEC(packs_epi32)(sums[2], sums[3]));
    }
}

/* Returns a pair of one-byte weights, broadcast to every 16-bit lane. */
static inline vec byte_pair(uint32_t a, uint32_t b)
{
    return VEC(set1_epi32)((int32_t)((a | b << 8) * 0x10001U));
}

/*
 * Vertical pass for two or four taps in 16-bit sums; no tap may have the whole weight. With q =
 * sample - 128, and each weight split into the bytes 64 * high + low, the result is
 *
 *     (sum of samples * weights + 64) >> 7  =  ((H + ((L + 64) >> 6)) >> 1) + 2^14,
 *     H = sum of q * high,  L = sum of q * low,
 *
 * since weights sum to 2^14. No sum overflows 16 bits: the high bytes sum to at most 256, the low
 * bytes to at most 252, and H + ((L + 64) >> 6) is twice the result less 2^15.
 */
INLINED void vertical_few(const uint8_t *const *rows, const int16_t *weights, uint32_t taps,
                          int16_t *out, size_t n)
{
    const uint8_t *from[4];
    vec highs[2];
    vec lows[2];

    for (uint32_t k = 0; k < taps; k += 2) {
        from[k] = rows[k];
        from[k + 1] = rows[k + 1];
        highs[k / 2] = byte_pair((uint32_t)weights[k] >> 6, (uint32_t)weights[k + 1] >> 6);
        lows[k / 2] = byte_pair((uint32_t)weights[k] & 63, (uint32_t)weights[k + 1] & 63);
    }
    for (size_t i = 0; i < n; i += BLOCK) {
        vec high[2] = {VEC(set1_epi16)(0), VEC(set1_epi16)(0)};
        vec low[2] = {VEC(set1_epi16)(64), VEC(set1_epi16)(64)};

        for (uint32_t k = 0; k < taps; k += 2) {
            const vec a = signed_samples(load_samples(from[k] + i));
            const vec b = signed_samples(load_samples(from[k + 1] + i));
            const vec parts[2] = {VEC(unpacklo_epi8)(a, b), VEC(unpackhi_epi8)(a, b)};

            for (int j = 0; j < 2; j++) {
                high[j] = VEC(add_epi16)(high[j], VEC(maddubs_epi16)(highs[k / 2], parts[j]));
                low[j] = VEC(add_epi16)(low[j], VEC(maddubs_epi16)(lows[k / 2], parts[j]));
            }
        }
        for (int j = 0; j < 2; j++) {
            high[j] = VEC(add_epi16)(high[j], VEC(srai_epi16)(low[j], 6));
            high[j] = VEC(add_epi16)(VEC(srai_epi16)(high[j], 1), VEC(set1_epi16)(ALL_WEIGHT));
        }
        store_samples(out + i, high[0], high[1]);
    }
}

static void vertical(const uint8_t *const *rows, const int16_t *weights, uint32_t taps,
                     int16_t *out, size_t n)
{
    bool bytes = taps <= 4; /* false after the loop if a weight needs more than two bytes */

    for (uint32_t k = 0; k < taps && bytes; k++) {
        bytes = weights[k] != ALL_WEIGHT;
    }
    if (bytes && taps == 2) {
        vertical_few(rows, weights, 2, out, n);
    } else if (bytes) {
        vertical_few(rows, weights, 4, out, n);
    } else {
        vertical_any(rows, weights, taps, out, n);
    }
}

static void vertical_wide(const int16_t *const *rows, const int16_t *weights, uint32_t taps,
                          uint8_t *out, size_t n)
{
    size_t i = 0;

    for (; i + 16 <= n; i += 16) {
        __m256i low = _mm256_set1_epi32(1 << (FINAL_SHIFT - 1));
        __m256i high = low;

        for (uint32_t k = 0; k < taps; k += 2) {
            const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(rows[k] + i));
            const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(rows[k + 1] + i));
            const __m256i pair = _mm256_set1_epi32(weight_pair(weights + k));

            low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), pair));
            high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), pair));
        }
        low = _mm256_packs_epi32(_mm256_srai_epi32(low, FINAL_SHIFT),
                                 _mm256_srai_epi32(high, FINAL_SHIFT));
        low = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, low), 0x08);
        _mm_storeu_si128((__m128i *)(void *)(out + i), _mm256_castsi256_si128(low));
    }
    vertical_wide_from(i, rows, weights, taps, out, n);
}

/*
 * ---- the horizontal pass ----------------------------------------------------------------------
 *
 * Computes four outputs of four lines at a time. A pixel is four 16- or 32-bit lanes, the last
 * unused.
 */

enum { GROUP = 4 };

static inline __m128i load_pixels(const int16_t *in)
{
    return _mm_loadu_si128((const __m128i *)(const void *)in);
}

/* Shuffle mask: packs four 4-byte pixels r g b _ into 12 bytes r g b. */
#define DENSE _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1)

/*
 * Stores 12 bytes. Unless `exact` is set, it overwrites four more, which a later store of the same
 * line replaces.
 */
static inline void store_group(uint8_t *to, __m128i bytes, bool exact)
{
    if (exact) {
        const int32_t end = _mm_extract_epi32(bytes, 2);

        _mm_storel_epi64((__m128i *)(void *)to, bytes);
        memcpy(to + 8, &end, sizeof(end));
    } else {
        _mm_storeu_si128((__m128i *)(void *)to, bytes);
    }
}

/*
 * Stores four 16-bit pixels r g b _, two in each half, as 12 values, and overwrites up to four
 * values after them.
 */
static inline void store_wide(int16_t *to, __m256i pixels)
{
    const __m256i dense = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, -1, -1, -1, -1));
    const __m256i most = _mm256_set1_epi16(MIDDLE_MOST);

    pixels = _mm256_min_epi16(_mm256_max_epi16(pixels, _mm256_setzero_si256()), most);
    pixels = _mm256_shuffle_epi8(pixels, dense);
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(pixels));
    _mm_storeu_si128((__m128i *)(void *)(to + 6), _mm256_extracti128_si256(pixels, 1));
}

/* Returns two 32-bit values, one broadcast to each half. */
static inline __m256i in_halves(int32_t low, int32_t high)
{
    return _mm256_blend_epi32(_mm256_set1_epi32(low), _mm256_set1_epi32(high), 0xF0);
}

/*
 * Loads two neighbouring pixels for each of two outputs, as pairs r0 r1 g0 g1 b0 b1 - -, one output
 * in each half.
 */
static inline __m256i load_two(const int16_t *low, const int16_t *high)
{
    const __m256i pairs = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, -1, -1, -1, -1));

    return _mm256_shuffle_epi8(
        _mm256_inserti128_si256(_mm256_castsi128_si256(load_pixels(low)), load_pixels(high), 1),
        pairs);
}

/*
 * Rounds the sums of two lines to bytes, one line in each half. Element [0] of `a` and `b` holds
 * outputs 0 and 1, element [1] outputs 2 and 3.
 */
static inline __m256i finish_two(const __m256i a[2], const __m256i b[2])
{
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i words_a = _mm256_packs_epi32(_mm256_srai_epi32(a[0], FINAL_SHIFT),
                                               _mm256_srai_epi32(a[1], FINAL_SHIFT));
    const __m256i words_b = _mm256_packs_epi32(_mm256_srai_epi32(b[0], FINAL_SHIFT),
                                               _mm256_srai_epi32(b[1], FINAL_SHIFT));

    /* After packing, one half holds outputs 0 and 2, the other outputs 1 and 3, of line a and then
     * of line b. */
    return _mm256_shuffle_epi8(
        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words_a, words_b), order),
        _mm256_broadcastsi128_si256(DENSE));
}

/* The destination of a line's outputs: bytes, or 16-bit values. */
typedef union line_out {
    uint8_t *bytes;
    int16_t *wide;
} line_out;

/*
 * Stores the sums of a line as 16-bit values. sums[0] holds outputs 0 and 1, sums[1] outputs 2 and
 * 3.
 */
static inline void finish_wide(int16_t *to, const __m256i sums[2])
{
    const __m256i words = _mm256_packs_epi32(_mm256_srai_epi32(sums[0], MIDDLE_SHIFT),
                                             _mm256_srai_epi32(sums[1], MIDDLE_SHIFT));

    store_wide(to, _mm256_permute4x64_epi64(words, 0xD8));
}

/* Computes outputs [i, i + 4), for any weights. */
INLINED void group_any(const resample_axis *axis, uint32_t i, int32_t origin,
                       const int16_t *const *in, const line_out *out, bool exact, uint32_t taps,
                       bool wide)
{
    const int16_t *weights = axis->weights + (size_t)i * taps;
    size_t at[GROUP];
    __m256i sums[STRIP][2];

    for (int j = 0; j < GROUP; j++) {
        at[j] = (size_t)(axis->first[i + (uint32_t)j] - origin) * 3;
    }
    for (int l = 0; l < STRIP; l++) {
        sums[l][0] = _mm256_set1_epi32(wide ? 1 << (MIDDLE_SHIFT - 1) : 1 << (FINAL_SHIFT - 1));
        sums[l][1] = sums[l][0];
    }
    for (uint32_t k = 0; k < taps; k += 2) {
        const __m256i weights01 =
            in_halves(weight_pair(weights + k), weight_pair(weights + taps + k));
        const __m256i weights23 = in_halves(weight_pair(weights + (size_t)2 * taps + k),
                                            weight_pair(weights + (size_t)3 * taps + k));

        for (int l = 0; l < STRIP; l++) {
            const int16_t *from = in[l] + (size_t)k * 3;

            sums[l][0] = _mm256_add_epi32(
                sums[l][0], _mm256_madd_epi16(load_two(from + at[0], from + at[1]), weights01));
            sums[l][1] = _mm256_add_epi32(
                sums[l][1], _mm256_madd_epi16(load_two(from + at[2], from + at[3]), weights23));
        }
    }
    for (int l = 0; l < STRIP && wide; l++) {
        finish_wide(out[l].wide + (size_t)i * 3, sums[l]);
    }
    for (int l = 0; l < STRIP && !wide; l += 2) {
        const __m256i pixels = finish_two(sums[l], sums[l + 1]);

        store_group(out[l].bytes + (size_t)i * 3, _mm256_castsi256_si128(pixels), exact);
        store_group(out[l + 1].bytes + (size_t)i * 3, _mm256_extracti128_si256(pixels, 1), exact);
    }
}

#if defined(__AVX512BW__)

/* True if group_near() can compute outputs [i, i + 4). */
static inline bool is_near(const resample_axis *axis, uint32_t i)
{
    return ((uint32_t)(axis->first[i + 3] - axis->first[i]) + axis->taps) * 3 <= 32 &&
           axis->taps <= 8;
}

/* Stores the sums of outputs [i, i + 4) of each line as bytes. */
static inline void finish_near(__m512i sums[STRIP], uint32_t i, const line_out *out, bool exact)
{
    const __m512i by_line = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const size_t at = (size_t)i * 3;
    __m512i bytes;

    for (int l = 0; l < STRIP; l++) {
        sums[l] = _mm512_srai_epi32(sums[l], FINAL_SHIFT);
    }
    /* After packing, each quarter holds one output of lines 0, 1, 2 and 3. */
    bytes = _mm512_packus_epi16(_mm512_packs_epi32(sums[0], sums[1]),
                                _mm512_packs_epi32(sums[2], sums[3]));
    bytes = _mm512_shuffle_epi8(_mm512_permutexvar_epi32(by_line, bytes),
                                _mm512_broadcast_i32x4(DENSE));
    store_group(out[0].bytes + at, _mm512_castsi512_si128(bytes), exact);
    store_group(out[1].bytes + at, _mm512_extracti32x4_epi32(bytes, 1), exact);
    store_group(out[2].bytes + at, _mm512_extracti32x4_epi32(bytes, 2), exact);
    store_group(out[3].bytes + at, _mm512_extracti32x4_epi32(bytes, 3), exact);
}

/*
 * Computes outputs [i, i + 4) if all their inputs are within 32 values. These values are loaded
 * once per line. For each pair of taps they are permuted to r0 r1 g0 g1 b0 b1 - - of all four
 * outputs.
 */
INLINED void group_near(const resample_axis *axis, uint32_t i, int32_t origin,
                        const int16_t *const *in, const line_out *out, bool exact, uint32_t taps,
                        bool wide)
{
    const __m512i each = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
    const __m512i rgb = _mm512_set4_epi32(0x00030000, 0x00050002, 0x00040001, 0x00030000);
    const __mmask16 loaded = (__mmask16)((1U << 2 * taps) - 1);
    const __m512i weights = _mm512_maskz_loadu_epi32(loaded, axis->weights + (size_t)i * taps);
    const __m128i first = _mm_loadu_si128((const __m128i *)(const void *)(axis->first + i));
    const __m128i ahead = _mm_sub_epi32(first, _mm_broadcastd_epi32(first));
    /* A pixel has three values; both halves of a lane get the same offset. */
    const __m128i offsets = _mm_mullo_epi32(ahead, _mm_set1_epi32(0x00030003));
    const size_t at = (size_t)(axis->first[i] - origin) * 3;
    __m512i places =
        _mm512_add_epi32(_mm512_permutexvar_epi32(each, _mm512_castsi128_si512(offsets)), rgb);
    __m512i pair_of = _mm512_mullo_epi32(each, _mm512_set1_epi32((int32_t)taps / 2));
    __m512i sums[STRIP];
    __m512i values[STRIP];

    for (int l = 0; l < STRIP; l++) {
        sums[l] = _mm512_set1_epi32(wide ? 1 << (MIDDLE_SHIFT - 1) : 1 << (FINAL_SHIFT - 1));
        values[l] = _mm512_loadu_si512(in[l] + at);
    }
    for (uint32_t k = 0; k < taps; k += 2) {
        const __m512i pairs = _mm512_permutexvar_epi32(pair_of, weights);

        for (int l = 0; l < STRIP; l++) {
            sums[l] = _mm512_add_epi32(
                sums[l], _mm512_madd_epi16(_mm512_permutexvar_epi16(places, values[l]), pairs));
        }
        places = _mm512_add_epi32(places, _mm512_set1_epi32(0x00060006));
        pair_of = _mm512_add_epi32(pair_of, _mm512_set1_epi32(1));
    }
    if (wide) {
        for (int l = 0; l < STRIP; l++) {
            store_wide(out[l].wide + (size_t)i * 3,
                       _mm512_cvtsepi32_epi16(_mm512_srai_epi32(sums[l], MIDDLE_SHIFT)));
        }
    } else {
        finish_near(sums, i, out, exact);
    }
}

#endif

INLINED void horizontal_taps(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                             const line_out *out, uint32_t taps, bool wide)
{
    resample_axis rest = *axis;
    uint32_t i = 0;

    for (; i + GROUP <= axis->count; i += GROUP) {
        const bool exact = axis->count - i < GROUP + 2; /* fewer than 4 bytes of the line follow the
                                                           group */

#if defined(__AVX512BW__)
        if (is_near(axis, i)) {
            group_near(axis, i, origin, in, out, exact, taps, wide);
            continue;
        }
#endif
        group_any(axis, i, origin, in, out, exact, taps, wide);
    }
    rest.first += i;
    rest.weights += (size_t)i * taps;
    rest.count -= i;
    for (int l = 0; l < STRIP && rest.count > 0; l++) {
        if (wide) {
            resample_horizontal_wide(&rest, origin, in[l], out[l].wide + (size_t)i * 3, 3);
        } else {
            resample_horizontal(&rest, origin, in[l], out[l].bytes + (size_t)i * 3, 3);
        }
    }
}

static void horizontal_rgb(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                           uint8_t *const *out)
{
    const line_out to[STRIP] = {
        {.bytes = out[0]}, {.bytes = out[1]}, {.bytes = out[2]}, {.bytes = out[3]}};

    /* The numbers of taps are constants, so that the loops over few taps are unrolled. */
    if (axis->taps == 2) {
        horizontal_taps(axis, origin, in, to, 2, false);
    } else if (axis->taps == 4) {
        horizontal_taps(axis, origin, in, to, 4, false);
    } else {
        horizontal_taps(axis, origin, in, to, axis->taps, false);
    }
}

static void horizontal_wide(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                            int16_t *const *out)
{
    const line_out to[STRIP] = {
        {.wide = out[0]}, {.wide = out[1]}, {.wide = out[2]}, {.wide = out[3]}};

    horizontal_taps(axis, origin, in, to, axis->taps, true);
}

#endif
