/* SPDX-License-Identifier: Apache-2.0 */
/* The random_apply stage: torchvision's RandomApply. */
#include "nested_stage.h"

extern const stage_def stage_random_apply;

static uint32_t random_apply_choice(const nested_args *args, const sli_draws *draws,
                                    uint32_t order[NESTED_BRANCHES])
{
    for (uint32_t i = 0; i < args->nested->branch_count; i++) {
        order[i] = i;
    }
    return color_chance(args->p, draws) ? args->nested->branch_count : 0;
}

static const stage_param random_apply_params[] = {
    NESTED_PARAM,
    CHANCE_PARAM(nested_args, "0.5"),
    COLUMNS_PARAM(nested_args, common.columns),
};

NESTED_VARIANTS(random_apply, false, NESTED_ALL_OR_NONE)

const stage_def stage_random_apply = {
    NESTED_COLOR_FIELDS(random_apply),
    .summary = "Applies all stages in parentheses with probability p, else none of them.",
    .elsewhere = "RandomApply",
    .example = "random_apply 0.5 (rotate 15 | random_invert 1)",
    .gives = "what these stages give",
    .details = "Reference: torchvision.transforms.v2.RandomApply.\n"
               "  random_apply 0.8 (color_jitter 0.4 0.4 0.4 0.1 | gaussian_blur 5)\n"
               "  random_apply 0.5 (random_rotation 30) (center_crop 100)\n"
               "Several pairs of parentheses are one list: (A) (B) is (A | B).\n"
               "Before batch nested stages are crops, resizes, paddings, flips, colours and warps, "
               "and each sample draws which are applied. After batch they are mixup and cutmix, "
               "and each batch draws. random_apply, random_choice and random_order may themselves "
               "be nested, "
               "up to 8 levels deep. One of them has at most 32 stages in its parentheses.\n"
               "All operations of nested stages count towards the 32 operations of a "
               "pipeline. The random numbers of a nested stage depend on its position in the "
               "text, not on which other stages are applied. columns is an argument of the "
               "outer stage; crops, resizes and flips work on all images.\n"
               "If the size of the image depends on what is drawn, a resize H,W or a crop must "
               "come after this stage. Each crop, resize and flip that is drawn is one pass over "
               "the image.",
};
