/* SPDX-License-Identifier: Apache-2.0 */
/* The random_channel_permutation stage: torchvision's RandomChannelPermutation. */
#include "color_stage.h"

static void random_channel_permutation_colors(const void *args, const sli_draws *draws,
                                              color_chain *chain)
{
    uint32_t bits[4];

    (void)args;
    sli_draw(draws, 0, bits);
    color_permute(bits, chain);
}

static const stage_param random_channel_permutation_params[] = {
    COLUMNS_PARAM(color_args, columns),
};

const stage_def stage_random_channel_permutation = {
    .name = "random_channel_permutation",
    .summary = "Puts the three channels in random order.",
    .elsewhere = "RandomChannelPermutation",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomChannelPermutation.\n"
               "Each of the six orders, also that of the image, has the same probability. Images "
               "of one channel do not change.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(random_channel_permutation_params),
    .args_size = sizeof(color_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = random_channel_permutation_colors,
        },
};
