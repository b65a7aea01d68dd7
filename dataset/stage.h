/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stage is. Every source, index stage and transform is one stage_def in a file of its own
 * and one line in stage_table.c; from its parameter table follow parsing, checking, describing and
 * help, and from its functions what it does:
 *
 *   a source       opens its files, says how many samples there are, reads one
 *   an index stage maps positions of a pass to positions before it, as a pure function (order.h)
 *   decode         turns a file's bytes into an image (there is one)
 *   a geometry     says which part of an image it cuts out and to what size it resizes that;
 *                  the planner composes neighbours and fuses them with decode
 *   a conversion   changes the conversion program (mirror, cast, normalise, layout), which runs
 *                  last, in the workers or on the device
 *   batch          the last one
 */
#ifndef SLUICE_STAGE_H
#define SLUICE_STAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/transforms.h>

#include "conversion_int.h"
#include "image_decoder.h"
#include "resize_filter.h"
#include "rng_int.h"
#include "text_int.h"

/* ---- arguments -------------------------------------------------------------------------- */

/* Types of arguments; beside each what it is in the struct of arguments. */
typedef enum param_type {
    PARAM_TEXT,   /* const char *, owned by the stage */
    PARAM_COUNT,  /* uint64_t */
    PARAM_REAL,   /* double */
    PARAM_BOOL,   /* bool */
    PARAM_SIZE,   /* param_size: "224" or "224,320" */
    PARAM_REALS,  /* param_reals: "0.5,1", or a name for the stage to look up */
    PARAM_SHAPE,  /* param_shape: "32,32,3" */
    PARAM_CHOICE, /* uint32_t, the index in choices */
    PARAM_DTYPE,  /* sluice_dtype */
    PARAM_SEED,   /* uint64_t; "run" is SLUICE_SEED_OF_RUN */
    PARAM_RANK    /* uint32_t; "run" is SLUICE_OF_RUN, "none" is PARAM_RANK_NONE */
} param_type;

enum { PARAM_MAX_REALS = 4 };
#define PARAM_RANK_NONE (UINT32_MAX - 1)

typedef struct param_size {
    uint32_t height;
    uint32_t width; /* 0: only one number was given */
} param_size;

typedef struct param_reals {
    uint32_t count;
    double values[PARAM_MAX_REALS];
    char name[16]; /* instead of numbers; "" when numbers were given */
} param_reals;

typedef struct param_shape {
    uint32_t rank;
    uint64_t dims[SLUICE_MAX_RANK];
} param_shape;

typedef struct stage_param {
    const char *name;
    param_type type;
    size_t offset;            /* in the stage's struct of arguments */
    const char *default_text; /* NULL: must be given */
    double low;               /* bounds of numbers, both included; 0, 0: none */
    double high;
    const char *const *choices; /* of PARAM_CHOICE; ends with NULL */
    const char *help;
} stage_param;

/* Room for any stage's struct of arguments. */
enum { STAGE_ARGS_SIZE = 160 };

/* ---- what transforms see ---------------------------------------------------------------- */

/* The columns as they are between two stages. */
typedef struct stage_schema {
    uint32_t column_count;
    sluice_column columns[SLUICE_MAX_COLUMNS];
    int image; /* index of the column that transforms work on; -1: none */
    bool is_chw;
    bool is_converted;   /* a conversion stands before: geometry may not follow */
    double value_range;  /* what white is in the image's values: 255 for bytes */
    uint32_t batch_size; /* 0: not batched yet */
    bool drop_remainder;
} stage_schema;

/* The image's height, width, channels in a schema that is not CHW; 0: differs from sample to
 * sample. */
enum { SCHEMA_H = 0, SCHEMA_W = 1, SCHEMA_C = 2 };

/* E_INVALID unless there is a decoded image that no conversion has touched: what geometry needs. */
sluice_status schema_want_pixels(const stage_schema *schema, const char *stage);

/* The columns of a source of files: encoded images and, where it has them, labels. */
void schema_of_files(stage_schema *schema, bool labelled);

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
typedef enum conversion_place { PLACE_AUTO = 0, PLACE_HOST = 1, PLACE_DEVICE = 2 } conversion_place;

