/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_loop.h"

sluice_status gpu_loop_open(gpu_loop *loop, const char *device, const char *pipeline,
                            uint64_t batches, uint32_t held, const sluice_device_map *map)
{
    sluice_channel_config config;
    sluice_status st = sluice_device_open(device, &loop->device);

    sluice_channel_config_init(&config);
    config.batches = batches;
    config.seed = 7;
    config.held = held;
    config.device_maps = &map;
    config.device_map_count = map != NULL;
    if (st == SLUICE_OK) {
        st = sluice_dataset_parse(pipeline, &loop->dataset);
    }
    if (st == SLUICE_OK) {
        st = sluice_channel_open(loop->device, loop->dataset, &config, &loop->channel);
    }
    return st == SLUICE_OK ? sluice_channel_start(loop->channel) : st;
}

void gpu_loop_close(gpu_loop *loop)
{
    sluice_channel_close(loop->channel);
    sluice_dataset_destroy(loop->dataset);
    sluice_device_close(loop->device);
}
