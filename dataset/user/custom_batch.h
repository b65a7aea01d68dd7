/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map of whole batches, which calls a user function for each batch: its settings, copied and
 * checked, its effect on the columns, and the batch that is passed to the function.
 */
#ifndef SLUICE_CUSTOM_BATCH_H
#define SLUICE_CUSTOM_BATCH_H

#include <pthread.h>

#include "custom_columns.h"
#include "rng_int.h"
#include "struct_size_int.h"

/* What a map of batches does with a column. */
typedef enum batch_access {
    BATCH_READS,   /* reads it */
    BATCH_CHANGES, /* reads it and writes it in place */
    BATCH_ADDS     /* writes a new column */
} batch_access;

/* A column of the batch that the function uses. */
typedef struct batch_column {
    char name[SLUICE_NAME_SIZE];
    batch_access access;
} batch_column;

typedef struct custom_batch {
    char name[CUSTOM_NAME_SIZE];
    sluice_map_batch of; /* copy of the caller's struct; its name and columns point to the caller's
                            memory, so they must not be used */
    uint32_t column_count;
    batch_column columns[SLUICE_MAX_COLUMNS];
    custom_columns added; /* the new columns */
    bool guards;          /* columns that it writes are in buffers with guard bytes */
    bool is_added;        /* the map was added to a dataset, which then owns it */
    pthread_mutex_t lock; /* held during calls of a serial map */
} custom_batch;

/* The arguments of the map_batch stage; the same fields as map_args. */
typedef struct batch_map_args {
    const char *name;
    uint64_t version;
    custom_batch *map; /* NULL: the stage was parsed from text, for example from a checkpoint */
} batch_map_args;

/* The public struct, for sli_struct_read(). */
extern const sli_struct custom_batch_struct;

/*
 * Copies and checks the settings. `call` is the name of the calling function, for messages. Returns
 * E_INVALID or E_NO_MEMORY on failure.
 */
sluice_status custom_batch_make(const sluice_map_batch *map, const char *call,
                                custom_batch **map_out);

/* Frees a map; calls its close() if it was added to a dataset. Accepts NULL. */
void custom_batch_free(custom_batch *map);

/* stage_def.release of map_batch: frees the map if the dataset owns it. `args`: batch_map_args. */
void custom_batch_release(void *args);

/*
 * Updates the columns to those after the map. E_INVALID: an input or changed column does not exist,
 * a new column exists already, or there are too many columns or maps.
 */
sluice_status custom_batch_infer(const custom_batch *map, stage_schema *schema);

/* ---- the batch that is passed to the function ------------------------------------------------ */

/* The value of a column in rows without a sample, in each element. */
typedef struct row_padding {
    size_t bytes; /* of one element; 0: the rows are zeros */
    uint8_t value[8];
} row_padding;

/* Where a column is during a call. */
typedef struct host_column {
    sluice_host_column view;
    uint8_t *slot;   /* its rows in the batch */
    uint8_t *buffer; /* with guards: memory of a column that is written; NULL: view.data is slot */
    row_padding padding;
    uint64_t hash; /* with guards: hash of a column that is only read */
} host_column;

struct sluice_host_batch {
    custom_batch *map;             /* NULL: not begun */
    struct sli_counters *counters; /* of the map and worker, for the time of its lock */
    sli_draws draws;
    void *worker;
    uint64_t *samples; /* (rows) */
    uint32_t rows;
    uint32_t valid_rows;
    host_column columns[SLUICE_MAX_COLUMNS]; /* indexed as map->columns */
};

/*
 * Makes the batch of a worker, and calls begin(). types[i] is the type of map->columns[i], and
 * paddings[i] the padding of its rows. On failure batch->map is NULL.
 */
sluice_status host_batch_begin(custom_batch *map, const sluice_column *types,
                               const row_padding *paddings, uint32_t rows,
                               sluice_host_batch *batch);
void host_batch_end(sluice_host_batch *batch);

/*
 * Calls the function. columns[i]: the rows of map->columns[i]; flags and samples: (rows), with
 * SLI_ROW_ZERO for rows without a sample. Returns the function's error; E_CALLBACK: it returned an
 * invalid status, or wrote outside its columns or to an input.
 */
sluice_status host_batch_call(sluice_host_batch *batch, uint8_t *const *columns,
                              const uint8_t *flags, const uint64_t *samples, uint32_t valid_rows,
                              const sli_draws *draws);

#endif