typedef struct conversion_args {
    uint32_t offload; /* a conversion_place */
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

/* ---- sources ---------------------------------------------------------------------------- */

/* A sample that was taken from a stream. */
typedef struct stream_item {
    image_buffer bytes;
    uint64_t number; /* in the order that the source gave them in, of the pass */
    uint64_t size;   /* of the image in bytes */
    size_t held;     /* size; 0 when that is more than the source takes */
    uint32_t flags;
    int32_t label;
    const char *place; /* where it was found; the source's own */
    char name[1024];
} stream_item;

/* One worker's way to read samples. */
typedef struct sample_io {
    image_buffer bytes; /* a file's content */
    stream_item item;   /* what read() makes a sample of, where the source is a stream */
    image_index index;  /* of the image in it */
    uint64_t bytes_read;
} sample_io;

static inline void sample_io_free(sample_io *io)
{
    image_buffer_free(&io->bytes);
    image_buffer_free(&io->item.bytes);
    image_buffer_free(&io->index.bytes);
}

/* What a source gives of a sample. Borrowed from sample_io or the source until the next read. */
typedef struct sample_data {
    const uint8_t *bytes; /* encoded; NULL when the image is raw */
    size_t size;
    int64_t modified_ns; /* when the file was changed */
    image_index *index;  /* for the decoder, which fills it; NULL: the source keeps none */
    image_rest rest;     /* of an encoded image of which bytes are but the first */
    image_view image;
} sample_data;

/* Where a sample's bytes lie: in an open file, or in one that is opened by its path. */
typedef struct sample_location {
    int fd;           /* -1: by path */
    int folder_fd;    /* where a relative path begins, AT_FDCWD */
    const char *path; /* the source's own, or in name */
    uint64_t offset;
    uint64_t size; /* 0: all there is from offset on */
    bool in_parts; /* what of it is read is known only once it has begun */
    char name[2 * NAME_MAX + 8];
} sample_location;

typedef struct source_ops {
    /* Opens files; args as parsed. */
    sluice_status (*open)(const void *args, void **source_out);
    void (*close)(void *source);
    uint64_t (*count)(const void *source);

    /* A sample's name for messages and for split: "cat/1.jpg", stable when files are added. */
    void (*name)(const void *source, uint64_t index, char *text, size_t size);

    /*
     * Reads a sample. Columns other than the image are written to row[column] (NULL: not wanted).
     * Any thread, several at once, each with its own io.
     */
    sluice_status (*read)(const void *source, uint64_t index, sample_io *io, void *const *row,
                          sample_data *data_out);

    /*
     * Optional: where the bytes of a sample lie, for readahead and dropping; it touches no file
     * itself. False: there are none. Borrowed from the source.
     */
    bool (*locate)(const void *source, uint64_t index, sample_location *location_out);

    /* Optional: are bytes that were read to be dropped from the page cache? */
    bool (*drops)(const void *source);

    /* Optional: the sample read last with io was decoded, and its index made or found wrong. Was
     * one kept? */
    bool (*keep_index)(const void *source, uint64_t index, const sample_io *io,
                       const sample_data *data);

    /* Bytes the source keeps in memory for itself, for reports. */
    uint64_t (*memory)(const void *source);

    /*
     * A stream has these four in place of count: its samples come in sequence, pass by pass.
     * once(): there is but one pass. begin() mixes the order of files by a key, not NULL, where it
     * can. next() puts the next sample into the item (but its number), of which read() of the same
     * io then makes one: END_OF_DATA after the last; CLOSED once stop_fd is readable; a pass that
     * has failed is ended. One thread at a time calls next() and end() of a pass.
     */
    bool (*once)(const void *source);
    sluice_status (*begin)(void *source, int stop_fd, const uint64_t *key, void **pass_out);
    sluice_status (*next)(void *pass, stream_item *item);
    void (*end)(void *pass);

    /* Optional, both: how many classes there are, and the name of one, for lists of them. */
    uint32_t (*classes)(const void *source);
    void (*class_name)(const void *source, uint32_t label, char *text, size_t size);
} source_ops;

/* ---- the definition --------------------------------------------------------------------- */

typedef enum stage_kind {
    STAGE_SOURCE,
    STAGE_INDEX,
    STAGE_DECODE,
    STAGE_GEOMETRY,
    STAGE_CONVERSION,
    STAGE_BATCH
} stage_kind;

typedef enum index_kind {
    INDEX_NONE,
    INDEX_SHUFFLE,
    INDEX_SHARD,
    INDEX_SPLIT,
    INDEX_TAKE,
    INDEX_SKIP,
    INDEX_REPEAT
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

    /* Optional: what the columns are after this stage; E_INVALID when it cannot stand here. */
    sluice_status (*infer)(const void *args, stage_schema *schema);

    const source_ops *source; /* of STAGE_SOURCE */

    /* Optional, of STAGE_SOURCE: which operations these arguments take; asked when it is opened. */
    const source_ops *(*choose_source)(const void *args);

    /* Of STAGE_GEOMETRY: what to do with an image of this size. E_INVALID when it does not fit. */
    sluice_status (*geometry)(const void *args, const sli_draws *draws, uint32_t width,
                              uint32_t height, stage_geometry *geometry_out);
    bool resizes; /* that geometry may set resizes */
    bool pads;    /* its crop may reach beyond the image */

    /* Of STAGE_CONVERSION: folds itself into the program. */
    void (*convert)(const void *args, const stage_schema *before, conversion_state *state);

    /* Of a conversion that mirrors some rows: whether this one is. */
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

/* All stages there are, in the order of help; ends with NULL. */
extern const stage_def *const stage_table[];

const stage_def *stage_find(const char *name);

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

/* Adds " name=value" for every argument. */
void stage_args_print(const stage_def *def, const void *args, sli_text *text);

void stage_args_free(const stage_def *def, void *args);

/* ---- for the files of stages -------------------------------------------------------------- */

#define PARAM_(struct_type, field, param_type, text, least, most, list, words)                     \
    {                                                                                              \
        .name = #field, .type = (param_type), .offset = offsetof(struct_type, field),              \
        .default_text = (text), .low = (least), .high = (most), .choices = (list), .help = (words) \
    }

/* The parameter that every conversion has, last. */
#define OFFLOAD_PARAM                                                                              \
    {                                                                                              \
        .name = "offload", .type = PARAM_CHOICE, .offset = 0, .default_text = "auto",              \
        .choices = stage_places, .help = "where it is done"                                        \
    }
extern const char *const stage_places[];

#define STAGE_PARAMS(array) .params = (array), .param_count = sizeof(array) / sizeof((array)[0])

/* Adds a stage to a dataset; args of the stage's own struct, its texts are copied. */
sluice_status dataset_append(sluice_dataset *dataset, const stage_def *def, const void *args);

/* Keeps an error that a call met before it had a stage to append; returns the first error kept. */
sluice_status dataset_keep(sluice_dataset *dataset, const stage_def *def, sluice_status status);

/* Makes a dataset of a source. */
sluice_status dataset_begin(const stage_def *def, const void *args, sluice_dataset **dataset_out);

#endif
