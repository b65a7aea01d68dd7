/* SPDX-License-Identifier: Apache-2.0 */
/* The random_invert stage: torchvision's RandomInvert. */
#include "color_stage.h"

static void random_invert_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    if (color_chance(((const chance_args *)opaque)->p, draws)) {
        color_add_invert(chain);
    }
}

static const stage_param random_invert_params[] = {
    CHANCE_PARAM(chance_args, "0.5"),
    COLUMNS_PARAM(chance_args, common.columns),
};

const stage_def stage_random_invert = {
    .name = "random_invert",
    .summary = "Inverts the values, with probability p.",
    .elsewhere = "RandomInvert",
    .example = "random_invert p=1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomInvert. A value v becomes 255 - v.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(random_invert_params),
    .args_size = sizeof(chance_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = random_invert_colors,
            .is_by_pixel = color_is_by_pixel,
        },
};
