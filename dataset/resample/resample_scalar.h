/* SPDX-License-Identifier: Apache-2.0 */
/* The horizontal pass of one line in plain C: any number of channels, and the tail of kernels. */
#ifndef SLUICE_RESAMPLE_SCALAR_H
#define SLUICE_RESAMPLE_SCALAR_H

#include "resample_axis.h"

/*
 * in is (inputs, channels) and starts at input `origin`; out is (axis->count, channels), written
 * exactly. The reference of horizontal_rgb of resample_kernels.
 */
void resample_horizontal(const resample_axis *axis, int32_t origin, const int16_t *in, uint8_t *out,
                         uint32_t channels);

/*
 * As resample_horizontal(), with the fractional bits of the middle; the reference of
 * horizontal_wide.
 */
void resample_horizontal_wide(const resample_axis *axis, int32_t origin, const int16_t *in,
                              int16_t *out, uint32_t channels);

#endif
