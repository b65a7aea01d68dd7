/* SPDX-License-Identifier: Apache-2.0 */
/* What a dataset is made of, for the files of this folder. */
#ifndef SLUICE_DATASET_STATE_H
#define SLUICE_DATASET_STATE_H

#include <pthread.h>

#include "error_int.h"
#include "stage.h"

enum { DATASET_MAX_STAGES = 64 };

/* The members of a split: indices of what comes before it that it keeps, in order. */
typedef struct split_members {
    uint64_t *members; /* NULL: this stage is no split */
    uint64_t count;
} split_members;

struct sluice_dataset {
    sli_error error; /* the first of building; every later call raises it */
    dataset_stage stages[DATASET_MAX_STAGES];
    uint32_t stage_count;
    stage_schema schema;        /* after the last stage */
    stage_schema source_schema; /* of the source: the input of the first stage after it */

    pthread_mutex_t lock; /* guards what follows while it is being opened; later it is only read */
    bool opened;
    const source_ops *ops; /* of the source, NULL until it is opened */
    void *source;
    uint64_t source_count;
    split_members splits[DATASET_MAX_STAGES]; /* by stage */
    uint32_t image_width; /* after all geometry, where only the files could tell; else 0 */
    uint32_t image_height;
    stage_schema opened_schema; /* schema with this size */
    char shape_note[400];       /* where it comes from; "" when it was known before */
};

/* The kept error of building as this call's; OK when there is none. */
sluice_status dataset_status(sluice_dataset *dataset, const char *function);

/*
 * E_INVALID the dataset was opened: other threads may use its stages and its kept error, so neither
 * changes any more. `name` is that of the call, behind "sluice_dataset_".
 */
sluice_status dataset_check_unused(sluice_dataset *dataset, const char *name);

/* The columns after the first `count` stages, with the size of the image once that is known. */
sluice_status dataset_schema_after(const sluice_dataset *dataset, uint32_t count,
                                   stage_schema *schema_out);

/* How many stages there are up to the last one that decodes or does geometry. */
uint32_t dataset_geometry_end(const sluice_dataset *dataset);

/* Opens the source, unless it is open. Under the lock, or before other threads know the dataset. */
sluice_status dataset_source_open(sluice_dataset *dataset);
void dataset_source_close(sluice_dataset *dataset);

/* Opens the source, computes splits and finds unknown sizes, once. Any thread. */
sluice_status dataset_open(sluice_dataset *dataset);

/* The same for calls that take samples by their numbers: E_UNSUPPORTED for a stream. */
sluice_status dataset_open_indexed(sluice_dataset *dataset, const char *function);

/* Writes what to add to the pipeline so that all images have one size. */
void dataset_advise_size(const sluice_dataset *dataset, char *text, size_t size);

static inline const source_ops *dataset_source(const sluice_dataset *dataset)
{
    return dataset->ops != NULL ? dataset->ops : dataset->stages[0].def->source;
}

/* Do samples come in sequence, their number unknown? The dataset is open. */
static inline bool dataset_is_stream(const sluice_dataset *dataset)
{
    return dataset_source(dataset)->next != NULL;
}

/* Adds the text of stages [first, end): parsing it gives them again. */
void dataset_print(const sluice_dataset *dataset, uint32_t first, uint32_t end, sli_text *text);

/* A hash of samples' names in the source, of all or of 1024 spread over them. The dataset is open.
 */
uint64_t dataset_names_hash(const sluice_dataset *dataset);

/*
 * Which occurrence of its name stage i is, from 0: what its random numbers are keyed by, so that
 * editing one stage does not reshuffle the others.
 */
uint32_t dataset_occurrence(const sluice_dataset *dataset, uint32_t i);

/* The arguments of decode. */
typedef struct decode_args {
    uint32_t mode; /* 0 rgb, 1 gray */
    uint64_t max_pixels;
    bool fast_scale;
} decode_args;

#endif
