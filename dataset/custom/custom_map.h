/* SPDX-License-Identifier: Apache-2.0 */
/* A map of the user's: its settings, copied and checked, and what it makes of the columns. */
#ifndef SLUICE_CUSTOM_MAP_H
#define SLUICE_CUSTOM_MAP_H

#include <pthread.h>

#include "custom_columns.h"

typedef struct custom_map {
    char name[CUSTOM_NAME_SIZE];
    sluice_map of; /* its name, inputs and outputs are the caller's: not to be used */
    uint32_t input_count;
    char inputs[SLUICE_MAX_COLUMNS][SLUICE_NAME_SIZE];
    custom_columns outputs;
    bool guards;          /* of its samples */
    bool is_added;        /* to a dataset, which frees it */
    pthread_mutex_t lock; /* held by calls of a serial map */
} custom_map;

/* The arguments of the stage. */
typedef struct map_args {
    const char *name;
    uint64_t version;
    custom_map *map; /* NULL: the stage was read from a text, as of a checkpoint */
} map_args;

/* E_INVALID, E_UNSUPPORTED, E_NO_MEMORY; `call` is for errors. */
sluice_status custom_map_make(const sluice_map *map, const char *call, custom_map **map_out);

/* Calls close() if it was added. NULL is fine. */
void custom_map_free(custom_map *map);

/*
 * The outputs at the sizes that they have behind the columns `before`: height and width of an image
 * that are 0 are those of the image there.
 */
void custom_map_outputs(const custom_map *map, const stage_schema *before, custom_columns *outputs);

/* The columns after the map. E_INVALID: an input is not there, or columns do not go together. */
sluice_status custom_map_infer(const custom_map *map, stage_schema *schema);

#endif
