/* SPDX-License-Identifier: Apache-2.0 */
/* Masks follow the geometry of their image, by nearest neighbour: values are never mixed. */
#ifndef SLUICE_SAMPLE_MASKS_H
#define SLUICE_SAMPLE_MASKS_H

#include "image_decoder.h"
#include "resample.h"
#include "sample_boxes.h"

/* What a worker lends for it: a mask comes after its image, so all of these are free. */
typedef struct mask_tools {
    image_decoder *decoder;
    image_resampler *resampler;
    image_buffer *between; /* two */
} mask_tools;

/*
 * Decodes a mask, unless it is pixels, and writes it into its row, u8 (height, width). E_CORRUPT:
 * another size than the image's, or damage; E_UNSUPPORTED: a format whose values are no class
 * numbers; E_NO_MEMORY.
 */
sluice_status mask_follow(const sli_plan *plan, const image_way *way, const sample_data *data,
                          const mask_tools *tools, uint8_t *row);

#endif
