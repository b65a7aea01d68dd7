/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the maps of the pipeline, which are user functions. */
#ifndef SLUICE_SAMPLE_MAPS_H
#define SLUICE_SAMPLE_MAPS_H

#include "sample_loader.h"

/*
 * Calls the map or filter of a step of the plan; its inputs and outputs are in `buffers`.
 * *keep_out: false if a filter drops the sample. The first call of a worker creates the worker's
 * states. After a failure, io.ends_run is true if the failure ends the run.
 */
sluice_status sample_map(sample_loader *loader, uint32_t step, uint64_t sample, uint64_t pass,
                         void *const *buffers, bool *keep_out);

/* What an image map is called with, and gives. */
typedef struct map_image {
    image_view image; /* in: lines without gaps; out: that of the map, if is_written */
    bool is_written;
    bool is_warped;   /* the map has told how it moves the image */
    warp_matrix warp; /* from its result to the image */
} map_image;

/* The same for an image map: the map or filter of a step that is called with the whole image. */
sluice_status sample_map_image(sample_loader *loader, uint32_t step, const image_draws *draws,
                               void *const *buffers, map_image *image, bool *keep_out);

/* Frees this worker's states of the maps. Call it on the worker's thread. */
void sample_maps_end(sample_loader *loader);

/* The number of the step that calls a map. */
uint32_t sample_map_step(const struct plan_details *details, const custom_map *map);

/*
 * The length of a ragged column, clamped to its maximum: user code can write any number into the
 * column NAME_length.
 */
uint64_t sample_length(int32_t length, uint64_t most);

#endif
