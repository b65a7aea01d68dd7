/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of elastic displacements: one set for each instruction set level. All sets give the
 * same bits: the arithmetic is IEEE single precision without contraction.
 */
#ifndef SLUICE_ELASTIC_KERNELS_H
#define SLUICE_ELASTIC_KERNELS_H

#include <stdint.h>

#include "rng_int.h"

/* Numbers of one group of noise, from NOISE_BLOCKS blocks of the random numbers. */
enum { NOISE_BLOCKS = 64, NOISE_GROUP = 8 * NOISE_BLOCKS };

/* Numbers that smooth() writes at once. */
enum { SMOOTH_BLOCK = 64 };

typedef struct elastic_kernels {
    /*
     * Writes `groups` groups of uniform random numbers, odd multiples of 2^-16 above -1 and below
     * 1. Number NOISE_BLOCKS * k + i of a group is the k-th 16 bits of block first_block + i of
     * `draws`, the lower ones of a word before the upper ones.
     */
    void (*noise)(const sli_draws *draws, uint32_t first_block, uint32_t groups, float *to);

    /*
     * Writes weighted sums of `taps` lines, an odd number; the weights are symmetric. The middle
     * line is added first, then pairs of lines, from the outer one on. count is a multiple of
     * SMOOTH_BLOCK.
     */
    void (*smooth)(const float *const *lines, const float *weights, uint32_t taps, float *to,
                   uint32_t count);
} elastic_kernels;

extern const elastic_kernels sli_elastic_kernels_portable;
extern const elastic_kernels sli_elastic_kernels_v3;
extern const elastic_kernels sli_elastic_kernels_v4;

#endif
