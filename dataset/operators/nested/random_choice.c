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

NESTED_VARIANTS(random_choice, true, NESTED_ONE)

const stage_def stage_random_choice = {
    NESTED_COLOR_FIELDS(random_choice),
    .summary = "Applies one of the branches (STAGES), drawn at random; WEIGHT:(STAGES) "
               "sets a relative probability.",
    .elsewhere = "RandomChoice",
    .example = "random_choice (random_invert 1) (rotate 15) (gaussian_blur 9 2)",
    .gives = "what these stages give",
    .details = "Reference: torchvision.transforms.v2.RandomChoice.\n"
               "  random_choice 0.7:(random_invert 1) 0.3:(gaussian_blur 5 | random_grayscale "
               "1)\n"
               "A weight is 1e-9 to 1e6, with at most 9 digits after the point; a branch "
               "has the probability weight / (sum of all weights). Without weights all "
               "branches are equally probable. There are at most 32 branches.\n"
               "Of the operations that count towards the 32 of a pipeline only those of the "
               "branch with the most count. Else nested stages are as in random_apply.",
};
