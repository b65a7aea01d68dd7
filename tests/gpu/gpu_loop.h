/* SPDX-License-Identifier: Apache-2.0 */
/* A channel with its device and dataset, as a loop of a user's has them. */
#ifndef GPU_LOOP_H
#define GPU_LOOP_H

#include "gpu_kit.h"

/* Starts as {}. */
struct gpu_loop {
    sluice_device *device;
    sluice_dataset *dataset;
    sluice_channel *channel;
};

/* Opens and starts a channel of this many batches, with seed 7. held: batches held at once. map:
 * may be NULL. After an error the caller closes the loop, too. */
sluice_status gpu_loop_open(gpu_loop *loop, const char *device, const char *pipeline,
                            uint64_t batches, uint32_t held, const sluice_device_map *map);
void gpu_loop_close(gpu_loop *loop);

#endif
