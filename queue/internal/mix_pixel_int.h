/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formula of mixup for one value, for the vectorised kernels of workers and for GetNext on a
 * device: IEEE single precision without contraction, so that all give the same bits. Formula of
 * torchvision's MixUp (transforms.v2), in the same order of operations.
 */
#ifndef SLUICE_MIX_PIXEL_INT_H
#define SLUICE_MIX_PIXEL_INT_H

#include <stdint.h>

#include "device_fn_int.h"

/* 1.5 * 2^23: (value + ROUND) - ROUND is the nearest integer, halves to even, of a small float. */
#define SLI_MIX_ROUND 12582912.0F

/* Blends a value with that of its partner. Each product and the sum are rounded. */
SLI_DEVICE_FN float sli_mix_blend(float own, float other, float share, float rest)
{
    return other * rest + own * share;
}

/* Rounds a value from 0 to 255 to the nearest whole number. */
SLI_DEVICE_FN int32_t sli_mix_round(float value)
{
    return (int32_t)(value + SLI_MIX_ROUND - SLI_MIX_ROUND);
}

#endif
