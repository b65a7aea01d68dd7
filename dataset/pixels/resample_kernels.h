/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of the two resize passes: one set for each instruction set level. All sets give the
 * same bytes.
 */
#ifndef SLUICE_RESAMPLE_KERNELS_H
#define SLUICE_RESAMPLE_KERNELS_H

#include "resample.h"

/* Number of lines that the horizontal pass processes together. */
enum { STRIP = 4 };

/*
 * The vertical pass processes whole vectors: it reads up to this many elements past the end of its
 * rows, and writes up to this many past the end of its output.
 */
enum { MIDDLE_SLACK = 64 };

enum { WIDE_SLACK = 4 };

typedef struct resample_kernels {
    /*
     * out[i] = (sum over k of rows[k][i] * weights[k] + 64) >> 7, i < n; taps is even; no weight is
     * negative.
     */
    void (*vertical)(const uint8_t *const *rows, const int16_t *weights, uint32_t taps,
                     int16_t *out, size_t n);

    /*
     * STRIP lines of 3 channels: out[l] is (axis->count, 3), with no write past its end; in[l] is
     * (inputs, 3) and starts at input `origin`.
     */
    void (*horizontal_rgb)(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                           uint8_t *const *out);

    /*
     * The next three are for filters with negative weights; their horizontal pass comes first.
     * out[i] = in[i] as 16 bits.
     */
    void (*widen)(const uint8_t *in, int16_t *out, size_t n);

    /*
     * STRIP lines of 3 channels: (sum + 64) >> 7, clamped to 0..255 << 7. out[l] is (axis->count,
     * 3); up to WIDE_SLACK values past its end are overwritten.
     */
    void (*horizontal_wide)(const resample_axis *axis, int32_t origin, const int16_t *const *in,
                            int16_t *const *out);

    /* out[i] = (sum over k of rows[k][i] * weights[k] + 2^20) >> 21, clamped to bytes, i < n. */
    void (*vertical_wide)(const int16_t *const *rows, const int16_t *weights, uint32_t taps,
                          uint8_t *out, size_t n);
} resample_kernels;

extern const resample_kernels sli_resample_kernels_portable;
extern const resample_kernels sli_resample_kernels_v3;
extern const resample_kernels sli_resample_kernels_v4;

/* The horizontal pass of one line in plain C (resample_scalar.c), for any number of channels and
 * for the columns that vector kernels do not process. */

/*
 * in is (inputs, channels) and starts at input `origin`; out is (axis->count, channels), with no
 * write past its end. The reference implementation of resample_kernels.horizontal_rgb.
 */
void resample_horizontal(const resample_axis *axis, int32_t origin, const int16_t *in, uint8_t *out,
                         uint32_t channels);

/*
 * Like resample_horizontal(), but results keep the fractional bits of the intermediate buffer. The
 * reference implementation of resample_kernels.horizontal_wide.
 */
void resample_horizontal_wide(const resample_axis *axis, int32_t origin, const int16_t *in,
                              int16_t *out, uint32_t channels);

#endif
