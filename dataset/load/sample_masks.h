/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the geometry of an image to its masks, by nearest neighbour, so that values are never
 * mixed.
 */
#ifndef SLUICE_SAMPLE_MASKS_H
#define SLUICE_SAMPLE_MASKS_H

#include "image_decoder.h"
#include "resample.h"
#include "sample_transform.h"

/*
 * The worker's decoder, resampler and buffers, for use by masks. Masks are processed after their
 * image, when these tools are idle.
 */
typedef struct mask_tools {
    image_decoder *decoder;
    image_resampler *resampler;
    image_buffer *between; /* two buffers */
    image_buffer *turned;  /* for image_turn() */
    bool *ends_run;        /* set by an error that concerns the whole run */
} mask_tools;

/*
 * Decodes a mask, if it is encoded, applies the geometry of its image, and writes it into its row,
 * u8 (height, width), of lines of `stride` bytes: the width, unless there are no warps. E_CORRUPT:
 * its size differs from the image's, or it is corrupt; E_UNSUPPORTED: its format does not store
 * class numbers; E_NO_MEMORY.
 */
sluice_status mask_follow(const sli_plan *plan, const sample_transform *transform,
                          const sample_data *data, const mask_tools *tools, uint8_t *row,
                          size_t stride);

#endif
