/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights of one axis of a resize, as Pillow's Resample.c computes them. The centre of output i
 * is at c = (i + 0.5) * scale of the input, with scale = in / out. Input k has the weight
 *
 *     f((k + 0.5 - c) / s),   s = max(1, scale), or 1 without antialiasing.
 *
 * Only inputs within the support of f count. Weights are normalised after inputs outside the image
 * are left out. The functions f:
 *
 *     bilinear  1 - |x| within 1
 *     bicubic   Keys, "Cubic convolution interpolation for digital image processing" (1981), with
 *               a = -0.5:  (a + 2)|x|^3 - (a + 3)|x|^2 + 1 within 1,
 *               a|x|^3 - 5a|x|^2 + 8a|x| - 4a within 2
 *     area      1 within -0.5 < x <= 0.5
 *
 * nearest uses the one input floor(c). As in Pillow's Geometry.c, c is summed up from scale / 2 in
 * steps of scale. Where c is a whole number, the result depends on the rounding errors of that sum.
 */
#ifndef SLUICE_RESAMPLE_AXIS_H
#define SLUICE_RESAMPLE_AXIS_H

#include <stddef.h>

#include "resize_filter.h"

enum { RESAMPLE_WEIGHT_BITS = 14, RESAMPLE_MID_BITS = 7 };

/* The weights of one axis for a range of outputs; zero-initialise. */
typedef struct resample_axis {
    resize_filter filter;
    uint32_t in;   /* length of the crop on this axis */
    uint32_t out;  /* length to which the crop is resized */
    uint32_t from; /* first output; the range is [from, from + count) */
    uint32_t count;
    uint32_t taps;    /* number of weights of each output, even; trailing weights may be zero */
    int32_t *first;   /* (count) first input of each output */
    int16_t *weights; /* (count, taps); the weights of each output sum to 2^14 */
    bool is_wide;     /* input: weights are floats; set before resample_axis_prepare() */
    float *floats;    /* (count, taps), instead of `weights` if is_wide and not of nearest; sum 1 */
    size_t first_capacity;
    size_t weight_capacity;
    size_t float_capacity;
} resample_axis;

/*
 * Computes the weights of outputs [from, from + count), with count > 0; reuses the current ones if
 * no argument changed. Returns E_NO_MEMORY on failure.
 */
sluice_status resample_axis_prepare(resample_axis *axis, const resize_filter *filter, uint32_t in,
                                    uint32_t out, uint32_t from, uint32_t count);

/* Returns the inputs [*from, *to) that the outputs of the axis use. */
void resample_axis_span(const resample_axis *axis, uint32_t *from, uint32_t *to);

void resample_axis_free(resample_axis *axis);

#endif
