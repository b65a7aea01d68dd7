/* SPDX-License-Identifier: Apache-2.0 */
/* The random_order stage: torchvision's RandomOrder. */
#include "nested_stage.h"

extern const stage_def stage_random_order;

/* Draws a permutation: the Fisher-Yates shuffle. */
static uint32_t random_order_choice(const nested_args *args, const sli_draws *draws,
                                    uint32_t order[NESTED_BRANCHES])
{
    const uint32_t count = args->nested->branch_count;
    uint32_t bits[4];

    for (uint32_t i = 0; i < count; i++) {
        uint32_t k;

        if (i % 4 == 0) {
            sli_draw(draws, i / 4, bits);
        }
        k = sli_below(bits[i % 4], i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    return count;
}

static const stage_param random_order_params[] = {
    NESTED_PARAM,
    COLUMNS_PARAM(nested_args, common.columns),
};

NESTED_VARIANTS(random_order, false, NESTED_ANY_ORDER)

const stage_def stage_random_order = {
    NESTED_COLOR_FIELDS(random_order),
    .summary = "Applies all branches (STAGES), in random order.",
    .elsewhere = "RandomOrder",
    .example = "random_order (rotate 15) (perspective top_left=30,20)",
    .gives = "what these stages give",
    .details = "Reference: torchvision.transforms.v2.RandomOrder.\n"
               "  random_order (random_posterize 4) (rotate 30)\n"
               "All permutations of the branches are equally probable; the stages of one "
               "branch keep their order. There are at most 32 branches. Else nested stages "
               "are as in random_apply.",
};
