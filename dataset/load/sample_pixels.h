/* SPDX-License-Identifier: Apache-2.0 */
/* Processes the images of a sample, from encoded bytes or pixels to the row. */
#ifndef SLUICE_SAMPLE_PIXELS_H
#define SLUICE_SAMPLE_PIXELS_H

#include "sample_loader.h"

/*
 * Processes an image of a sample. For the first image (further NULL), stores its geometry and flip
 * in loader->drawn.image; a further image gets the same geometry and flip.
 */
sluice_status sample_process_image(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   const sample_data *data, const plan_further_image *further,
                                   void *const *buffers, uint8_t *flags, uint64_t ticks);

/* A tile of a mosaic: its sample, and the pass that keys that sample's draws. */
typedef struct tile_task {
    uint32_t tile;
    uint64_t sample;
    uint64_t pass;
    sli_draws draws; /* of the stage mosaic */
} tile_task;

/*
 * Runs the geometry before the stage mosaic on an image of a tile, and resizes it into its part of
 * the canvas, *shown_out, which may be empty. For the first image, stores that geometry in
 * loader->drawn.tile: its last step is the resize, with a window of the part that is shown.
 * `buffers`: the columns of the tile's sample.
 */
sluice_status sample_process_tile(sample_loader *loader, const tile_task *task, uint32_t column,
                                  const sample_data *data, void *const *buffers,
                                  image_buffer *canvas, image_box *shown_out);

#endif
