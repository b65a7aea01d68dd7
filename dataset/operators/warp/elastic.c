/* SPDX-License-Identifier: Apache-2.0 */
/* The elastic stage: torchvision's ElasticTransform. */

#include "color_fields.h"
#include "status_int.h"
#include "warp_stage.h"

#define MOST_ALPHA 1e6

typedef struct elastic_args {
    param_reals alpha; /* after check(): along x, along y */
    param_reals sigma;
    warp_options options;
} elastic_args;

/* Replaces one number by two equal ones. */
static sluice_status check_pair(const char *name, double most, param_reals *pair)
{
    double *values = pair->values;

    if (pair->name[0] != '\0' || pair->count == 0 || pair->count > 2) {
        return sli_fail(SLUICE_E_INVALID,
                        "elastic: %s must be one number, or two for x and y: %s=X,Y", name, name);
    }
    values[1] = values[pair->count - 1];
    pair->count = 2;
    return values[0] >= 0 && values[0] <= most && values[1] >= 0 && values[1] <= most
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "elastic: %s=%g,%g must be from 0 to %g", name,
                          values[0], values[1], most);
}

static sluice_status elastic_check(void *opaque)
{
    elastic_args *args = opaque;
    sluice_status st = warp_check("elastic", &args->options);

    if (st == SLUICE_OK) {
        st = check_pair("alpha", MOST_ALPHA, &args->alpha);
    }
    if (st == SLUICE_OK) {
        st = check_pair("sigma", ELASTIC_SIGMA, &args->sigma);
    }
    if (st == SLUICE_OK && (args->sigma.values[0] > 0) != (args->sigma.values[1] > 0)) {
        st = sli_fail(SLUICE_E_INVALID,
                      "elastic: sigma=%g,%g must be two numbers above 0, or 0 for both",
                      args->sigma.values[0], args->sigma.values[1]);
    }
    return st;
}

static sluice_status elastic_infer(const void *opaque, stage_schema *schema)
{
    const elastic_args *args = opaque;
    const sluice_status st = warp_infer("elastic", &args->options, 1, true, schema);
    const uint64_t *shape;

    if (st != SLUICE_OK) {
        return st;
    }
    shape = schema->columns[schema->image].shape;
    schema->colors.fields++;
    return elastic_fits(shape[SCHEMA_W], shape[SCHEMA_H])
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "elastic: images of %llux%llu; it takes images of at most 2^26 pixels, "
                          "so resize them before",
                          (unsigned long long)shape[SCHEMA_W], (unsigned long long)shape[SCHEMA_H]);
}

static void elastic_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const elastic_args *args = opaque;
    const elastic_options options = {{args->alpha.values[0], args->alpha.values[1]},
                                     {args->sigma.values[0], args->sigma.values[1]}};
    const image_warp warp = warp_by(&args->options, &warp_identity);

    color_add_elastic(chain, &warp, &options, draws);
}

static const stage_param elastic_params[] = {
    PARAM_(elastic_args, alpha, PARAM_REALS, "50", 0, 0, NULL,
           "strength of the displacements, 0 to 1e6; or along x and y: X,Y"),
    PARAM_(elastic_args, sigma, PARAM_REALS, "5", 0, 0, NULL,
           "their smoothness in pixels, 0 to 64; or along x and y: X,Y"),
    WARP_PARAMS(elastic_args, options, "bilinear"),
    BORDER_PARAM(elastic_args, options),
};

const stage_def stage_elastic = {
    .name = "elastic",
    .summary = "Moves pixels by smooth random displacements.",
    .elsewhere = "ElasticTransform",
    .example = "elastic 80 4",
    .gives = "image u8, the same shape",
    .details = "References: torchvision.transforms.v2.ElasticTransform; Simard et al., \"Best "
               "practices for convolutional neural networks applied to visual document "
               "analysis\" (ICDAR 2003).\n"
               "Pixel (x, y) of the result is sampled at (x + dx, y + dy), where\n"
               "  dx = alpha[0] / height * width / 2 * G(noise)\n"
               "  dy = alpha[1] / width * height / 2 * G(noise)\n"
               "The noise is uniform in (-1, 1), a number for each pixel and axis, in steps "
               "of 2^-15. G is a Gaussian filter with standard deviations sigma[0] along x "
               "and sigma[1] along y, and 8 * sigma[0] + 1 taps for dx, 8 * sigma[1] + 1 for "
               "dy, truncated and made odd; with both 0 there is no filter. The image is "
               "reflected at its edges. With an affine or perspective warp before it, the "
               "image is sampled once.\n"
               "A point, and a corner of a box, moves by the negative displacement of its "
               "pixel (coordinates rounded up), as in torchvision: an approximation for small "
               "displacements.\n"
               "A pipeline with the stage geometry is refused, and so are images of more than "
               "2^26 pixels.\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(elastic_params),
    .args_size = sizeof(elastic_args),
    .check = elastic_check,
    .infer = elastic_infer,
    .color =
        &(const color_ops){
            .add = elastic_colors,
            .warps = true,
            .places = true,
        },
};
