/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stage is. Every source, index stage and transform is one stage_def in a file of its own
 * and one line in stages/stage_table.c; from its parameter table follow parsing, checking,
 * describing and help, and from its functions what it does:
 *
 *   a source       opens its files, says how many samples there are, reads one
 *   an index stage maps positions of a pass to positions before it, as a pure function (order.h)
 *   decode         turns a file's bytes into an image (there is one)
 *   a column stage chooses, orders and names columns; nothing is copied for it
 *   a geometry     says which part of an image it cuts out and to what size it resizes that;
 *                  the planner composes neighbours and fuses them with decode
 *   a conversion   changes the conversion program (flip, cast, normalise, layout), which runs
 *                  last, in the workers or on the device
 *   an array stage computes a plain column of a sample anew, such as its type
 *   a map          calls a function of the user's, behind all geometry
 *   batch          the last one
 */
#ifndef SLUICE_STAGE_H
#define SLUICE_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/transforms.h>

#include "conversion_int.h"
#include "resize_filter.h"
#include "rng_int.h"
#include "source.h"
#include "stage_param.h"
#include "text_int.h"

/* ---- what transforms see ---------------------------------------------------------------- */

/* What geometry does to a column. */
typedef enum column_role {
    ROLE_PLAIN, /* nothing; the image is stage_schema.image */
    ROLE_MASK,  /* class numbers: resampled as the image is, by nearest neighbour */
    ROLE_BOXES, /* f32 (n, 4), x0 y0 x1 y1 in pixels of the image: moved, clipped, dropped */
    ROLE_OF_BOX /* an element per box, dropped with it */
} column_role;

/*
 * A buffer has the bytes of a column between the stage that writes them and the last one that reads
 * them. Those of a source are numbered as its columns are.
 */
typedef struct column_info {
    column_role role;
    uint32_t buffer;
    uint32_t boxes;  /* of ROLE_OF_BOX: the buffer of the boxes */
    uint32_t length; /* of ROLE_BOXES: the buffer i32 of how many there are */
} column_info;

enum { SCHEMA_MAX_BUFFERS = 64, SCHEMA_MAX_MAPS = 8 };

/* The columns as they are between two stages. */
typedef struct stage_schema {
    uint32_t buffer_count; /* so far */
    uint32_t column_count;
    sluice_column columns[SLUICE_MAX_COLUMNS];
    column_info infos[SLUICE_MAX_COLUMNS];
    int image; /* index of the column that transforms work on; -1: none */
    bool is_chw;
    bool is_converted;   /* a conversion stands before: geometry may not follow */
    bool image_is_fixed; /* a map reads it, or has written it: conversions write another buffer */
    bool maps_followers; /* a map has written masks or boxes */
    uint32_t map_count;
    double value_range;    /* what white is in the image's values: 255 for bytes */
    const char *own_order; /* the argument by which the source has an order of its own, which stages
                              of order may not change; NULL: it has none */
    uint32_t batch_size;   /* 0: not batched yet */
    bool drop_remainder;
} stage_schema;

/* The image's height, width, channels in a schema that is not CHW; 0: differs from sample to
 * sample. */
enum { SCHEMA_H = 0, SCHEMA_W = 1, SCHEMA_C = 2 };

/* E_INVALID unless there is a decoded image that no conversion has touched: what geometry needs. */
sluice_status schema_want_pixels(const stage_schema *schema, const char *stage);

/* Gives decoded masks the height and width that the image has by now. */
void schema_size_masks(stage_schema *schema);

/* Numbers the buffers of a source's columns. */
void schema_number_buffers(stage_schema *schema);

/* The column of that name; -1: there is none. */
int schema_find(const stage_schema *schema, const char *name);

/* E_INVALID with the names of the columns that there are: `stage` asked for another one. */
sluice_status schema_no_column(const stage_schema *schema, const char *stage, const char *name);

/*
 * Finds a plain column for an array stage to compute anew; it gets a buffer of its own. E_INVALID:
 * there is none of that name, or it is the image or follows it, or there are too many such stages.
 */
