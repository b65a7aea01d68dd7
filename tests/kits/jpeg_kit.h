/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files of several codings, and boxes to decode of them. */
#ifndef SLUICE_JPEG_KIT_H
#define SLUICE_JPEG_KIT_H

#include "image_kit.h"
#include "jpeg_maker.h"

/* The i-th box of an image: whole, a pixel, slivers, glued to an edge or two, anywhere. */
image_box some_box(uint32_t i, uint32_t width, uint32_t height, uint32_t *state);

/* Is a region the same part of the plain decode? */
bool is_slice(const image_view *region, const image_box *box, const jpeg_plain *plain);

/* Codings whose damage shows in different ways. */
enum { CODINGS = 8 };
extern const jpeg_recipe codings[CODINGS];

/* The i-th coding's file; NULL when this libjpeg cannot make it. */
uint8_t *coded(size_t i, uint32_t width, uint32_t height, int flat, size_t *size);

/* Does this libjpeg make files of arithmetic code? */
bool jpeg_has_arithmetic(void);

#endif
