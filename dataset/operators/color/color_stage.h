/* SPDX-License-Identifier: Apache-2.0 */
/* Shared functions of the colour stages, which change images, not masks or boxes. */
#ifndef SLUICE_COLOR_STAGE_H
#define SLUICE_COLOR_STAGE_H

#include "color_ops.h"
#include "conversion_ops.h"
#include "stage.h"

/* The argument struct of every colour stage begins with this one, as that of a conversion does,
 * which it may become (color_ops.when_converted). `offload` is not used. */
typedef conversion_args color_args;

/* The arguments of a stage that is applied to an image with probability p. */
typedef struct chance_args {
    color_args common;
    double p;
} chance_args;

/* True with probability p, by the first random number of the stage. */
bool color_chance(double p, const sli_draws *draws);

/* Permutes the channels at random, by the first two numbers of `bits`. */
void color_permute(const uint32_t bits[2], color_chain *chain);

/* color_ops.is_by_pixel of stages that work on single pixels whatever their arguments are. */
bool color_is_by_pixel(const void *args);

/* An amount of which a stage makes a random change. */
typedef struct color_amount {
    const char *name;
    double centre; /* the amount that does not change the image: 1 of a factor */
    double least;
    double most;
} color_amount;

/*
 * Replaces one number, the largest difference from the centre, by the range LOW,HIGH, and checks
 * the range. No numbers: no change.
 */
sluice_status color_check_amount(const char *stage, const color_amount *amount, param_reals *range);

/* Checks a range 1/LOW..HIGH (param_reals.inverts). */
sluice_status color_check_inverse(const char *stage, const char *name, double most,
                                  const param_reals *range);

/* An amount of the range: uniform, or with 1/LOW..HIGH, as darknet's rand_scale(), uniform from 1
 * to HIGH or the inverse of one that is uniform from 1 to LOW, each with probability 1/2. */
double color_draw_amount(const param_reals *range, uint32_t bits);

/* A factor: numbers, or 1/LOW..HIGH. */
#define FACTOR_PARAM(args_type, field, text, words)                                                \
    {                                                                                              \
        .name = #field, .type = PARAM_REALS,                                                       \
        .offset = PARAM_OFFSET_(args_type, field, PARAM_REALS), .default_text = (text),            \
        .inverts = true, .help = (words)                                                           \
    }

/* For the details of stages with a FACTOR_PARAM. */
#define FACTOR_DETAILS                                                                             \
    "A factor 1/LOW..HIGH is uniform from 1 to HIGH, or the inverse of one that is uniform from "  \
    "1 to LOW, each with probability 1/2: 1/1.5..1.5 is darknet's saturation=1.5."

#define CHANCE_PARAM(args_type, text)                                                              \
    PARAM_(args_type, p, PARAM_REAL, text, 0, 1, NULL, "probability")

#endif
