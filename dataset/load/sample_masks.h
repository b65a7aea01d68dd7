/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the geometry of an image to its masks, by nearest neighbour, so that values are never
 * mixed.
 */
#ifndef SLUICE_SAMPLE_MASKS_H
#define SLUICE_SAMPLE_MASKS_H

#include "sample_loader.h"

/*
 * Decodes a mask, if it is encoded, applies the geometry of its image, and writes it into its row,
 * u8 (height, width), of lines of `stride` bytes: the width, unless there are no warps. The image
 * must be done: the mask gets the loader's tools. A mask of the size that the image has in its file
 * gets the image's orientation, if it has none of its own. E_CORRUPT: its size differs from the
 * image's, or it is corrupt; E_UNSUPPORTED: its format does not store class numbers, and
 * io.ends_run is set as by image_rules_open_mask(); E_NO_MEMORY.
 */
sluice_status mask_follow(sample_loader *loader, uint64_t sample, const sample_transform *transform,
                          const sample_data *data, uint8_t *row, size_t stride);

#endif
