/* SPDX-License-Identifier: Apache-2.0 */
/* The internal state of a dataset. */
#ifndef SLUICE_DATASET_STATE_H
#define SLUICE_DATASET_STATE_H

#include <pthread.h>

#include "error_int.h"
#include "sample_cache.h"
#include "source_stage_ops.h"
#include "stage.h"

enum { DATASET_MAX_STAGES = 64 };

/*
 * The number of samples assumed for a stream or after a filter, where it is unknown: larger than
 * any dataset, but small enough that sums of it fit in 64 bits.
 */
#define UNCOUNTED_SAMPLES (UINT64_C(1) << 61)

/*
 * The members of a split: the indices of the samples that it keeps, in order. Indices refer to the
 * samples before the split.
 */
typedef struct split_members {
    uint64_t *members; /* NULL: the stage is not a split */
    uint64_t count;
} split_members;

/* The data of a subset, weights or balance stage, computed when the dataset is opened. */
typedef struct index_table {
    void *block; /* subset_table, weight_table or class_table; NULL: the stage has no table, or no
                    samples */
    uint64_t bytes;
    uint64_t length; /* number of positions in a pass after the stage */
    uint64_t hash;   /* hash of the contents, part of the identity of a run */
} index_table;

struct sluice_dataset {
    sli_error error; /* the first error while building; every later call returns it */
    dataset_stage stages[DATASET_MAX_STAGES];
    uint32_t stage_count;
    stage_schema schema;        /* columns after the last stage */
    stage_schema source_schema; /* columns of the source, with the roles of the stages `column`: the
                                   input of the first stage after it */
    stage_schema *given_schema; /* the same without these stages; NULL: there are none */

    pthread_mutex_t lock; /* guards the fields below while the dataset is being opened; once it is
                             open, they are read-only */
    bool opened;
    const source_ops *ops; /* operations of the source; NULL: the source was not opened yet */
    void *source;
    uint64_t source_count;
    split_members splits[DATASET_MAX_STAGES]; /* members of each split, indexed by stage */
    index_table tables[DATASET_MAX_STAGES];   /* index tables, indexed by stage */
    uint32_t image_width; /* image width after all geometry, if it had to be read from the files;
                             otherwise 0 */
    uint32_t image_height;
    stage_schema opened_schema; /* `schema` with this image size */
    char sized_by[256];   /* the sample whose image this size is; "": the stages determine it */
    bool cache_tried;     /* a shared cache was created, or could not be */
    uint32_t cache_ranks; /* ranks that share the cache; 0 or 1: it is private */
    sample_cache *cache;  /* of the stage cache, created for the first run and kept for later
                             ones; NULL: not yet, or there is no such stage. Guarded by `lock`
                             until it is created */
    _Atomic uint32_t image_notes; /* bit i: sli_image_note i was logged */
};

/* Returns the dataset's first error as the error of this call; OK if no error occurred. */
sluice_status dataset_status(sluice_dataset *dataset, const char *function);

/*
 * Checks that the dataset is not open. E_INVALID: the dataset is open. Other threads may then use
 * its stages and its error, so neither may change. `name`: the caller's name without
 * "sluice_dataset_".
 */
sluice_status dataset_check_unused(sluice_dataset *dataset, const char *name);

/* Infers the columns after the first `count` stages, including the image size once it is known. */
sluice_status dataset_schema_after(const sluice_dataset *dataset, uint32_t count,
                                   stage_schema *schema_out);

/* Returns the number of stages up to and including the last one that decodes or does geometry. */
uint32_t dataset_geometry_end(const sluice_dataset *dataset);

/*
 * Opens the source, unless it is open. The caller holds the lock, or no other thread can access the
 * dataset yet.
 */
sluice_status dataset_source_open(sluice_dataset *dataset);
void dataset_source_close(sluice_dataset *dataset);

/* True if the source's columns are unknown until it is open. It is then opened when it is added. */
bool dataset_opens_early(const sluice_dataset *dataset);

