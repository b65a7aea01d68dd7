/* SPDX-License-Identifier: Apache-2.0 */
/* Mixes an image with copies of it that chains of colour operations and warps have changed. */
#ifndef SLUICE_IMAGE_MIX_H
#define SLUICE_IMAGE_MIX_H

#include <sluice/status.h>

#include "color_chain.h"
#include "image.h"

/* The memory of mixes; zero-initialise. */
typedef struct mix_buffers {
    image_buffer sums;      /* (height, width, channels) floats */
    image_buffer copies[2]; /* (height, width, channels) */
    image_buffer memory;    /* of color_line() */
} mix_buffers;

/* Reserves the memory for the mixes of a chain, if it has any. Returns E_NO_MEMORY on failure. */
sluice_status mix_reserve(mix_buffers *buffers, const color_chain *chain, uint32_t channels);
void mix_free(mix_buffers *buffers);

/*
 * Computes share * image + weights[0] * copy 0 + weights[1] * copy 1 ..., in this order, into
 * buffers->sums. Products and sums are rounded to single precision. Operations of the mix's chains
 * that need statistics become tables.
 */
void mix_run(mix_buffers *buffers, color_mix *mix, const image_view *image);

/* Writes line y of the sums, truncated to bytes. */
void mix_line(const mix_buffers *buffers, const image_view *image, uint32_t y, uint8_t *to);

#endif
