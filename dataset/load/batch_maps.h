/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the maps of whole batches (custom_batch.h). */
#ifndef SLUICE_BATCH_MAPS_H
#define SLUICE_BATCH_MAPS_H

#include "queue_int.h"
#include "sample_loader.h"

/*
 * Calls the plan's maps of batches, in order, for a batch whose header is filled. The first call of
 * a worker creates its states of the maps. On failure loader->last.stage is the name of the map
 * that failed.
 */
sluice_status batch_maps_run(sample_loader *loader, const sli_layout *layout,
                             const sli_batch *batch);

/* Frees this worker's states of the maps. Call it on the worker's thread. */
void batch_maps_end(sample_loader *loader);

#endif