/*
 * Opens the source, computes the tables of index stages and finds unknown sizes, once. Callable
 * from any thread.
 */
sluice_status dataset_open(sluice_dataset *dataset);

/*
 * Like dataset_open(), for functions that access samples by number. E_UNSUPPORTED: the source is a
 * stream.
 */
sluice_status dataset_open_indexed(sluice_dataset *dataset);

/* Writes advice: what to add to the pipeline so that all images have the same size. */
void dataset_advise_size(const sluice_dataset *dataset, char *text, size_t size);

static inline const source_ops *dataset_source(const sluice_dataset *dataset)
{
    return dataset->ops != NULL ? dataset->ops : dataset->stages[0].def->source->ops;
}

/*
 * True if the source is a stream: read sequentially, with an unknown number of samples. The dataset
 * must be open.
 */
static inline bool dataset_is_stream(const sluice_dataset *dataset)
{
    return dataset_source(dataset)->next != NULL;
}

/* E_UNSUPPORTED: the source is a stream, so its samples have no numbers. The dataset must be open.
 */
sluice_status dataset_check_numbers(const sluice_dataset *dataset);

/* Adds the text of stages [first, end). Parsing the text yields the same stages. */
void dataset_print(const sluice_dataset *dataset, uint32_t first, uint32_t end, sli_text *text);

/*
 * Returns a hash of the source's sample names: of all names, or of up to 1024 evenly spaced ones.
 * The dataset must be open.
 */
uint64_t dataset_names_hash(const sluice_dataset *dataset);

/*
 * Returns the number of earlier stages with the same name as stage i. It is part of the key of the
 * stage's random numbers, so adding or removing other stages does not change them.
 */
uint32_t dataset_occurrence(const sluice_dataset *dataset, uint32_t i);

/*
 * Returns the stage that decodes a column of the source, or the first stage decode if none does:
 * masks are decoded by that one. NULL: there is no stage decode.
 */
const dataset_stage *dataset_decode_of(const sluice_dataset *dataset, uint32_t column);

/* The modes of the decode stage, and what it does with images of more than 8 bits. */
enum {
    DECODE_RGB,
    DECODE_GRAY,
    DECODE_INDEX,
    DECODE_U16,
    DECODE_U16_RGB,
    DECODE_F32,
    DECODE_F32_RGB
};
enum { DECODE_DEPTH_OF_FILE, DECODE_DEPTH_8 };

/* The arguments of the decode stage. */
typedef struct decode_args {
    const char *columns;
    uint32_t mode;  /* DECODE_RGB, and so on */
    uint32_t depth; /* DECODE_DEPTH_8: converted to 8 bits; DECODE_DEPTH_OF_FILE: an error */
    uint64_t max_pixels;
    bool fast_scale;
    bool orient; /* the Exif orientation of files is applied */
    const char *formats;
    image_formats allowed; /* what `formats` names, */
    image_formats by_name; /* and what it has for files with the extension of the format */
} decode_args;

/* What the stage makes of an image. */
static inline uint32_t decode_channels(const decode_args *args)
{
    return args->mode == DECODE_RGB || args->mode == DECODE_U16_RGB || args->mode == DECODE_F32_RGB
               ? 3
               : 1;
}

static inline image_element decode_element(const decode_args *args)
{
    return args->mode >= DECODE_F32 ? IMAGE_F32 : args->mode >= DECODE_U16 ? IMAGE_U16 : IMAGE_U8;
}

/* The formats that the stage decode opens of a sample. */
static inline image_formats decode_formats(const decode_args *args, const sample_data *data)
{
    return args->allowed | (data->named & args->by_name);
}

/* How images are decoded if no stage says so. */
extern const decode_args dataset_no_decode;

/* The arguments of the stage that decodes a column of the source, or dataset_no_decode. dataset:
 * NULL: the file is of none. */
const decode_args *dataset_decode_args(const sluice_dataset *dataset, uint32_t column);

#endif
