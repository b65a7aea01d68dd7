/* SPDX-License-Identifier: Apache-2.0 */
/* What mixup and cutmix share: their arguments, their effect on the columns, their labels. */
#ifndef SLUICE_MIX_STAGE_H
#define SLUICE_MIX_STAGE_H

#include "array_ops.h"
#include "batch_view.h"
#include "row_mix.h"
#include "stage.h"

typedef struct mix_args {
    uint64_t classes; /* 0: the label is a vector already */
    double alpha;
    const char *label;
} mix_args;

#define MIX_PARAMS                                                                                 \
    PARAM_(mix_args, classes, PARAM_COUNT, "0", 0, 1048576, NULL,                                  \
           "number of classes; 0: label is a vector already (one_hot)"),                           \
        PARAM_(mix_args, alpha, PARAM_REAL, "1", 1e-6, 1e6, NULL,                                  \
               "both parameters of the beta distribution"),                                        \
        PARAM_(mix_args, label, PARAM_TEXT, "label", 0, 0, NULL,                                   \
               "the column of class numbers or vectors")

/*
 * Updates the columns to those after the stage: the label is f32 (classes). E_INVALID: there is no
 * decoded image of a type that can be blended, there are masks or boxes, or the label is neither a
 * class number nor a vector of `classes` values.
 */
sluice_status mix_infer(const char *stage, const mix_args *args, stage_schema *schema);

/* A class number becomes a vector. args: mix_args */
extern const array_ops mix_array_ops;

/* The first block of the stage's random numbers that lambda uses; those before are the stage's. */
enum { MIX_LAMBDA_BLOCK = 1 };

double mix_draw_lambda(const mix_args *args, const batch_view *batch);

/* Blends the vectors of the label with those of the partners. */
void mix_labels(const mix_args *args, const batch_view *batch, double lambda);

/* Blend an image with those of the partners, or paste a box of theirs; or make GetNext do it. */
void mix_blend_image(const batch_view *batch, uint32_t column, double lambda);
void mix_paste_image(const batch_view *batch, uint32_t column, const mix_box *box);

#endif
