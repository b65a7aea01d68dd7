/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads, stores and arithmetic of GetNext's gather (getnext_gather.h), with the same bits on a CPU
 * and a GPU. The loads may use the non-coherent cache (__ldg).
 */
#ifndef SLUICE_GATHER_ACCESS_H
#define SLUICE_GATHER_ACCESS_H

#if !defined(__CUDACC__)
#include <assert.h>
#include <math.h>
#include <string.h>
#endif

#include "float16_int.h"
#include "getnext_int.h"

/* Hooks for tests that count memory sectors or loaded bytes. */
#if !defined(GATHER_STORES)
#define GATHER_STORES(to, bytes)
#endif
#if !defined(GATHER_LOADS)
#define GATHER_LOADS(from, bytes)
#endif

#if defined(__CUDACC__)
SLI_KERNEL_FN uint8_t gather_load_8(const uint8_t *from)
{
    return __ldg(from);
}

SLI_KERNEL_FN uint16_t gather_load_16(const uint8_t *from)
{
    return __ldg((const uint16_t *)from);
}

SLI_KERNEL_FN float gather_load_f32(const uint8_t *from)
{
    return __ldg((const float *)from);
}

SLI_KERNEL_FN double gather_load_f64(const uint8_t *from)
{
    return __ldg((const double *)from);
}

SLI_KERNEL_FN uint32_t gather_load_32(const uint8_t *from)
{
    return __ldg((const uint32_t *)from);
}

SLI_KERNEL_FN void gather_load_64(const uint8_t *from, uint32_t *words)
{
    const uint2 value = __ldg((const uint2 *)from);

    words[0] = value.x;
    words[1] = value.y;
}

SLI_KERNEL_FN void gather_load_128(const uint8_t *from, uint32_t *words)
{
    const uint4 value = __ldg((const uint4 *)from);

    words[0] = value.x;
    words[1] = value.y;
    words[2] = value.z;
    words[3] = value.w;
}

SLI_KERNEL_FN void gather_store_128(uint8_t *to, const uint32_t *words)
{
    *(uint4 *)to = make_uint4(words[0], words[1], words[2], words[3]);
}
#else
/* Asserts what the device requires: accesses are aligned to their size, else the device faults. */
SLI_KERNEL_FN void gather_move(void *to, const void *from, size_t bytes, const void *in_slot)
{
    assert((uintptr_t)in_slot % bytes == 0);
    (void)in_slot;
    memcpy(to, from, bytes);
}

SLI_KERNEL_FN uint8_t gather_load_8(const uint8_t *from)
{
    return *from;
}

SLI_KERNEL_FN uint16_t gather_load_16(const uint8_t *from)
{
    uint16_t value;

    gather_move(&value, from, sizeof(value), from);
    return value;
}

SLI_KERNEL_FN float gather_load_f32(const uint8_t *from)
{
    float value;

    gather_move(&value, from, sizeof(value), from);
    return value;
}

SLI_KERNEL_FN double gather_load_f64(const uint8_t *from)
{
    double value;

    gather_move(&value, from, sizeof(value), from);
    return value;
}

SLI_KERNEL_FN uint32_t gather_load_32(const uint8_t *from)
{
    uint32_t value;

    GATHER_LOADS(from, sizeof(value));
    gather_move(&value, from, sizeof(value), from);
    return value;
}

SLI_KERNEL_FN void gather_load_64(const uint8_t *from, uint32_t *words)
{
    gather_move(words, from, 8, from);
}

SLI_KERNEL_FN void gather_load_128(const uint8_t *from, uint32_t *words)
{
    gather_move(words, from, 16, from);
}

SLI_KERNEL_FN void gather_store_128(uint8_t *to, const uint32_t *words)
{
    GATHER_STORES(to, 16);
    gather_move(to, words, 16, to);
}
#endif

/* Funnel shift: the low word of (high:low >> bits), bits from 0 to 31. */
SLI_KERNEL_FN uint32_t gather_funnel(uint32_t low, uint32_t high, uint32_t bits)
{
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(low, high, bits);
#else
    return (uint32_t)(((uint64_t)high << 32 | low) >> bits);
#endif
}

SLI_KERNEL_FN float gather_fma(float value, float scale, float bias)
{
#if defined(__CUDA_ARCH__)
    return __fmaf_rn(value, scale, bias);
#else
    return fmaf(value, scale, bias);
#endif
}

/* Rounds two values, neither a NaN, to f16 and packs them, the first into the lower half. */
SLI_KERNEL_FN uint32_t gather_pair_f16(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t pair;

    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#elif defined(__CUDA_ARCH__)
    uint16_t halves[2];

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(halves[0]) : "f"(low));
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(halves[1]) : "f"(high));
    return halves[0] | (uint32_t)halves[1] << 16;
#else
    return sli_f16_of_f32(low) | (uint32_t)sli_f16_of_f32(high) << 16;
#endif
}

SLI_KERNEL_FN float gather_f32_of_f16(uint16_t value)
{
#if defined(__CUDA_ARCH__)
    float result;

    asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value));
    return result;
#else
    return sli_f32_of_f16(value);
#endif
}

SLI_KERNEL_FN uint32_t gather_pair_bf16(float low, float high)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t pair;

    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
#else
    return sli_bf16_of_f32(low) | (uint32_t)sli_bf16_of_f32(high) << 16;
#endif
}

#endif
