/* SPDX-License-Identifier: Apache-2.0 */
/* The random_solarize stage: torchvision's RandomSolarize. */
#include "color_stage.h"

typedef struct threshold_args {
    color_args common;
    double threshold;
    double p;
} threshold_args;

static void random_solarize_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const threshold_args *args = opaque;

    if (color_chance(args->p, draws)) {
        color_add_solarize(chain, args->threshold);
    }
}

static const stage_param random_solarize_params[] = {
    PARAM_(threshold_args, threshold, PARAM_REAL, NULL, 0, 256, NULL,
           "values from here on are inverted"),
    CHANCE_PARAM(threshold_args, "0.5"),
    COLUMNS_PARAM(threshold_args, common.columns),
};

const stage_def stage_random_solarize = {
    .name = "random_solarize",
    .summary = "Inverts the values of at least a threshold, with probability p.",
    .elsewhere = "RandomSolarize",
    .example = "random_solarize 128 p=1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomSolarize.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(random_solarize_params),
    .args_size = sizeof(threshold_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = random_solarize_colors,
            .is_by_pixel = color_is_by_pixel,
        },
};
