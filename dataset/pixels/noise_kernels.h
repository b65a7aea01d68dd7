/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers for many pixels at once: one set of kernels for each instruction set level. All
 * sets give the same bits: the arithmetic is IEEE single precision without contraction.
 */
#ifndef SLUICE_NOISE_KERNELS_H
#define SLUICE_NOISE_KERNELS_H

#include <stdint.h>

#include "rng_int.h"

/* Random numbers come in groups, each from NOISE_BLOCKS blocks of `draws`. */
enum {
    NOISE_BLOCKS = 64,
    NOISE_UNIFORMS = 8 * NOISE_BLOCKS, /* numbers of a group */
    NOISE_NORMALS = 4 * NOISE_BLOCKS
};

typedef struct noise_kernels {
    /*
     * Writes `groups` groups of uniform random numbers, odd multiples of 2^-16 above -1 and below
     * 1. Number NOISE_BLOCKS * k + i of a group is the k-th 16 bits of block first_block + i of
     * `draws`, the lower ones of a word before the upper ones.
     */
    void (*uniform)(const sli_draws *draws, uint32_t first_block, uint32_t groups, float *to);

    /*
     * Writes one group of random numbers of the normal distribution with mean 0 and standard
     * deviation 1, at most 5.9 in size: the Box-Muller transform of 24 and 32 bits.
     */
    void (*normal)(const sli_draws *draws, uint32_t first_block, float *to);
} noise_kernels;

extern const noise_kernels sli_noise_kernels_portable;
extern const noise_kernels sli_noise_kernels_v3;
extern const noise_kernels sli_noise_kernels_v4;

#endif
