/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a stage's arguments: an argument struct, and a table with the name, type and
 * bounds of each field.
 */
#ifndef SLUICE_STAGE_PARAM_H
#define SLUICE_STAGE_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/dataset.h>

/* Types of arguments. The comments have the C type of the field, and examples of its text. */
typedef enum param_type {
    PARAM_TEXT,   /* const char *, owned by the stage */
    PARAM_COUNT,  /* uint64_t */
    PARAM_INT,    /* int64_t */
    PARAM_BYTES,  /* uint64_t; "256M", with K, M, G, T for powers of 1024 */
    PARAM_REAL,   /* double */
    PARAM_BOOL,   /* bool */
    PARAM_SIZE,   /* param_size: "224" or "224,320" */
    PARAM_REALS,  /* param_reals: "0.5,1", or the name of values that the stage defines, or
                     "1/1.5..1.5" (stage_param.inverts) */
    PARAM_SHAPE,  /* param_shape: "32,32,3" */
    PARAM_EDGES,  /* param_edges: "64,128,256" */
    PARAM_CHOICE, /* uint32_t, the index in `choices` */
    PARAM_DTYPE,  /* sluice_dtype */
    PARAM_SEED,   /* uint64_t; "run" is PARAM_SEED_RUN */
    PARAM_RANK,   /* uint32_t; "run" is PARAM_RANK_RUN, "none" is PARAM_RANK_NONE */
    PARAM_PARTS,  /* dataset_parts *; "(image_folder A) (image_folder B)" */
    PARAM_STAGES  /* nested_stages *; "(color_jitter 0.4 | gaussian_blur 5) (random_invert)" */
} param_type;

enum { PARAM_MAX_REALS = 8, PARAM_USUAL_REALS = 4, PARAM_MAX_EDGES = 32 };
#define PARAM_SEED_RUN  UINT64_MAX
#define PARAM_RANK_RUN  UINT32_MAX
#define PARAM_RANK_NONE (UINT32_MAX - 1)

typedef struct param_size {
    uint32_t height;
    uint32_t width; /* 0: the text has a single number */
} param_size;

typedef struct param_reals {
    uint32_t count;
    bool inverts; /* 1/LOW..HIGH: a factor from 1 to HIGH, or the inverse of one from 1 to LOW */
    double values[PARAM_MAX_REALS];
    char name[16]; /* a name given instead of numbers; "": numbers were given */
} param_reals;

typedef struct param_shape {
    uint32_t rank;
    uint64_t dims[SLUICE_MAX_RANK];
} param_shape;

typedef struct param_edges {
    uint32_t count;
    uint64_t values[PARAM_MAX_EDGES];
} param_edges;

typedef struct stage_param {
    const char *name;
    param_type type;
    size_t offset;            /* offset in the stage's argument struct */
    const char *default_text; /* NULL: the argument is required */
    double low;               /* inclusive bounds of numbers; both 0: no bounds */
    double high;
    const char *const *choices; /* PARAM_CHOICE: NULL-terminated list of choices */
    uint32_t most;              /* PARAM_REALS: how many numbers; 0: PARAM_USUAL_REALS */
    bool inverts;               /* PARAM_REALS: may be 1/LOW..HIGH */
    const char *help;
} stage_param;

/* Maximum size of an argument struct in bytes. */
enum { STAGE_ARGS_SIZE = 640 };

/*
 * The parts of a group (dataset_parts.h), the value of a parameter of type PARAM_PARTS. NULL: no
 * parts yet.
 */
typedef struct dataset_parts dataset_parts;

/*
 * The stages in the parentheses of a stage (nested_stages.h), the value of a parameter of type
 * PARAM_STAGES. NULL: none yet.
 */
typedef struct nested_stages nested_stages;

/* A bit for each param_type whose values a field of this C type can hold. */
#define PARAM_TYPES_OF_(field)                                                                     \
    _Generic((field), const char * : 1U << PARAM_TEXT,                                             \
             uint64_t : 1U << PARAM_COUNT | 1U << PARAM_BYTES | 1U << PARAM_SEED,                  \
             int64_t : 1U << PARAM_INT,                                                            \
             uint32_t : 1U << PARAM_CHOICE | 1U << PARAM_DTYPE | 1U << PARAM_RANK,                 \
             double : 1U << PARAM_REAL, bool : 1U << PARAM_BOOL, param_size : 1U << PARAM_SIZE,    \
             param_reals : 1U << PARAM_REALS, param_shape : 1U << PARAM_SHAPE,                     \
             param_edges : 1U << PARAM_EDGES, dataset_parts * : 1U << PARAM_PARTS,                 \
             nested_stages * : 1U << PARAM_STAGES, default : 0U)

/* The offset of a field. Does not compile if the field has another C type than the parameter: a
 * value of 8 bytes would overwrite what follows a field of 4. */
#define PARAM_OFFSET_(struct_type, field, type)                                                    \
    (offsetof(struct_type, field) +                                                                \
     0 * sizeof(struct {                                                                           \
         _Static_assert((PARAM_TYPES_OF_(((struct_type *)NULL)->field) & (1U << (type))) != 0,     \
                        "the field must have the C type of its parameter (param_type)");           \
         char unused;                                                                              \
     }))

/* An entry of a parameter table. */
#define PARAM_(struct_type, field, param_type, text, least, most, list, words)                     \
    {                                                                                              \
        .name = #field, .type = (param_type),                                                      \
        .offset = PARAM_OFFSET_(struct_type, field, param_type), .default_text = (text),           \
        .low = (least), .high = (most), .choices = (list), .help = (words)                         \
    }

#endif
