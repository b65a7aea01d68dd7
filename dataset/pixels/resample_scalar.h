/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The horizontal pass of one line in plain C, for any number of channels and for the columns that
 * vector kernels do not process.
 */
#ifndef SLUICE_RESAMPLE_SCALAR_H
#define SLUICE_RESAMPLE_SCALAR_H

#include "resample_axis.h"

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
