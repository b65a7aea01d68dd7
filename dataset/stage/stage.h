/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a stage. Every stage of the library is one stage_def in a file of its own, and
 * one line in stages.def; user code registers named stages (stage_registry.h). The
 * parameter table determines parsing, checks, description and help. What the stage does is in the
 * operations of its kind, which are in headers of their own (geometry_ops.h, ...). The kinds of
 * stages:
 *
 *   a source       opens files, returns the number of samples, reads a sample
 *   an index stage maps each position of a pass to a position of its input, a pure function
 *                  (order.h)
 *   decode         turns a file's bytes into an image; at most one per pipeline
 *   a column stage chooses, orders and names columns without copying them
 *   cache          keeps samples as the stages before it leave them, for later passes
 *   device         moves all later stages of the image to GetNext, which runs on the device
 *   a geometry     returns the box to cut out of an image, and the size to resize it to; the
 *                  planner fuses adjacent ones with each other and with decode
 *   a colour stage changes the values of the image's pixels, line by line as geometry writes them,
 *                  or warps the image
 *   a conversion   changes the conversion program (flip, cast, normalise, layout), which runs
 *                  last, in the workers or on the device
 *   an array stage computes new values of a plain column, for example of another type
 *   pack           joins documents to windows of tokens, which are the rows of batches
 *   bucket         chooses samples of similar length for each batch
 *   a map          calls a user function: an image map with the whole image, before geometry, any
 *                  other one after all geometry; a filter is a map that drops samples, and is
 *                  called as soon as its inputs are available
 *   batch          forms batches; only batch maps may follow
 *   a batch map    calls a user function for each batch, or mixes the samples of the batch
 */
#ifndef SLUICE_STAGE_H
#define SLUICE_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/dataset.h>

#include "stage_param.h"
#include "stage_schema.h"
#include "text_int.h"

/* The operations of each kind of stage, each in a header of its own: source_stage_ops.h, ... */
struct source_stage_ops;
struct geometry_ops;
struct color_ops;
struct conversion_ops;
struct flip_ops; /* conversion_ops.h */
struct array_ops;
struct map_ops;
struct batch_view;

/* ---- the definition --------------------------------------------------------------------- */

typedef enum stage_kind {
    STAGE_SOURCE,
    STAGE_INDEX,
    STAGE_COLUMNS,
    STAGE_CACHE,
    STAGE_DEVICE,
    STAGE_DECODE,
    STAGE_GEOMETRY,
    STAGE_COLOR,
    STAGE_CONVERSION,
    STAGE_ARRAY,
    STAGE_PACK,
    STAGE_BUCKET,
    STAGE_MAP,
    STAGE_BATCH,
    STAGE_BATCH_MAP
} stage_kind;

typedef enum index_kind {
    INDEX_NONE,
    INDEX_SHUFFLE,
    INDEX_SHARD,
    INDEX_SPLIT,
    INDEX_TAKE,
    INDEX_SKIP,
    INDEX_REPEAT,
    INDEX_SUBSET,
    INDEX_WEIGHTS,
    INDEX_BALANCE,
    INDEX_OF_SOURCE, /* the source's own order, which is not a stage */
    INDEX_OF_PARTS   /* the order of a group's parts, which is not a stage */
} index_kind;

typedef struct stage_def {
    const char *name;
    const char *summary; /* one-line help text */
    const char *gives;   /* types and shapes of input and output, for help */
    /* Optional, printed by `sluice help STAGE` alone: formulas, units, bounds, references. Each
     * line is a paragraph; a line that begins with a blank is not wrapped. */
    const char *details;
    const char *elsewhere; /* optional: its names in torchvision, DALI and so on, with blanks */
    /* Optional: it and stages that it needs around it, as they may follow `decode`; required for
     * stages of images with required arguments. Printed by the help, shown in the pictures of the
     * guide. */
    const char *example;
    stage_kind kind;
    index_kind index; /* STAGE_INDEX only */
    const stage_param *params;
    uint32_t param_count;
    size_t args_size;

    /* Optional: completes arguments, and checks arguments that depend on each other. */
    sluice_status (*check)(void *args);

    /* Optional: called for each copy of the arguments that is made, before release() is. */
    void (*retain)(void *args);

    /*
     * Optional: creates objects from the arguments, once these are checked and owned by the
     * dataset; release() frees them. Its error is an error of the stage.
     */
    sluice_status (*make)(const struct stage_def *def, void *args);

    /* Optional: the definition that these arguments select, of the same name and parameters. */
    const struct stage_def *(*variant)(const void *args);

    /* Optional: frees resources of the arguments, except for texts. */
    void (*release)(void *args);

    /*
     * Optional: updates the columns to those after this stage. E_INVALID: the stage cannot be used
     * at this position. Without it a colour stage does what color_ops says.
     */
    sluice_status (*infer)(const void *args, stage_schema *schema);

    bool declares;   /* infer() changes the columns of the source: it comes right after the source,
                        and after stages of order */
    bool selects;    /* its parameter `columns` names the images that it works on */
    bool draws;      /* its results depend on random numbers, so they differ between passes */
    bool ends_boxes; /* it works on boxes as all geometry leaves them, which may not follow it */
    bool adds_map;   /* it adds the column of ROLE_GEOMETRY */

    /* The operations of its kind; NULL: it is of another kind. Users that meet stages of any kind
     * ask by stage_kinds.h. */
    const struct source_stage_ops *source;
    const struct geometry_ops *geometry;
    const struct color_ops *color;
    const struct conversion_ops *conversion;
    const struct flip_ops *flip;   /* of a conversion or of geometry */
    const struct array_ops *array; /* of an array stage, or of a batch map of the library */
    const struct map_ops *map;     /* of a map or filter */

    /* STAGE_BATCH_MAP of the library: changes the rows of a batch in place, or their programs. With
     * `array` it also recomputes a column of each sample, if infer() has given it a new buffer. */
    void (*batch)(const void *args, const struct batch_view *batch);
} stage_def;

