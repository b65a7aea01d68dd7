/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that combine neighbouring pixels of an image: torchvision's gaussian_blur and
 * adjust_sharpness on uint8 tensors.
 */
#ifndef SLUICE_IMAGE_BLUR_H
#define SLUICE_IMAGE_BLUR_H

#include "image.h"

enum { BLUR_TAPS = 127 };

typedef struct image_blur {
    uint32_t taps; /* odd */
    float weights[BLUR_TAPS];
} image_blur;

/* Writes the weights exp(-x^2 / (2 sigma^2)), x from -(taps - 1) / 2 on, divided by their sum. */
void gaussian_weights(uint32_t taps, double sigma, float *weights);

/* Reflects a position at the first and the last one until it is in [0, length). */
uint32_t blur_reflect(int64_t at, uint32_t length);

/* Sets the weights of gaussian_weights(). */
void blur_make(image_blur *blur, uint32_t taps, double sigma);

/* Bytes of memory that blur_line() needs. */
size_t blur_bytes(const image_blur *blur, const image_view *from);

/*
 * Writes line y of the blurred image. Outside, the image is reflected at the centres of its outer
 * pixels (reflect padding). Sums are taken along y, then along x, and rounded once, halves to even.
 */
void blur_line(const image_blur *blur, const image_view *from, uint32_t y, float *memory,
               uint8_t *to);

/*
 * Writes line y of the sharpened image: factor * value + (1 - factor) * mean. The mean is that of
 * the pixel (weight 5) and its 8 neighbours (weight 1 each). The outer pixels do not change.
 */
void sharpen_line(float factor, const image_view *from, uint32_t y, uint8_t *to);

#endif
