/* SPDX-License-Identifier: Apache-2.0 */
#include "margin_args.h"

#include <math.h>

#include "status_int.h"

enum { MOST_PADDING = 65535 };

sluice_status margins_check(const char *stage, param_reals *padding)
{
    double *sides = padding->values;

    if (padding->name[0] != '\0' || padding->count == 0 || padding->count == 3) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: padding must be one number, LEFT_RIGHT,TOP_BOTTOM, or "
                        "LEFT,TOP,RIGHT,BOTTOM",
                        stage);
    }
    for (uint32_t i = 0; i < padding->count; i++) {
        if (!(sides[i] >= 0 && sides[i] <= MOST_PADDING) || sides[i] != rint(sides[i])) {
            return sli_fail(SLUICE_E_INVALID, "%s: padding=%g must be a whole number from 0 to %d",
                            stage, sides[i], MOST_PADDING);
        }
    }
    for (uint32_t i = padding->count; i < 4; i++) {
        sides[i] = sides[i % padding->count];
    }
    padding->count = 4;
    return SLUICE_OK;
}

void margins_shorten(param_reals *padding)
{
    const double *sides = padding->values;

    if (sides[0] == sides[1] && sides[0] == sides[2] && sides[0] == sides[3]) {
        padding->count = 1; /* the values of all sides stay */
    }
}

image_margins margins_of(const param_reals *padding)
{
    const double *sides = padding->values;

    return (image_margins){(uint32_t)sides[0], (uint32_t)sides[1], (uint32_t)sides[2],
                           (uint32_t)sides[3]};
}

bool margins_are_none(const image_margins *margins)
{
    return margins->left == 0 && margins->top == 0 && margins->right == 0 && margins->bottom == 0;
}
