/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of config.device_maps: they run between GetNext and the step, as a part of the
 * step's call, so every program and every mode calls and captures them with the step.
 */
#ifndef SLUICE_DEVICE_MAPS_H
#define SLUICE_DEVICE_MAPS_H

#include <sluice/train.h>

#include "status_int.h"

/* Maximum number of maps of a run. */
enum { DEVICE_MAPS_MOST = 16 };

typedef struct device_maps {
    sluice_device *device;
    sluice_model model;      /* the user's, whose step is called after the maps */
    sluice_device_map *maps; /* (count) copies; names and outputs are borrowed */
    uint32_t count;
    uint32_t rows;
    sluice_column columns[SLUICE_MAX_COLUMNS]; /* as the step sees them */
    uint32_t column_count;
    sluice_tensor *outputs; /* (output_count) of all maps, in their order */
    uint32_t output_count;
    sluice_tensor *inputs; /* (count, SLUICE_MAX_COLUMNS): inputs after each map */
} device_maps;

/* Copies and checks the maps of a config; `dataset` are the columns before them. Returns E_INVALID
 * with the map's name. After an error device_maps_close() frees what exists. */
sluice_status device_maps_read(const sluice_train_config *config, const sluice_column *dataset,
                               uint32_t dataset_count, uint32_t rows, device_maps *maps_out);

/* Allocates the outputs in memory of the device. The model is copied. */
sluice_status device_maps_open(device_maps *maps, sluice_device *device, const sluice_model *model);

/* Call after the programs that call the maps are destroyed. Zero-initialised maps are permitted. */
void device_maps_close(device_maps *maps);

/* A step: calls the maps, then the step of the model. user: a device_maps. */
sluice_status device_maps_step(const sluice_step *step, void *user);

/* A hash of the names and versions; 0 without maps. */
uint64_t device_maps_identity(const device_maps *maps);

#endif