/* A stage of a dataset, with its arguments. */
typedef struct dataset_stage {
    const stage_def *def;
    union {
        max_align_t align;
        unsigned char bytes[STAGE_ARGS_SIZE];
    } args;
} dataset_stage;

/* Replaces the definitions of the flips among stages that a stage of geometry comes after. */
void stages_begin_geometry(dataset_stage *stages, uint32_t count);

/*
 * Updates the columns to those after a stage. E_INVALID: the stage cannot follow the stages before
 * it, or cannot work on these columns.
 */
sluice_status stage_infer(const dataset_stage *stage, stage_schema *schema);

/* The part of stage_infer() that does not depend on the order of stages. */
sluice_status stage_infer_columns(const dataset_stage *stage, stage_schema *schema);

/* ---- arguments, by the parameter tables (stage_args.c) ----------------------------------- */

/* Sets every argument to its default, or to zero if it has no default. */
sluice_status stage_args_default(const stage_def *def, void *args);

/*
 * Parses one argument. E_INVALID: the text is invalid; the message has the parameter, the text, and
 * the expected format.
 */
sluice_status stage_arg_parse(const stage_def *def, const stage_param *param, const char *text,
                              void *args);

/* Checks one argument. E_INVALID: it is out of bounds, or a required text is missing. */
sluice_status stage_arg_check(const stage_def *def, const stage_param *param, const void *args);

/* Checks the bounds of all arguments, then calls def->check(). */
sluice_status stage_args_check(const stage_def *def, void *args);

/* Checks that an argument is LOW,HIGH with least <= LOW <= HIGH <= most. */
sluice_status stage_check_range(const char *stage, const char *name, const param_reals *range,
                                double least, double most);

/* Fails for an argument that stage_check_range() cannot check: returns E_INVALID, with `want` as
 * the bounds in the message, such as "0 < LOW <= HIGH <= 1". */
sluice_status stage_wrong_range(const char *stage, const char *name, const param_reals *range,
                                const char *want);

/* The argument `columns` of a stage that works on chosen images; NULL: it has none. */
const char **stage_args_columns(const stage_def *def, void *args);

/* Appends the value of one argument to `text`. */
void stage_arg_print(const stage_param *param, const void *args, sli_text *text);

/* Appends " name=value" to `text` for every argument. */
void stage_args_print(const stage_def *def, const void *args, sli_text *text);

void stage_args_free(const stage_def *def, void *args);

/* ---- for the files of stages -------------------------------------------------------------- */

/* The last parameter of stages that work on several images (stage_def.selects). */
#define COLUMNS_PARAM(struct_type, member)                                                         \
    {                                                                                              \
        .name = "columns", .type = PARAM_TEXT,                                                     \
        .offset = PARAM_OFFSET_(struct_type, member, PARAM_TEXT), .default_text = "",              \
        .help = "images to work on, with commas; empty: all"                                       \
    }

#define STAGE_PARAMS(array) .params = (array), .param_count = sizeof(array) / sizeof((array)[0])

/*
 * Appends a stage. `args` is the stage's argument struct; its strings are copied. An error is also
 * stored in the dataset.
 */
sluice_status dataset_append(sluice_dataset *dataset, const stage_def *def, const void *args);

/* Like dataset_append(), but an error is not stored in the dataset. */
sluice_status dataset_try(sluice_dataset *dataset, const stage_def *def, const void *args);

/*
 * Stores an error that occurred before a stage could be appended. Returns the dataset's first
 * stored error.
 */
sluice_status dataset_keep(sluice_dataset *dataset, const stage_def *def, sluice_status status);

/* Creates a dataset from a source. */
sluice_status dataset_begin(const stage_def *def, const void *args, sluice_dataset **dataset_out);

#endif