sluice_status schema_array_column(stage_schema *schema, const char *stage, const char *name,
                                  sluice_column **column_out);

/* E_INVALID: the name is no name of a column. `stage` is for the error. */
sluice_status schema_check_name(const char *name, const char *stage);

/* Is the height or width of the image not known yet? */
bool schema_lacks_size(const stage_schema *schema);

/* Sets the height and width of the image where they are not known. */
void schema_set_size(stage_schema *schema, uint32_t width, uint32_t height);

/* The columns of a source of files: encoded images and, where it has them, labels. */
void schema_of_files(stage_schema *schema, bool labelled);

/* E_INVALID: the name of a column is no identifier, or there twice. `stage` is for errors. */
sluice_status schema_check_names(const stage_schema *schema, const char *stage);

/*
 * The columns of a source of arrays, at most SLUICE_MAX_COLUMNS; one named image, u8 (H, W, C) with
 * C from 1 to 4, is the image that transforms work on. E_INVALID: bad or equal names. `stage` is
 * the source's name, for errors.
 */
sluice_status schema_of_arrays(const sluice_column *columns, uint32_t count, const char *stage,
                               stage_schema *schema);

/* What one geometry does to an image of given size: cut a box out (it may reach beyond the image:
 * zeros), then resize that. */
typedef struct stage_geometry {
    bool crops;
    int64_t x;
    int64_t y;
    uint32_t width;
    uint32_t height;
    bool resizes;
    uint32_t new_width;
    uint32_t new_height;
    resize_filter filter; /* where it resizes */
} stage_geometry;

/* Where a conversion shall be done: what each one's struct of arguments begins with. */
typedef enum offload_target {
    OFFLOAD_AUTO = 0,
    OFFLOAD_HOST = 1,
    OFFLOAD_DEVICE = 2
} offload_target;

typedef struct conversion_args {
    uint32_t offload; /* an offload_target */
} conversion_args;

/* What the conversions of a pipeline have come to so far. */
typedef struct conversion_state {
    sluice_dtype dtype;
    double scale[SLI_MAX_CHANNELS]; /* composed in double, rounded once at the end */
    double bias[SLI_MAX_CHANNELS];
    bool affine;
    bool flip;
    bool chw;
} conversion_state;

/* ---- the definition --------------------------------------------------------------------- */

typedef enum stage_kind {
    STAGE_SOURCE,
    STAGE_INDEX,
    STAGE_COLUMNS,
    STAGE_DECODE,
    STAGE_GEOMETRY,
    STAGE_CONVERSION,
    STAGE_ARRAY,
    STAGE_MAP,
    STAGE_BATCH
} stage_kind;

typedef enum index_kind {
    INDEX_NONE,
    INDEX_SHUFFLE,
    INDEX_SHARD,
    INDEX_SPLIT,
    INDEX_TAKE,
    INDEX_SKIP,
    INDEX_REPEAT,
    INDEX_OF_SOURCE /* no stage: the order of the source's own */
} index_kind;

