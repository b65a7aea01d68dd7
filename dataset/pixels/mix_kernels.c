/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of one instruction set level. This file is compiled once for each level (SLI_LEVEL);
 * the compiler vectorizes the loops over a block.
 */
#include "mix_kernels.h"

#include "cpu_int.h"
#include "float16_int.h"
#include "mix_pixel_int.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

enum { BLOCK = 64 };

static void blend_u8(uint8_t *own, const uint8_t *other, float share, float rest, size_t count)
{
    size_t first = 0;

    for (; first + BLOCK <= count; first += BLOCK) {
        uint8_t block[BLOCK];

        for (size_t i = 0; i < BLOCK; i++) {
            block[i] = (uint8_t)sli_mix_round(
                sli_mix_blend(own[first + i], other[first + i], share, rest));
        }
        for (size_t i = 0; i < BLOCK; i++) {
            own[first + i] = block[i];
        }
    }
    for (; first < count; first++) {
        own[first] = (uint8_t)sli_mix_round(sli_mix_blend(own[first], other[first], share, rest));
    }
}

static void blend_f32(float *own, const float *other, float share, float rest, size_t count)
{
    size_t first = 0;

    for (; first + BLOCK <= count; first += BLOCK) {
        float block[BLOCK];

        for (size_t i = 0; i < BLOCK; i++) {
            block[i] = sli_mix_blend(own[first + i], other[first + i], share, rest);
        }
        for (size_t i = 0; i < BLOCK; i++) {
            own[first + i] = block[i];
        }
    }
    for (; first < count; first++) {
        own[first] = sli_mix_blend(own[first], other[first], share, rest);
    }
}

static void blend_f16(uint16_t *own, const uint16_t *other, float share, float rest, size_t count)
{
    size_t i = 0;

#if defined(__F16C__)
    for (; i + 8 <= count; i += 8) {
        const __m256 mine =
            _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(own + i)));
        const __m256 its =
            _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(other + i)));
        const __m256 sum = _mm256_add_ps(_mm256_mul_ps(its, _mm256_set1_ps(rest)),
                                         _mm256_mul_ps(mine, _mm256_set1_ps(share)));

        _mm_storeu_si128((__m128i *)(void *)(own + i),
                         _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < count; i++) {
        own[i] = sli_f16_of_f32(
            sli_mix_blend(sli_f32_of_f16(own[i]), sli_f32_of_f16(other[i]), share, rest));
    }
}

static void blend_bf16(uint16_t *own, const uint16_t *other, float share, float rest, size_t count)
{
    size_t first = 0;

    for (; first + BLOCK <= count; first += BLOCK) {
        uint16_t block[BLOCK];

        for (size_t i = 0; i < BLOCK; i++) {
            block[i] = sli_bf16_of_f32(sli_mix_blend(
                sli_f32_of_bf16(own[first + i]), sli_f32_of_bf16(other[first + i]), share, rest));
        }
        for (size_t i = 0; i < BLOCK; i++) {
            own[first + i] = block[i];
        }
    }
    for (; first < count; first++) {
        own[first] = sli_bf16_of_f32(
            sli_mix_blend(sli_f32_of_bf16(own[first]), sli_f32_of_bf16(other[first]), share, rest));
    }
}

const mix_kernels SLI_AT_LEVEL(sli_mix_kernels) = {blend_u8, blend_f32, blend_f16, blend_bf16};
