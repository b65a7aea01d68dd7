/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a stage. Every stage of the library is one stage_def in a file of its own, and
 * one line in stages/stages.def; user code registers named stages (stage_registry.h). The
 * parameter table determines parsing, checks, description and help; the functions do the work. The
 * kinds of stages:
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
 *   a map          calls a user function, after all geometry; a filter is a map that drops samples,
 *                  and is called as soon as its inputs are available
 *   batch          forms batches; only batch maps may follow
 *   a batch map    calls a user function for each batch, or mixes the samples of the batch
 */
#ifndef SLUICE_STAGE_H
#define SLUICE_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/dataset.h>

#include "array_ops.h"
#include "batch_view.h"
#include "color_chain.h"
#include "color_ops.h"
#include "conversion_int.h"
#include "conversion_ops.h"
#include "geometry_ops.h"
#include "image.h"
#include "map_ops.h"
#include "point_pairs.h"
#include "resize_filter.h"
#include "rng_int.h"
#include "row_program_int.h"
#include "source.h"
#include "source_stage_ops.h"
#include "stage_param.h"
#include "stage_schema.h"
#include "text_int.h"

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
     * at this position.
     */
    sluice_status (*infer)(const void *args, stage_schema *schema);

    bool declares; /* infer() changes the columns of the source: it comes right after the source,
                      and after stages of order */
    bool selects;  /* its parameter `columns` names the images that it works on */
    bool draws;    /* its results depend on random numbers, so they differ between passes */

    const source_stage_ops *source;   /* STAGE_SOURCE only */
    const geometry_ops *geometry;     /* STAGE_GEOMETRY only */
    const color_ops *color;           /* STAGE_COLOR only */
    const conversion_ops *conversion; /* STAGE_CONVERSION only */
    const flip_ops *flip;             /* a flip, STAGE_CONVERSION or STAGE_GEOMETRY; else NULL */
    const array_ops *array;           /* STAGE_ARRAY, and batch maps of the library */
    const map_ops *map;               /* STAGE_MAP only */

    /* STAGE_BATCH_MAP of the library: changes the rows of a batch in place, or their programs. With
     * `array` it also recomputes a column of each sample, if infer() has given it a new buffer. */
    void (*batch)(const void *args, const batch_view *batch);
} stage_def;

/* What a stage makes of other datasets, its parts; GROUP_NONE: it is no group. */
static inline group_kind stage_group(const stage_def *def)
{
    return def->source != NULL ? def->source->group : GROUP_NONE;
}

/* The operations of a stage that makes views of the image; NULL: it does not. */
static inline const view_ops *view_ops_of(const stage_def *def)
{
    return def->geometry != NULL ? def->geometry->views : NULL;
}

/* The operations of a stage that makes the image of tiles; NULL: it does not. */
static inline const tile_ops *tile_ops_of(const stage_def *def)
{
    return def->geometry != NULL ? def->geometry->tiles : NULL;
}

/* The operations of a stage of geometry with branches; NULL: it is another stage. */
static inline const branch_ops *branch_ops_of(const stage_def *def)
{
    return def->geometry != NULL ? def->geometry->branches : NULL;
}

/* True if GetNext can run a stage of colours: each pixel depends on one point of the image. */
static inline bool stage_is_by_pixel(const stage_def *def, const void *args)
{
    return def->color != NULL && def->color->is_by_pixel != NULL && def->color->is_by_pixel(args);
}

/* The definition that replaces the one of a stage of colours after conversions; NULL: none does. */
static inline const stage_def *stage_when_converted(const stage_def *def)
{
    return def->color != NULL ? def->color->when_converted : NULL;
}

/* True for a conversion that moves pixels without changing values. */
static inline bool stage_moves(const stage_def *def)
{
    return def->conversion != NULL && def->conversion->moves;
}

/* True for a conversion that erases a rectangle of converted values. */
static inline bool stage_erases(const stage_def *def)
{
    return def->conversion != NULL && def->conversion->erases != NULL;
}

/* The definition that replaces the one of a flip if a stage of geometry comes after it; NULL: the
 * stage is no flip, or is of geometry already. */
static inline const stage_def *stage_before_geometry(const stage_def *def)
{
    return def->conversion != NULL ? def->conversion->before_geometry : NULL;
}

/* True if a stage takes a size of which one number means a square. */
static inline bool stage_squares(const stage_def *def)
{
    return def->geometry != NULL && def->geometry->squares;
}

/* True if a stage may warp the image: one of colours, or one with branches of such stages. */
static inline bool stage_warps(const stage_def *def, const void *args)
{
    const branch_ops *branches = branch_ops_of(def);
    const color_ops *color = def->color;

    return branches != NULL ? branches->warps(args)
                            : color != NULL && color->warps &&
                                  (color->warps_with == NULL || color->warps_with(args));
}

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

/* Returns E_INVALID for an argument that is not LOW,HIGH within bounds, such as `want` describes:
 * "0 <= LOW <= HIGH <= 1". */
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
        .name = "columns", .type = PARAM_TEXT, .offset = offsetof(struct_type, member),            \
        .default_text = "", .help = "images to work on, with commas; empty: all"                   \
    }

/* A parameter of every conversion. */
#define OFFLOAD_PARAM                                                                              \
    {                                                                                              \
        .name = "offload", .type = PARAM_CHOICE, .offset = 0, .default_text = "auto",              \
        .choices = offload_targets, .help = "where the stage runs"                                 \
    }
extern const char *const offload_targets[];

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
