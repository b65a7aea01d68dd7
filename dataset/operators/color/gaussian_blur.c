/* SPDX-License-Identifier: Apache-2.0 */
/* The gaussian_blur stage: torchvision's GaussianBlur. */
#include "color_stage.h"
#include "status_int.h"

#define LEAST_SIGMA 1e-3
#define MOST_SIGMA  1e6

typedef struct blur_args {
    color_args common;
    uint64_t kernel_size;
    param_reals sigma; /* after check(): LOW,HIGH */
} blur_args;

static sluice_status blur_check(void *opaque)
{
    blur_args *args = opaque;
    double *sigma = args->sigma.values;

    if (args->kernel_size % 2 == 0) {
        return sli_fail(SLUICE_E_INVALID, "gaussian_blur: kernel_size=%llu must be an odd number",
                        (unsigned long long)args->kernel_size);
    }
    if (args->sigma.name[0] != '\0' || args->sigma.count == 0 || args->sigma.count > 2) {
        return sli_fail(SLUICE_E_INVALID, "gaussian_blur: sigma must be one number, or LOW,HIGH");
    }
    if (args->sigma.count == 1) {
        sigma[1] = sigma[0];
        args->sigma.count = 2;
    }
    return sigma[0] >= LEAST_SIGMA && sigma[0] <= sigma[1] && sigma[1] <= MOST_SIGMA
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "gaussian_blur: sigma from %g to %g must have %g <= LOW <= HIGH <= %g",
                          sigma[0], sigma[1], LEAST_SIGMA, MOST_SIGMA);
}

static void blur_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const blur_args *args = opaque;
    const double *sigma = args->sigma.values;
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    color_add_blur(chain, (uint32_t)args->kernel_size,
                   sigma[0] + sli_unit(bits[0]) * (sigma[1] - sigma[0]));
}

static const stage_param blur_params[] = {
    PARAM_(blur_args, kernel_size, PARAM_COUNT, NULL, 1, BLUR_TAPS, NULL,
           "width and height of the kernel in pixels; odd"),
    PARAM_(blur_args, sigma, PARAM_REALS, "0.1,2", 0, 0, NULL,
           "the standard deviation in pixels, 0.001 to 1e6, or LOW,HIGH"),
    COLUMNS_PARAM(blur_args, common.columns),
};

const stage_def stage_gaussian_blur = {
    .name = "gaussian_blur",
    .summary = "Blurs by a Gaussian filter of random width.",
    .elsewhere = "GaussianBlur",
    .example = "gaussian_blur 9 0.5,3",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.GaussianBlur.\n"
               "The filter is separable. Its weights in each direction are exp(-x^2 / (2 "
               "sigma^2)), divided by their sum, for x from -(kernel_size - 1) / 2 to "
               "(kernel_size - 1) / 2. sigma is uniform in [LOW, HIGH). Outside, the image is "
               "reflected at its outer pixels (reflect padding). Results are rounded once. "
               "torchvision uses the product of the two kernels, so values close to a half "
               "may differ by 1.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(blur_params),
    .args_size = sizeof(blur_args),
    .selects = true,
    .check = blur_check,
    .color =
        &(const color_ops){
            .add = blur_colors,
            .any_channels = true,
        },
};
