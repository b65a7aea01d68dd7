/* SPDX-License-Identifier: Apache-2.0 */
/* The gaussian_noise stage: torchvision's GaussianNoise. */
#include "color_stage.h"

typedef struct noise_args {
    color_args common;
    double mean;
    double sigma;
    bool clip;
} noise_args;

static void gaussian_noise_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const noise_args *args = opaque;
    const image_noise noise = {(float)(args->mean * 255), (float)(args->sigma * 255), args->clip,
                               *draws};

    color_add_noise(chain, &noise);
}

static const stage_param gaussian_noise_params[] = {
    PARAM_(noise_args, mean, PARAM_REAL, "0", -1, 1, NULL, "mean, as a part of 255"),
    PARAM_(noise_args, sigma, PARAM_REAL, "0.1", 0, 10, NULL,
           "standard deviation, as a part of 255"),
    PARAM_(noise_args, clip, PARAM_BOOL, "true", 0, 0, NULL,
           "true: sums are clipped to 0..255; false: they are taken modulo 256"),
    COLUMNS_PARAM(noise_args, common.columns),
};

const stage_def stage_gaussian_noise = {
    .name = "gaussian_noise",
    .summary = "Adds random noise of the normal distribution to each value.",
    .elsewhere = "GaussianNoise",
    .example = "gaussian_noise sigma=0.015",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.GaussianNoise, for uint8.\n"
               "A value v becomes v + trunc(255 * (mean + sigma * n)), where n is drawn for each "
               "value from the normal distribution with mean 0 and standard deviation 1.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(gaussian_noise_params),
    .args_size = sizeof(noise_args),
    .selects = true,
    .color =
        &(const color_ops){
            .add = gaussian_noise_colors,
        },
};
