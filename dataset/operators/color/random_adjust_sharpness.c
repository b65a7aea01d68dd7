/* SPDX-License-Identifier: Apache-2.0 */
/* The random_adjust_sharpness stage: torchvision's RandomAdjustSharpness. */
#include "color_stage.h"

typedef struct sharpness_args {
    color_args common;
    double factor;
    double p;
} sharpness_args;

static void sharpness_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const sharpness_args *args = opaque;

    if (color_chance(args->p, draws)) {
        color_add_sharpness(chain, args->factor);
    }
}

static const stage_param sharpness_params[] = {
    PARAM_(sharpness_args, factor, PARAM_REAL, NULL, 0, 1e6, NULL,
           "0 is smooth, 1 is the image, 2 is sharper"),
    CHANCE_PARAM(sharpness_args, "0.5"),
    COLUMNS_PARAM(sharpness_args, common.columns),
};

const stage_def stage_random_adjust_sharpness = {
    .name = "random_adjust_sharpness",
    .summary = "Changes the sharpness, with probability p.",
    .elsewhere = "RandomAdjustSharpness",
    .example = "random_adjust_sharpness 3 p=1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomAdjustSharpness.\n"
               "With m the weighted mean of a pixel (weight 5) and its 8 neighbours (weight 1 "
               "each), rounded, a value v becomes v + (1 - factor) (m - v), truncated. The "
               "outer pixels of the image do not change.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(sharpness_params),
    .args_size = sizeof(sharpness_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = sharpness_colors,
        },
};
