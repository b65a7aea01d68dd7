/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device maps: the user's functions between GetNext and the step of a run, or between GetNext and
 * the loop of a channel. They read the tensors of a batch, and write tensors that belong to the run
 * or channel.
 */
#ifndef SLUICE_DEVICE_MAPS_H
#define SLUICE_DEVICE_MAPS_H

#include <sluice/device.h>
#include <sluice/model.h>

#include "status_int.h"
#include "text_int.h"

/* Maximum number of maps of a run or channel. */
enum { DEVICE_MAPS_MOST = 16 };

typedef struct device_maps {
    sluice_device_map *maps; /* (count) copies; names and outputs are borrowed */
    uint32_t count;
    sluice_column columns[SLUICE_MAX_COLUMNS]; /* after all maps, as steps see them */
    uint32_t column_count;
    uint32_t output_count; /* of all maps */

    sluice_device *device; /* the fields below are set by device_maps_open() */
    uint32_t rows;         /* batch size */
    uint32_t sets;
    void *memory;           /* the bytes of all outputs, in memory of the device */
    uint64_t bytes;         /* of memory */
    sluice_tensor *tensors; /* (sets, output_count), in the order of the maps */
    sluice_tensor *inputs;  /* (sets, count, SLUICE_MAX_COLUMNS): inputs after each map */
} device_maps;

/*
 * Copies and checks an array of maps, of the struct that `call` reads. Returns E_INVALID with the
 * map's name. After an error, too, device_maps_close() frees what exists.
 */
sluice_status device_maps_read(const sluice_device_map *const *list, uint64_t count,
                               const char *call, device_maps *maps_out);

/* Sets the columns after the maps; `before` are those of the dataset. */
sluice_status device_maps_plan(device_maps *maps, const sluice_column *before, uint32_t count);

/* Bytes of the outputs for `sets` batches of `rows`; UINT64_MAX if they overflow. */
uint64_t device_maps_bytes(const device_maps *maps, uint32_t rows, uint32_t sets);

/* Allocates the outputs. Without maps nothing is allocated. */
sluice_status device_maps_open(device_maps *maps, sluice_device *device, uint32_t rows,
                               uint32_t sets);

/* Call once nothing calls the maps any more. Zero-initialised maps are permitted. */
void device_maps_close(device_maps *maps);

/*
 * Calls the maps in order with their outputs in this set. view->inputs are those of the batch; they
 * become the inputs after all maps, valid until the next call with this set. Returns the error of
 * the map that failed, with its name.
 */
sluice_status device_maps_call(device_maps *maps, uint32_t set, sluice_step *view);

/* The inputs after all maps, (column_count), of the last call with this set. There is a map. */
const sluice_tensor *device_maps_inputs(const device_maps *maps, uint32_t set);

/* A hash of the names and versions; 0 without maps. */
uint64_t device_maps_identity(const device_maps *maps);

/* Adds the names and versions to a text: "blur" version=2, "warp" version=0. Nothing without maps.
 */
void device_maps_print(const device_maps *maps, sli_text *text);

/* Logs a warning for each map without a version, for a run that resumes. */
void device_maps_warn_unversioned(const device_maps *maps);

/* The names as a list: "blur, warp". Truncated to fit `size`, which is at least 1. Returns text. */
const char *device_maps_names(const device_maps *maps, char *text, size_t size);

#endif
