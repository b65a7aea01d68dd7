/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls image maps. An image map is a map or filter that is called with the whole image, before
 * geometry (custom_map_is_image_map()).
 */
#ifndef SLUICE_IMAGE_MAPS_H
#define SLUICE_IMAGE_MAPS_H

#include "current_image.h"

/* The first group in [first, end) that calls an image map; `end` if there is none. */
uint32_t image_maps_next(const plan_list *list, uint32_t first, uint32_t end);

/*
 * Calls the image map of a group with the current image, which becomes that of the map if it writes
 * one. If the map moves the image, a step of `transform` says how. Sets loader->last.dropped
 * if a filter drops the sample. E_INVALID: the map has changed the size of the image and not said
 * how, and something follows it.
 */
sluice_status image_maps_call(sample_loader *loader, sample_transform *transform,
                              const plan_group *group, const image_draws *draws,
                              void *const *buffers, current_image *current, uint64_t *ticks);

/* Checks that a further image can have the steps of the first one. E_INVALID: a map has moved the
 * first one. */
sluice_status image_maps_check_further(const sample_transform *transform);

#endif