typedef struct stage_def {
    const char *name;
    const char *summary; /* one line of help */
    const char *gives;   /* types and shapes in and out, for help */
    stage_kind kind;
    index_kind index; /* of STAGE_INDEX */
    const stage_param *params;
    uint32_t param_count;
    size_t args_size;

    /* Optional: completes and checks arguments that belong together. */
    sluice_status (*check)(void *args);

    /* Optional: frees what the arguments own besides texts. */
    void (*release)(void *args);

    /* Optional: what the columns are after this stage; E_INVALID when it cannot stand here. */
    sluice_status (*infer)(const void *args, stage_schema *schema);

    const source_ops *source; /* of STAGE_SOURCE */

    /* Of a STAGE_SOURCE whose columns are known once it is open: sets them. Such a source is opened
     * when it is added, and has no infer. */
    sluice_status (*source_schema)(const void *source, stage_schema *schema);

    /* Optional, of STAGE_SOURCE: which operations these arguments take; asked when it is opened.
     * E_NO_MEMORY, E_IO. */
    sluice_status (*choose_source)(const void *args, const source_ops **ops_out);

    /* Of STAGE_SOURCE: its arguments are part of the identity of a run. Those of files are not:
     * these may lie in another folder. */
    bool identifies;
    const char *path; /* which of them is not, as it is a path; NULL: all are */

    /* Of STAGE_GEOMETRY: what to do with an image of this size. E_INVALID when it does not fit. */
    sluice_status (*geometry)(const void *args, const sli_draws *draws, uint32_t width,
                              uint32_t height, stage_geometry *geometry_out);
    bool resizes; /* that geometry may set resizes */
    bool pads;    /* its crop may reach beyond the image */
    bool squares; /* its size of one number is that of a square */

    /* Of STAGE_ARRAY: the name of the column that it works on. */
    const char *(*array_column)(const void *args);

    /* Of STAGE_ARRAY: writes the column of one sample, whose types are those before and after the
     * stage. E_CORRUPT: a value that has no place there. */
    sluice_status (*array)(const void *args, const sluice_column *from_type, const void *from,
                           const sluice_column *to_type, void *to);

    /* Of STAGE_CONVERSION: folds itself into the program. */
    void (*convert)(const void *args, const stage_schema *before, conversion_state *state);

    /* Of STAGE_CONVERSION: it moves pixels and changes no value, so it gives the same bits wherever
     * it stands among conversions. */
    bool moves;

    /* Of a conversion that flips some rows: does it flip this one? */
    bool (*flips)(const void *args, const sli_draws *draws);
} stage_def;

/* A stage of a dataset. */
typedef struct dataset_stage {
    const stage_def *def;
    union {
        max_align_t align;
        unsigned char bytes[STAGE_ARGS_SIZE];
    } args;
} dataset_stage;

/* ---- arguments, by the parameter tables (stage_args.c) ----------------------------------- */

/* Sets every argument that has a default; the others are zero. */
sluice_status stage_args_default(const stage_def *def, void *args);

/* Reads one argument. E_INVALID with the parameter, what it got and what it wants. */
sluice_status stage_arg_parse(const stage_def *def, const stage_param *param, const char *text,
                              void *args);

/*
 * Finds the text (NULL is none) among the choices of the parameter of that name: what calls do that
 * take a choice as text. E_INVALID in the words of stage_arg_parse().
 */
sluice_status stage_arg_choose(const stage_def *def, const char *name, const char *text,
                               uint32_t *choice);

/* The same where NULL is the parameter's default. */
sluice_status stage_arg_choose_or_default(const stage_def *def, const char *name, const char *text,
                                          uint32_t *choice);

/* Checks bounds of all arguments and calls def->check. */
sluice_status stage_args_check(const stage_def *def, void *args);

/* Adds one argument's value as text. */
void stage_arg_print(const stage_param *param, const void *args, sli_text *text);

/* Adds " name=value" for every argument. */
void stage_args_print(const stage_def *def, const void *args, sli_text *text);

void stage_args_free(const stage_def *def, void *args);

/* ---- for the files of stages -------------------------------------------------------------- */

/* The parameter that every conversion has, last. */
#define OFFLOAD_PARAM                                                                              \
    {                                                                                              \
        .name = "offload", .type = PARAM_CHOICE, .offset = 0, .default_text = "auto",              \
        .choices = offload_targets, .help = "where it is done"                                     \
    }
extern const char *const offload_targets[];

#define STAGE_PARAMS(array) .params = (array), .param_count = sizeof(array) / sizeof((array)[0])

/* Appends a stage. `args` points to the stage's argument struct, whose strings are copied. */
sluice_status dataset_append(sluice_dataset *dataset, const stage_def *def, const void *args);

/* The same, but the dataset does not keep the error. */
sluice_status dataset_try(sluice_dataset *dataset, const stage_def *def, const void *args);

/* Keeps an error that a call met before it had a stage to append; returns the first error kept. */
sluice_status dataset_keep(sluice_dataset *dataset, const stage_def *def, sluice_status status);

/* Makes a dataset of a source. */
sluice_status dataset_begin(const stage_def *def, const void *args, sluice_dataset **dataset_out);

#endif
