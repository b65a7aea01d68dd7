/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of elastic displacements: one set for each instruction set level. All sets give the
 * same bits: the arithmetic is IEEE single precision without contraction.
 */
#ifndef SLUICE_ELASTIC_KERNELS_H
#define SLUICE_ELASTIC_KERNELS_H

#include <stdint.h>

/* A multiple of the numbers that smooth() writes at once. */
enum { SMOOTH_BLOCK = 64 };

typedef struct elastic_kernels {
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
