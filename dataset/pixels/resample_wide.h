/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes images of 16 bits and of floats. The weights are those of resample_axis.h, not rounded to
 * integers but to single precision. The vertical pass comes first. All sums are in single
 * precision, in the order of the inputs and without contraction, so every instruction set level
 * gives the same bits. Values of 16 bits are rounded once, at the end, and limited to 0..65535.
 * Margins are zeros.
 */
#ifndef SLUICE_RESAMPLE_WIDE_H
#define SLUICE_RESAMPLE_WIDE_H

#include "resample.h"

/* Reserves the memory of a run. Returns E_NO_MEMORY on failure. */
sluice_status resample_wide_reserve(image_resampler *resampler);

/* Writes the visible part of line i of the visible lines. `needed` as for resample_run(). */
void resample_wide_line(const image_resampler *resampler, const image_view *needed, uint32_t i,
                        uint8_t *out);

#endif
