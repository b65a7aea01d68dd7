/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled once per instruction-set level (SLI_LEVEL). Vector code converts whole groups of pixels;
 * the remaining pixels of a line are converted by table lookup, with the same values.
 */
#include "conversion_kernels.h"

#include <math.h>
#include <string.h>

#include "cpu_int.h"
#include "flip_rgb_int.h"
#include "float16_int.h"
#include "rng_int.h"

#if defined(__AVX2__)
#include <immintrin.h>

/* Channel c of pixels 0..15, from 48 interleaved bytes a, b, d. */
static inline __m128i channel16(__m128i a, __m128i b, __m128i d, int c)
{
    static const int8_t masks[3][3][16] = {
        {{0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
         {-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1},
         {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13}},
        {{1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
         {-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1},
         {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14}},
        {{2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1},
         {-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1},
         {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15}},
    };
    const __m128i *m = (const __m128i *)masks[c];

    return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(a, _mm_loadu_si128(m)),
                                     _mm_shuffle_epi8(b, _mm_loadu_si128(m + 1))),
                        _mm_shuffle_epi8(d, _mm_loadu_si128(m + 2)));
}

/* Splits pixels 0..15 of a line into one byte vector per channel. */
static inline void split16(const uint8_t *in, uint32_t channels, __m128i planes[3])
{
    const __m128i *p = (const __m128i *)(const void *)in;
    __m128i a = _mm_loadu_si128(p);

    if (channels == 1) {
        planes[0] = a;
        return;
    }
    for (int c = 0; c < 3; c++) {
        planes[c] = channel16(a, _mm_loadu_si128(p + 1), _mm_loadu_si128(p + 2), c);
    }
}

static inline __m256 convert8(__m128i bytes, __m256 scale, __m256 bias)
{
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), scale, bias);
}

static inline void store16_u8(uint8_t *to, __m128i bytes, float scale, float bias)
{
    (void)scale;
    (void)bias;
    _mm_storeu_si128((__m128i *)(void *)to, bytes);
}

static inline void store16_f32(float *to, __m128i bytes, float scale, float bias)
{
    __m256 s = _mm256_set1_ps(scale);
    __m256 b = _mm256_set1_ps(bias);

    _mm256_storeu_ps(to, convert8(bytes, s, b));
    _mm256_storeu_ps(to + 8, convert8(_mm_srli_si128(bytes, 8), s, b));
}

static inline void store16_f16(uint16_t *to, __m128i bytes, float scale, float bias)
{
    __m256 s = _mm256_set1_ps(scale);
    __m256 b = _mm256_set1_ps(bias);
    __m128i *out = (__m128i *)(void *)to;

    _mm_storeu_si128(out, _mm256_cvtps_ph(convert8(bytes, s, b), _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(out + 1, _mm256_cvtps_ph(convert8(_mm_srli_si128(bytes, 8), s, b),
                                              _MM_FROUND_TO_NEAREST_INT));
}

/* Rounds finite f32 values to bf16, each in the lower half of its 32-bit lane. */
static inline __m256i bf16x8(__m256 value)
{
    __m256i bits = _mm256_castps_si256(value);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));

    return _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd), 16);
}

static inline void store16_bf16(uint16_t *to, __m128i bytes, float scale, float bias)
{
    __m256 s = _mm256_set1_ps(scale);
    __m256 b = _mm256_set1_ps(bias);
    __m256i low = bf16x8(convert8(bytes, s, b));
    __m256i high = bf16x8(convert8(_mm_srli_si128(bytes, 8), s, b));
    __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xD8);

    _mm256_storeu_si256((__m256i *)(void *)to, both);
}

#define PLANES_VECTOR(type, store)                                                                 \
    for (; x + 16 <= conversion->width; x += 16) {                                                 \
        __m128i bytes[3];                                                                          \
        split16(in + (size_t)x * channels, channels, bytes);                                       \
        for (uint32_t c = 0; c < channels; c++) {                                                  \
            store((type *)planes[c] + x, bytes[c], conversion->scale[c], conversion->bias[c]);     \
        }                                                                                          \
    }

#else
#define PLANES_VECTOR(type, store)
#endif

#define PLANES(name, type, store, value)                                                           \
    static void name(const sli_conversion *conversion, const uint8_t *in, void *const *planes)     \
    {                                                                                              \
        const uint32_t channels = conversion->channels;                                            \
        uint32_t x = 0;                                                                            \
                                                                                                   \
        PLANES_VECTOR(type, store)                                                                 \
        for (; x < conversion->width; x++) {                                                       \
            for (uint32_t c = 0; c < channels; c++) {                                              \
                const uint8_t byte = in[(size_t)x * channels + c];                                 \
                ((type *)planes[c])[x] = (value);                                                  \
            }                                                                                      \
        }                                                                                          \
    }

PLANES(planes_u8, uint8_t, store16_u8, byte)
PLANES(planes_f32, float, store16_f32, conversion->table_f32[c][byte])
PLANES(planes_f16, uint16_t, store16_f16, conversion->table_16[c][byte])
PLANES(planes_bf16, uint16_t, store16_bf16, conversion->table_16[c][byte])

#if defined(__AVX2__)
static inline void store8_f32(float *to, __m256 value)
{
    _mm256_storeu_ps(to, value);
}

