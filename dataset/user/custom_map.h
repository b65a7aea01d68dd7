/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map or filter, which calls a user function: its settings, copied and checked, and its effect on
 * the columns. A filter is a map without outputs.
 */
#ifndef SLUICE_CUSTOM_MAP_H
#define SLUICE_CUSTOM_MAP_H

#include <pthread.h>

#include "custom_columns.h"
#include "struct_size_int.h"

typedef struct custom_map {
    char name[CUSTOM_NAME_SIZE];
    sluice_map of; /* copy of the caller's struct; its name, inputs and outputs point to the
                      caller's memory, so they must not be used */
    sluice_status (*filter)(sluice_sample *sample, uint32_t *keep_out,
                            void *user); /* NULL: not a filter */
    uint32_t input_count;
    char inputs[SLUICE_MAX_COLUMNS][SLUICE_NAME_SIZE];
    custom_columns outputs;
    bool before_geometry; /* stages of geometry or colours follow, or images have no common size */
    bool guards;          /* its samples have guard bytes around outputs */
    uint32_t note;        /* filter: 1 + the image note of a sample that it drops; 0: none */
    bool is_added;        /* the map was added to a dataset, which then owns it */
    pthread_mutex_t lock; /* held during calls of a serial map */
} custom_map;

/* The arguments of the map and filter stages. */
typedef struct map_args {
    const char *name;
    uint64_t version;
    custom_map *map; /* NULL: the stage was parsed from text, for example from a checkpoint */
} map_args;

/* The public structs, for sli_struct_read(). */
extern const sli_struct custom_map_struct;
extern const sli_struct custom_filter_struct;

/* stage_def.release of maps and filters: frees the map if the dataset owns it. `args`: map_args. */
void custom_map_release(void *args);

/*
 * Copies and checks the settings. Returns E_INVALID, E_UNSUPPORTED or E_NO_MEMORY on failure.
 * `call` is the name of the calling function, for messages.
 */
sluice_status custom_map_make(const sluice_map *map, const char *call, custom_map **map_out);
sluice_status custom_filter_make(const sluice_filter *filter, const char *call,
                                 custom_map **map_out);

/* Appends the stage of a map or filter, and transfers args->map to the dataset; frees it on an
 * error. */
sluice_status custom_map_add(sluice_dataset *dataset, const stage_def *def, const map_args *args);

/* Frees a map; calls its close() if it was added to a dataset. Accepts NULL. */
void custom_map_free(custom_map *map);

/*
 * Returns the outputs, given the columns `before` the map: a height and width of 0 are replaced by
 * those of the image in `before`.
 */
void custom_map_outputs(const custom_map *map, const stage_schema *before, custom_columns *outputs);

/* map_ops.goes_before_geometry of maps and filters, and .declares_size of maps; `args`: map_args.
 */
bool custom_map_goes_before_geometry(void *args, const stage_schema *before, bool follows);
bool custom_map_declares_size(const void *args);

/* True for an image map: it is before geometry and reads or writes the image, so it is called with
 * the whole image. */
bool custom_map_is_image_map(const custom_map *map, const stage_schema *before);

/* Checks a map before geometry that is not an image map: it must not work on the image, or on what
 * follows the image. E_INVALID: it does. */
sluice_status custom_map_check_before_geometry(const custom_map *map, const stage_schema *schema);

/*
 * Updates the columns to those after the map. E_INVALID: an input does not exist, or columns are
 * incompatible.
 */
sluice_status custom_map_infer(const custom_map *map, stage_schema *schema);

/* True if all inputs have their values as soon as the source has read a sample
 * (schema_is_early()). */
bool custom_map_is_early(const custom_map *map, const stage_schema *schema);

#endif
