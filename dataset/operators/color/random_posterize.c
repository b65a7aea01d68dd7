/* SPDX-License-Identifier: Apache-2.0 */
/* The random_posterize stage: torchvision's RandomPosterize. */
#include "color_stage.h"

typedef struct bits_args {
    color_args common;
    uint64_t bits;
    double p;
} bits_args;

static void random_posterize_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const bits_args *args = opaque;

    if (color_chance(args->p, draws)) {
        color_add_posterize(chain, (uint32_t)args->bits);
    }
}

static const stage_param random_posterize_params[] = {
    PARAM_(bits_args, bits, PARAM_COUNT, NULL, 0, 8, NULL, "number of upper bits to keep"),
    CHANCE_PARAM(bits_args, "0.5"),
    COLUMNS_PARAM(bits_args, common.columns),
};

const stage_def stage_random_posterize = {
    .name = "random_posterize",
    .summary = "Keeps the upper bits of each value, with probability p.",
    .elsewhere = "RandomPosterize",
    .example = "random_posterize 2 p=1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomPosterize.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(random_posterize_params),
    .args_size = sizeof(bits_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = random_posterize_colors,
            .is_by_pixel = color_is_by_pixel,
        },
};