static inline void store8_f16(uint16_t *to, __m256 value)
{
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

static inline void store8_bf16(uint16_t *to, __m256 value)
{
    __m256i bits = bf16x8(value);

    _mm_storeu_si128((__m128i *)(void *)to, _mm_packus_epi32(_mm256_castsi256_si128(bits),
                                                             _mm256_extracti128_si256(bits, 1)));
}

/* Vectors of eight scales and eight biases for interleaved channels. The pattern of channels has a
 * period of three vectors. */
static inline void packed_pattern(const sli_conversion *conversion, __m256 scale[3], __m256 bias[3])
{
    float values[2][24];

    for (uint32_t j = 0; j < 24; j++) {
        values[0][j] = conversion->scale[j % conversion->channels];
        values[1][j] = conversion->bias[j % conversion->channels];
    }
    for (int v = 0; v < 3; v++) {
        scale[v] = _mm256_loadu_ps(values[0] + 8 * v);
        bias[v] = _mm256_loadu_ps(values[1] + 8 * v);
    }
}

#define PACKED_VECTOR(store)                                                                       \
    __m256 scale[3];                                                                               \
    __m256 bias[3];                                                                                \
    packed_pattern(conversion, scale, bias);                                                       \
    for (; i + 24 <= count; i += 24) {                                                             \
        for (int v = 0; v < 3; v++) {                                                              \
            const uint8_t *bytes = in + i + 8 * v;                                                 \
            store(out + i + 8 * v, convert8(_mm_loadl_epi64((const __m128i *)(const void *)bytes), \
                                            scale[v], bias[v]));                                   \
        }                                                                                          \
    }
#else
#define PACKED_VECTOR(store)
#endif

#define PACKED(name, type, store, table)                                                           \
    static void name(const sli_conversion *conversion, const uint8_t *in, void *line)              \
    {                                                                                              \
        const size_t count = (size_t)conversion->width * conversion->channels;                     \
        type *out = (type *)line;                                                                  \
        size_t i = 0;                                                                              \
                                                                                                   \
        PACKED_VECTOR(store)                                                                       \
        for (; i < count; i++) {                                                                   \
            out[i] = conversion->table[i % conversion->channels][in[i]];                           \
        }                                                                                          \
    }

PACKED(packed_f32, float, store8_f32, table_f32)
PACKED(packed_f16, uint16_t, store8_f16, table_16)
PACKED(packed_bf16, uint16_t, store8_bf16, table_16)

/* Of 16 bits: by vectors, and the rest value by value, which gives the same bits. */
#if defined(__AVX2__)
#define WIDE_VECTOR(store)                                                                         \
    __m256 scale[3];                                                                               \
    __m256 bias[3];                                                                                \
    packed_pattern(conversion, scale, bias);                                                       \
    for (; i + 24 <= count && 24 % conversion->channels == 0; i += 24) {                           \
        for (int v = 0; v < 3; v++) {                                                              \
            const __m256i words = _mm256_cvtepu16_epi32(                                           \
                _mm_loadu_si128((const __m128i *)(const void *)(in + i + 8 * v)));                 \
            store(out + i + 8 * v, _mm256_fmadd_ps(_mm256_cvtepi32_ps(words), scale[v], bias[v])); \
        }                                                                                          \
    }
#else
#define WIDE_VECTOR(store)
#endif

#define WIDE(name, type, store, rounded)                                                           \
    static void name(const sli_conversion *conversion, const uint16_t *in, void *line)             \
    {                                                                                              \
        const size_t count = (size_t)conversion->width * conversion->channels;                     \
        type *out = (type *)line;                                                                  \
        size_t i = 0;                                                                              \
                                                                                                   \
        WIDE_VECTOR(store)                                                                         \
        for (; i < count; i++) {                                                                   \
            const size_t c = i % conversion->channels;                                             \
            const float value = fmaf(in[i], conversion->scale[c], conversion->bias[c]);            \
                                                                                                   \
            out[i] = (rounded);                                                                    \
        }                                                                                          \
    }

WIDE(wide_f32, float, store8_f32, value)
WIDE(wide_f16, uint16_t, store8_f16, sli_f16_of_f32(value))

static int32_t largest(const float *in, size_t count)
{
    int32_t most = 0;

    for (size_t i = 0; i < count; i++) {
        int32_t bits;

        memcpy(&bits, in + i, sizeof(bits));
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    return most;
}

static uint64_t digest(const uint8_t *data, size_t count)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t word;

        memcpy(&word, data + 8 * i, sizeof(word));
        sum += sli_mix64(word + i * UINT64_C(0x9E3779B97F4A7C15));
    }
    return sum;
}

const conversion_kernels SLI_AT_LEVEL(sli_conversion_kernels) = {
    .flip_rgb = SLI_AT_LEVEL(sli_flip_rgb),
    .planes_u8 = planes_u8,
    .planes_f32 = planes_f32,
    .planes_f16 = planes_f16,
    .planes_bf16 = planes_bf16,
    .packed_f32 = packed_f32,
    .packed_f16 = packed_f16,
    .packed_bf16 = packed_bf16,
    .wide_f32 = wide_f32,
    .wide_f16 = wide_f16,
    .largest = largest,
    .digest = digest,
};
