/* SPDX-License-Identifier: Apache-2.0 */
/* Normal noise, added to the values of an image: torchvision's gaussian_noise for uint8. */
#ifndef SLUICE_IMAGE_NOISE_H
#define SLUICE_IMAGE_NOISE_H

#include <stdbool.h>
#include <stdint.h>

#include "rng_int.h"

typedef struct image_noise {
    float mean; /* both in steps of a byte */
    float sigma;
    bool clips;      /* false: sums are taken modulo 256 */
    sli_draws draws; /* each value of the image has a random number of its own */
} image_noise;

/* Adds the noise of line y to `values` values. `from` and `to` may be the same line. */
void noise_line(const image_noise *noise, uint32_t y, const uint8_t *from, uint8_t *to,
                uint32_t values);

#endif
