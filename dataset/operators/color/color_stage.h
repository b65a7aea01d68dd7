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

#define CHANCE_PARAM(args_type, text)                                                              \
    PARAM_(args_type, p, PARAM_REAL, text, 0, 1, NULL, "probability")

#endif
