/* SPDX-License-Identifier: Apache-2.0 */
/* The random_apply stage: torchvision's RandomApply. */
#include "nested_stage.h"

extern const stage_def stage_random_apply;

static uint32_t random_apply_choice(const nested_args *args, const sli_draws *draws,
                                    uint32_t order[NESTED_BRANCHES])
{
    order[0] = 0;
    return color_chance(args->p, draws) ? 1 : 0;
}

static const stage_param random_apply_params[] = {
    NESTED_PARAM,
    CHANCE_PARAM(nested_args, "0.5"),
    COLUMNS_PARAM(nested_args, common.columns),
};

NESTED_VARIANTS(random_apply, false, true, 1)

const stage_def stage_random_apply = {
    NESTED_COLOR_FIELDS(random_apply),
    .summary = "Applies all stages in parentheses with probability p, else none of them.",
    .gives = "what these stages give",
};
