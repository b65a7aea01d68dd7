/* SPDX-License-Identifier: Apache-2.0 */
/* The steps behind geometry: maps of the user's, and conversions between them. */
#ifndef SLUICE_SAMPLE_MAPS_H
#define SLUICE_SAMPLE_MAPS_H

#include "sample_loader.h"

/*
 * Calls the map of a step of the plan, from and to the buffers of a sample. At the first call of a
 * worker it makes the worker's states. On failure io.ends_run says whether that ends the run.
 */
sluice_status sample_map(sample_loader *loader, uint32_t step, uint64_t sample, uint64_t pass,
                         void *const *buffers);

/* Frees the states of this worker's maps, on its thread. */
void sample_maps_end(sample_loader *loader);

#endif
