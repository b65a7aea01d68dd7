/* SPDX-License-Identifier: Apache-2.0 */
/* The random_grayscale stage: torchvision's RandomGrayscale. */
#include "color_stage.h"

static void random_grayscale_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    if (color_chance(((const chance_args *)opaque)->p, draws)) {
        color_add_gray(chain);
    }
}

static const stage_param random_grayscale_params[] = {
    CHANCE_PARAM(chance_args, "0.1"),
    COLUMNS_PARAM(chance_args, common.columns),
};

const stage_def stage_random_grayscale = {
    .name = "random_grayscale",
    .summary = "Sets the three channels to the luma, with probability p.",
    .elsewhere = "RandomGrayscale",
    .example = "random_grayscale p=1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomGrayscale. Images of one channel do "
               "not change.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(random_grayscale_params),
    .args_size = sizeof(chance_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = random_grayscale_colors,
            .is_by_pixel = color_is_by_pixel,
        },
};
