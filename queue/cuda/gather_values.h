/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all conversions of GetNext's gather share: the units of a thread, loads and stores of values
 * and units.
 */
#ifndef SLUICE_GATHER_VALUES_H
#define SLUICE_GATHER_VALUES_H

#include "gather_access.h"

/* The position of a thread: unit `unit` of image `row`. The strides replace a division per unit by
 * additions. */
typedef struct gather_walk {
    uint32_t row;
    uint32_t unit;
    uint32_t rows_each;
    uint32_t units_each;
} gather_walk;

SLI_KERNEL_FN gather_walk gather_walk_begin(uint32_t units, uint32_t t, uint32_t n)
{
    gather_walk walk;

    walk.row = t / units;
    walk.unit = t % units;
    walk.rows_each = n / units;
    walk.units_each = n % units;
    return walk;
}

SLI_KERNEL_FN void gather_walk_next(gather_walk *walk, uint32_t units)
{
    const uint32_t rest = units - walk->unit;

    walk->row += walk->rows_each;
    if (walk->units_each >= rest) {
        walk->row++;
        walk->unit = walk->units_each - rest;
    } else {
        walk->unit += walk->units_each;
    }
}

/* Returns the source of a unit if its line is flipped. line: units of a line */
SLI_KERNEL_FN uint32_t gather_flipped(uint32_t unit, uint32_t line)
{
    return unit + line - 1 - 2 * (unit % line);
}

/* Returns the source of a unit if its image is flipped upside down. units: of the image */
SLI_KERNEL_FN uint32_t gather_flipped_lines(uint32_t unit, uint32_t line, uint32_t units)
{
    return units - line + 2 * (unit % line) - unit;
}

SLI_KERNEL_FN float gather_load(uint32_t dtype, const uint8_t *in, uint32_t index)
{
    switch (dtype) {
    case SLUICE_U8:
        return gather_load_8(in + index);
    case SLUICE_U16:
        return gather_load_16(in + 2 * (uint64_t)index);
    case SLUICE_F16:
        return sli_f32_of_f16(gather_load_16(in + 2 * (uint64_t)index));
    case SLUICE_BF16:
        return sli_f32_of_bf16(gather_load_16(in + 2 * (uint64_t)index));
    default:
        return gather_load_f32(in + 4 * (uint64_t)index);
    }
}

SLI_KERNEL_FN void gather_store(uint32_t dtype, uint8_t *out, uint32_t index, float value)
{
    switch (dtype) {
    case SLUICE_U8:
        out[index] = (uint8_t)value;
        break;
    case SLUICE_U16:
        ((uint16_t *)out)[index] = (uint16_t)value;
        break;
    case SLUICE_F16:
        ((uint16_t *)out)[index] = sli_f16_of_f32(value);
        break;
    case SLUICE_BF16:
        ((uint16_t *)out)[index] = sli_bf16_of_f32(value);
        break;
    default:
        ((float *)out)[index] = value;
        break;
    }
}

/*
 * scale and bias are finite. The bits of NaN results differ between processors, so they are set
 * here as on x86-64: a NaN input is passed through as a quiet NaN; infinity times 0 is the negative
 * quiet NaN.
 */
SLI_KERNEL_FN float gather_affine(float value, float scale, float bias)
{
    const float result = gather_fma(value, scale, bias);

    if (result == result) {
        return result;
    }
    return sli_f32_of_bits(value != value ? sli_f32_bits(value) | 0x400000 : 0xFFC00000);
}

/* Converts a unit of values to dtype and stores it: 16 bytes. */
SLI_KERNEL_FN void gather_store_unit(sluice_dtype dtype, uint8_t *to, const float *v)
{
    uint32_t words[4];

    SLI_UNROLL
    for (int i = 0; i < 4; i++) {
        words[i] = dtype == SLUICE_F32   ? sli_f32_bits(v[i])
                   : dtype == SLUICE_F16 ? gather_pair_f16(v[2 * i], v[2 * i + 1])
                                         : gather_pair_bf16(v[2 * i], v[2 * i + 1]);
    }
    gather_store_128(to, words);
}

/* Loads a unit of pixels: 12 or 24 bytes. */
SLI_KERNEL_FN void gather_load_pixels(const uint8_t *from, uint32_t unit, uint32_t *words)
{
    SLI_UNROLL
    for (uint32_t i = 0; i < 3; i++) {
        if (unit == 4) {
            words[i] = gather_load_32(from + 4 * i);
        } else {
            gather_load_64(from + 8 * i, words + 2 * i);
        }
    }
}

#endif
