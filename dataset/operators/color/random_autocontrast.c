/* SPDX-License-Identifier: Apache-2.0 */
/* The random_autocontrast stage: torchvision's RandomAutocontrast. */
#include "color_stage.h"

static void random_autocontrast_colors(const void *opaque, const sli_draws *draws,
                                       color_chain *chain)
{
    if (color_chance(((const chance_args *)opaque)->p, draws)) {
        color_add_autocontrast(chain);
    }
}

static const stage_param random_autocontrast_params[] = {
    CHANCE_PARAM(chance_args, "0.5"),
    COLUMNS_PARAM(chance_args, common.columns),
};

const stage_def stage_random_autocontrast = {
    .name = "random_autocontrast",
    .summary = "Stretches each channel to 0..255, with probability p.",
    .elsewhere = "RandomAutocontrast",
    .example = "random_autocontrast p=1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomAutocontrast.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(random_autocontrast_params),
    .args_size = sizeof(chance_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = random_autocontrast_colors,
        },
};
