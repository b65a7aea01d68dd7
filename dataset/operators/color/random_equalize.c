/* SPDX-License-Identifier: Apache-2.0 */
/* The random_equalize stage: torchvision's RandomEqualize. */
#include "color_stage.h"

static void random_equalize_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    if (color_chance(((const chance_args *)opaque)->p, draws)) {
        color_add_equalize(chain);
    }
}

static const stage_param random_equalize_params[] = {
    CHANCE_PARAM(chance_args, "0.5"),
    COLUMNS_PARAM(chance_args, common.columns),
};

const stage_def stage_random_equalize = {
    .name = "random_equalize",
    .summary = "Equalizes each channel's histogram, with probability p.",
    .elsewhere = "RandomEqualize",
    .example = "random_equalize p=1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomEqualize.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(random_equalize_params),
    .args_size = sizeof(chance_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = random_equalize_colors,
        },
};
