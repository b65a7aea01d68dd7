/* SPDX-License-Identifier: Apache-2.0 */
#include "resample_kernels.h"

enum { MAX_CHANNELS = 4 };

/*
 * Computes one line, either to `bytes`, or to `wide` with the fractional bits of the intermediate
 * buffer; the other pointer is NULL. Callers pass constants for `channels` and for the NULL
 * pointer, so that the inlined copies are specialised.
 */
static inline void horizontal_line(const resample_axis *axis, int32_t origin, const int16_t *in,
                                   uint8_t *bytes, int16_t *wide, const uint32_t channels)
{
    const int shift =
        RESAMPLE_WEIGHT_BITS + (wide != NULL ? -RESAMPLE_MID_BITS : RESAMPLE_MID_BITS);
    const int32_t most = wide != NULL ? 255 << RESAMPLE_MID_BITS : 255;

    for (uint32_t i = 0; i < axis->count; i++) {
        const int16_t *from = in + (size_t)(axis->first[i] - origin) * channels;
        const int16_t *weights = axis->weights + (size_t)i * axis->taps;
        int32_t sums[MAX_CHANNELS];

        for (uint32_t c = 0; c < channels; c++) {
            sums[c] = 1 << (shift - 1);
        }
        for (uint32_t k = 0; k < axis->taps; k++, from += channels) {
            for (uint32_t c = 0; c < channels; c++) {
                sums[c] += from[c] * weights[k];
            }
        }
        for (uint32_t c = 0; c < channels; c++) {
            int32_t sum = sums[c] >> shift;

            sum = sum < 0 ? 0 : sum > most ? most : sum;
            if (wide != NULL) {
                wide[(size_t)i * channels + c] = (int16_t)sum;
            } else {
                bytes[(size_t)i * channels + c] = (uint8_t)sum;
            }
        }
    }
}

void resample_horizontal(const resample_axis *axis, int32_t origin, const int16_t *in, uint8_t *out,
                         uint32_t channels)
{
    if (channels == 3) {
        horizontal_line(axis, origin, in, out, NULL, 3);
    } else if (channels == 1) {
        horizontal_line(axis, origin, in, out, NULL, 1);
    } else {
        horizontal_line(axis, origin, in, out, NULL, channels);
    }
}

void resample_horizontal_wide(const resample_axis *axis, int32_t origin, const int16_t *in,
                              int16_t *out, uint32_t channels)
{
    if (channels == 3) {
        horizontal_line(axis, origin, in, NULL, out, 3);
    } else {
        horizontal_line(axis, origin, in, NULL, out, channels);
    }
}
