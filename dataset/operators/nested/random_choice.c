/* SPDX-License-Identifier: Apache-2.0 */
/* The random_choice stage: torchvision's RandomChoice. */
#include "nested_stage.h"

extern const stage_def stage_random_choice;

static uint32_t random_choice_choice(const nested_args *args, const sli_draws *draws,
                                     uint32_t order[NESTED_BRANCHES])
{
    const nested_stages *nested = args->nested;
    uint64_t sum = 0;
    uint64_t at;
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    order[0] = sli_below(bits[0], nested->branch_count);
    for (uint32_t i = 0; i < nested->branch_count; i++) {
        sum += nested->branches[i].weight;
    }
    if (sum > 0) {
        at = (uint64_t)(sli_unit(bits[0]) * (double)sum);
        for (order[0] = 0; at >= nested->branches[order[0]].weight; order[0]++) {
            at -= nested->branches[order[0]].weight;
        }
    }
    return 1;
}

static const stage_param random_choice_params[] = {
    NESTED_PARAM,
    COLUMNS_PARAM(nested_args, common.columns),
};

NESTED_VARIANTS(random_choice, true, true, NESTED_BRANCHES)

const stage_def stage_random_choice = {
    NESTED_COLOR_FIELDS(random_choice),
    .summary = "Applies one of the branches (STAGES), drawn at random; WEIGHT:(STAGES) "
               "sets a relative probability.",
    .gives = "what these stages give",
};
