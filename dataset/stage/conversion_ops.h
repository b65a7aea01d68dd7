/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a conversion (STAGE_CONVERSION) and of a flip, and what they get and return. */
#ifndef SLUICE_CONVERSION_OPS_H
#define SLUICE_CONVERSION_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "conversion_int.h"
#include "point_pairs.h"
#include "rng_int.h"
#include "stage.h"

/* Where a conversion runs. The argument struct of every conversion begins with conversion_args. */
typedef enum offload_target {
    OFFLOAD_AUTO = 0,
    OFFLOAD_HOST = 1,
    OFFLOAD_DEVICE = 2
} offload_target;

typedef struct conversion_args {
    uint32_t offload;    /* a value of offload_target */
    const char *columns; /* the images that it works on, if stage_def.selects; "": all */
} conversion_args;

/* The combined effect of all conversions so far: scale, bias, flip and layout. */
typedef struct conversion_state {
    sluice_dtype dtype;
    double scale[SLI_MAX_CHANNELS]; /* combined in double precision and rounded once, at the end */
    double bias[SLI_MAX_CHANNELS];
    bool affine;
    bool flip;
    bool chw;
} conversion_state;

/* A rectangle of a converted image that is set to values of its type. */
typedef struct stage_erasing {
    uint32_t x;
    uint32_t y;
    uint32_t width;
    uint32_t height;
    bool is_normal;                 /* random values of the normal distribution, not `values` */
    uint32_t block;                 /* is_normal: the first block of the stage's random numbers */
    float values[SLI_MAX_CHANNELS]; /* of each channel */
} stage_erasing;

/* A parameter of every conversion. */
#define OFFLOAD_PARAM                                                                              \
    {                                                                                              \
        .name = "offload", .type = PARAM_CHOICE, .offset = 0, .default_text = "auto",              \
        .choices = offload_targets, .help = "where the stage runs"                                 \
    }
extern const char *const offload_targets[];

typedef struct conversion_ops {
    /* Optional: updates the column of one image that the stage works on, which is decoded. infer()
     * of the stage is optional, too. */
    sluice_status (*infer_image)(const void *args, sluice_column *column, column_info *info);
    /* Adds the stage's effect on an image to the state. `before`: the image before the stage. */
    void (*convert)(const void *args, const column_info *before, conversion_state *state);
    /* True if it moves pixels without changing values, so its position among the conversions does
     * not matter. */
    bool moves;
    /*
     * Optional, for a conversion that erases a rectangle, after all conversions of the workers:
     * draws the rectangle for an image of this size. False: there is none. Earlier conversions run
     * on the workers, and later ones only move pixels.
     */
    bool (*erases)(const void *args, const sli_draws *draws, uint32_t width, uint32_t height,
                   stage_erasing *erasing_out);
    /* Of flips: the definition, of the same name and parameters, that replaces this one if a stage
     * of geometry comes after it: a stage of geometry. */
    const stage_def *before_geometry;
} conversion_ops;

/* A flip of some rows: a conversion, or a stage of geometry where one comes after it. */
typedef struct flip_ops {
    /* Returns whether this row is flipped. */
    bool (*draw)(const void *args, const sli_draws *draws);
    uint8_t row_flag; /* SLI_ROW_FLIP or SLI_ROW_FLIP_LINES */
    /* Optional: the points that the flip exchanges, and in which columns; NULL: none. `before`: the
     * columns before the stage. */
    const point_pairs *(*pairs)(const void *args, const stage_schema *before,
                                column_set *points_out);
} flip_ops;

#endif
