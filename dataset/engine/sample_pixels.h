/* SPDX-License-Identifier: Apache-2.0 */
/* Processes the images of a sample, from encoded bytes or pixels to the row. */
#ifndef SLUICE_SAMPLE_PIXELS_H
#define SLUICE_SAMPLE_PIXELS_H

#include "sample_loader.h"

/*
 * Processes an image of a sample. For the first image (partner NULL), stores its geometry and flip
 * in loader->way; a further image gets the same geometry and flip.
 */
sluice_status sample_process_image(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   const sample_data *data, const plan_partner *partner,
                                   void *const *buffers, uint8_t *flags, uint64_t ticks);

#endif
