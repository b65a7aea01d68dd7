/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that blend two rows of a batch, for each instruction set level; all give equal bits. */
#ifndef SLUICE_MIX_KERNELS_H
#define SLUICE_MIX_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Each function sets own[i] to other[i] * rest + own[i] * share, for `count` elements. Each product
 * and the sum are rounded to single precision; the sum is then rounded once more to the type of the
 * elements, to nearest, halves to even. `own` and `other` do not overlap. share and rest are 0 to
 * 1, and their sum is 1 but for rounding.
 */
typedef struct mix_kernels {
    void (*blend_u8)(uint8_t *own, const uint8_t *other, float share, float rest, size_t count);
    void (*blend_f32)(float *own, const float *other, float share, float rest, size_t count);
    void (*blend_f16)(uint16_t *own, const uint16_t *other, float share, float rest, size_t count);
    void (*blend_bf16)(uint16_t *own, const uint16_t *other, float share, float rest, size_t count);
} mix_kernels;

extern const mix_kernels sli_mix_kernels_portable;
extern const mix_kernels sli_mix_kernels_v3;
extern const mix_kernels sli_mix_kernels_v4;

#endif
