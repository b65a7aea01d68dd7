/* SPDX-License-Identifier: Apache-2.0 */
#include "color_stage.h"

bool color_chance(double p, const sli_draws *draws)
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    return sli_unit(bits[0]) < p;
}

void color_permute(const uint32_t bits[2], color_chain *chain)
{
    uint32_t order[COLOR_CHANNELS] = {0, 1, 2};

    for (uint32_t i = COLOR_CHANNELS - 1; i > 0; i--) { /* Fisher-Yates shuffle */
        const uint32_t other = sli_below(bits[i - 1], i + 1);
        const uint32_t kept = order[i];

        order[i] = order[other];
        order[other] = kept;
    }
    color_add_permutation(chain, order);
}

bool color_is_by_pixel(const void *args)
{
    (void)args;
    return true;
}
