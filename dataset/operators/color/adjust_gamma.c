/* SPDX-License-Identifier: Apache-2.0 */
/* The adjust_gamma stage: torchvision's adjust_gamma. */
#include <math.h>

#include "color_stage.h"

typedef struct gamma_args {
    color_args common;
    double gamma;
    double gain;
} gamma_args;

static void adjust_gamma_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const gamma_args *args = opaque;
    uint8_t values[COLOR_VALUES];

    (void)draws;
    for (int v = 0; v < COLOR_VALUES; v++) {
        const float part = (float)v * (float)(1.0 / 255);
        const float power = (float)pow((double)part, args->gamma) * (float)args->gain;

        values[v] = (uint8_t)(int32_t)((power < 1 ? power : 1) * 255.999F);
    }
    color_add_table(chain, values);
}

static const stage_param adjust_gamma_params[] = {
    PARAM_(gamma_args, gamma, PARAM_REAL, NULL, 0, 1000, NULL,
           "exponent: above 1 darkens, below 1 brightens"),
    PARAM_(gamma_args, gain, PARAM_REAL, "1", 0, 1000, NULL, "factor of the power"),
    COLUMNS_PARAM(gamma_args, common.columns),
};

const stage_def stage_adjust_gamma = {
    .name = "adjust_gamma",
    .summary = "Raises each value, as a part of 255, to a power.",
    .example = "adjust_gamma 2.2",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.functional.adjust_gamma.\n"
               "A value v becomes 255.999 * min(1, gain * (v / 255) ^ gamma), truncated. Values of "
               "all channels change alike.",
    .kind = STAGE_COLOR,
    STAGE_PARAMS(adjust_gamma_params),
    .args_size = sizeof(gamma_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = adjust_gamma_colors,
        },
};
