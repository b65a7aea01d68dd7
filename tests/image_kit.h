/* SPDX-License-Identifier: Apache-2.0 */
/* Images that are decoded box by box. */
#ifndef SLUICE_IMAGE_KIT_H
#define SLUICE_IMAGE_KIT_H

#include "image_decoder.h"

enum { MAX_PIXELS = 100000000 };

/* The box of the image; END_OF_DATA, no answer of the decoder, where the image is smaller. */
sluice_status decode_box(image_decoder *decoder, const uint8_t *bytes, size_t size, bool gray,
                         const image_box *box, image_view *region);

/* FNV-1a of an answer, pixels included. */
uint64_t digest(sluice_status st, const image_view *region);

#endif
