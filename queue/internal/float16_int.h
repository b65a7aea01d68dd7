/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions between 32-bit and 16-bit floats: round to nearest, ties to even, like the hardware
 * instructions of every backend. binary16: IEEE 754-2008; bfloat16: the upper half of binary32.
 */
#ifndef SLUICE_FLOAT16_INT_H
#define SLUICE_FLOAT16_INT_H

#include <stdint.h>
#include <string.h>

#include "device_fn_int.h"

SLI_DEVICE_FN uint32_t sli_f32_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

SLI_DEVICE_FN float sli_f32_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

SLI_DEVICE_FN uint16_t sli_bf16_of_f32(float value)
{
    uint32_t bits = sli_f32_bits(value);

    if ((bits & 0x7FFFFFFF) > 0x7F800000) {
        return (uint16_t)(bits >> 16 | 0x40); /* a quiet NaN */
    }
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

SLI_DEVICE_FN float sli_f32_of_bf16(uint16_t value)
{
    return sli_f32_of_bits((uint32_t)value << 16);
}

SLI_DEVICE_FN uint16_t sli_f16_of_f32(float value)
{
    uint32_t bits = sli_f32_bits(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t magnitude = bits & 0x7FFFFFFF;
    uint32_t shift;
    uint32_t mantissa;
    uint32_t rounded;

    if (magnitude > 0x7F800000) {
        return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x3FF)); /* a quiet NaN */
    }
    if (magnitude >= 0x477FF000) {
        return (uint16_t)(sign | 0x7C00); /* rounds to infinity */
    }
    if (magnitude >= 0x38800000) {
        /* Normal: rebias the exponent, 127 to 15; a carry out of the mantissa increments it. */
        rounded = magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1);
        return (uint16_t)(sign | rounded >> 13);
    }
    /* Subnormal or zero: shift the full mantissa into units of 2^-24. */
    shift = 126 - (magnitude >> 23);
    if (shift > 25) {
        return (uint16_t)sign;
    }
    mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    rounded = mantissa >> shift;
    if ((mantissa & ((UINT32_C(1) << shift) - 1)) + (rounded & 1) > UINT32_C(1) << (shift - 1)) {
        rounded++;
    }
    return (uint16_t)(sign | rounded);
}

SLI_DEVICE_FN float sli_f32_of_f16(uint16_t value)
{
    uint32_t sign = (uint32_t)(value & 0x8000) << 16;
    uint32_t exponent = value >> 10 & 0x1F;
    uint32_t mantissa = value & 0x3FF;

    if (exponent == 31) {
        mantissa |= mantissa != 0 ? 0x200 : 0; /* a quiet NaN, or infinity */
        return sli_f32_of_bits(sign | 0x7F800000 | mantissa << 13);
    }
    if (exponent == 0) {
        float magnitude = (float)mantissa * 0x1p-24F;

        return sign != 0 ? -magnitude : magnitude;
    }
    return sli_f32_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

#endif
