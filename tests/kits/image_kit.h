/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are decoded box by box. */
#ifndef SLUICE_IMAGE_KIT_H
#define SLUICE_IMAGE_KIT_H

#include "image_decoder.h"

enum { MAX_PIXELS = 100000000 };

/* The box of the image; END_OF_DATA, no answer of the decoder, where the image is smaller. */
sluice_status decode_box(image_decoder *decoder, const uint8_t *bytes, size_t size, bool gray,
                         const image_box *box, image_view *region);

/*
 * The box of the image by a decoder of its own, over and over with one allocation more before one
 * fails, until none does: each answers NO_MEMORY. Returns how many.
 */
int64_t decode_without_memory(const uint8_t *bytes, size_t size, const image_box *box);

/* FNV-1a of an answer, pixels included. */
uint64_t digest(sluice_status st, const image_view *region);

#endif
