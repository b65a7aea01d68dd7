/* SPDX-License-Identifier: Apache-2.0 */
/* Inner loops of conversions and digests, one set per instruction-set level. All sets give the same
 * bits. */
#ifndef SLUICE_CONVERSION_KERNELS_H
#define SLUICE_CONVERSION_KERNELS_H

#include "conversion_int.h"

typedef struct conversion_kernels {
    /* Flips one line of (W, 3) uint8; in and out do not overlap. */
    void (*flip_rgb)(const uint8_t *in, uint8_t *out, uint32_t width);

    /* Convert one line of (W, C) uint8, C 1 or 3, to planes[c][0..W) of the output's type. */
    void (*planes_u8)(const sli_conversion *conversion, const uint8_t *in, void *const *planes);
    void (*planes_f32)(const sli_conversion *conversion, const uint8_t *in, void *const *planes);
    void (*planes_f16)(const sli_conversion *conversion, const uint8_t *in, void *const *planes);
    void (*planes_bf16)(const sli_conversion *conversion, const uint8_t *in, void *const *planes);

    /* Convert one line of (W, C) uint8, C 1 or 3, to (W, C) of the output's type. */
    void (*packed_f32)(const sli_conversion *conversion, const uint8_t *in, void *line);
    void (*packed_f16)(const sli_conversion *conversion, const uint8_t *in, void *line);
    void (*packed_bf16)(const sli_conversion *conversion, const uint8_t *in, void *line);

    /* Convert one line of (W, C) of 16 bits to (W, C) of the output's type. */
    void (*wide_f32)(const sli_conversion *conversion, const uint16_t *in, void *line);
    void (*wide_f16)(const sli_conversion *conversion, const uint16_t *in, void *line);

    /* The largest bits of `count` floats without their signs, in the order of the floats: NaN and
     * infinities are above all others. 0: there is none. */
    int32_t (*largest)(const float *in, size_t count);

    /* Sum of mix64(word[i] + i * K) over `count` words. */
    uint64_t (*digest)(const uint8_t *data, size_t count);
} conversion_kernels;

extern const conversion_kernels sli_conversion_kernels_portable;
extern const conversion_kernels sli_conversion_kernels_v3;
extern const conversion_kernels sli_conversion_kernels_v4;

#endif
