/* SPDX-License-Identifier: Apache-2.0 */
#include "color_stage.h"

#include "status_int.h"

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

sluice_status color_check_inverse(const char *stage, const char *name, double most,
                                  const param_reals *range)
{
    const double *ends = range->values;

    return ends[0] > 1 && ends[0] <= most && ends[1] > 1 && ends[1] <= most
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: %s=1/%g..%g must have LOW and HIGH above 1, and at most %g, such as "
                          "1/1.5..1.5: from 1 to 1.5, or its inverse",
                          stage, name, ends[0], ends[1], most);
}

sluice_status color_check_amount(const char *stage, const color_amount *amount, param_reals *range)
{
    double *values = range->values;

    if (range->inverts) {
        return color_check_inverse(stage, amount->name, amount->most, range);
    }
    if (range->name[0] != '\0' || range->count > 2) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s must be one number, or LOW,HIGH", stage,
                        amount->name);
    }
    if (range->count == 1) {
        const double largest = values[0];

        if (!(largest >= 0)) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: %s=%g must be at least 0: one number is the largest change", stage,
                            amount->name, largest);
        }
        values[0] = amount->centre == 1 && largest > 1 ? 0 : amount->centre - largest;
        values[1] = amount->centre + largest;
        range->count = 2;
    }
    if (range->count == 2 &&
        !(values[0] >= amount->least && values[0] <= values[1] && values[1] <= amount->most)) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s from %g to %g must have %g <= LOW <= HIGH <= %g",
                        stage, amount->name, values[0], values[1], amount->least, amount->most);
    }
    return SLUICE_OK;
}

double color_draw_amount(const param_reals *range, uint32_t bits)
{
    const double *ends = range->values;

    if (range->inverts) { /* the first bit chooses the side */
        const double part = sli_unit(bits << 1);

        return bits >> 31 != 0 ? 1 + part * (ends[1] - 1) : 1 / (1 + part * (ends[0] - 1));
    }
    return ends[0] + sli_unit(bits) * (ends[1] - ends[0]);
}

bool color_is_by_pixel(const void *args)
{
    (void)args;
    return true;
}
