/* SPDX-License-Identifier: Apache-2.0 */
/* The affine and random_affine stages: torchvision's affine and RandomAffine. */
#include <math.h>

#include "status_int.h"
#include "warp_stage.h"

#define MOST_DEGREES 1e6
#define LEAST_SCALE  0.001
#define MOST_SCALE   1000.0
#define MOST_SHEAR   89.999
#define MOST_PIXELS  1e6

typedef struct affine_args {
    double degrees;
    double scale;
    param_reals translate; /* x, y */
    param_reals shear;     /* x, y */
    warp_options options;
    param_reals center;
} affine_args;

typedef struct random_affine_args {
    param_reals degrees;   /* after check(): LOW,HIGH */
    param_reals translate; /* x, y */
    param_reals scale;     /* LOW,HIGH */
    param_reals shear;     /* after check(): LOW,HIGH along x, and possibly LOW,HIGH along y */
    warp_options options;
    param_reals center;
} random_affine_args;

/* Checks that there are two numbers within [least, most]. */
static sluice_status check_pair(const char *stage, const char *name, double least, double most,
                                const param_reals *pair)
{
    if (pair->name[0] != '\0' || pair->count != 2) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s must be two numbers", stage, name);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (!(pair->values[i] >= least && pair->values[i] <= most)) {
            return sli_fail(SLUICE_E_INVALID, "%s: %s=%g must be from %g to %g", stage, name,
                            pair->values[i], least, most);
        }
    }
    return SLUICE_OK;
}

/* ---- affine ------------------------------------------------------------------------------------
 */

static sluice_status affine_check(void *opaque)
{
    const affine_args *args = opaque;
    sluice_status st = warp_check("affine", &args->options);

    if (st == SLUICE_OK) {
        st = warp_check_center("affine", &args->center);
    }
    if (st == SLUICE_OK) {
        st = check_pair("affine", "translate", -MOST_PIXELS, MOST_PIXELS, &args->translate);
    }
    return st == SLUICE_OK ? check_pair("affine", "shear", -MOST_SHEAR, MOST_SHEAR, &args->shear)
                           : st;
}

static sluice_status affine_infer(const void *opaque, stage_schema *schema)
{
    return warp_infer("affine", &((const affine_args *)opaque)->options, 1, false, schema);
}

static void affine_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const affine_args *args = opaque;
    const warp_affine affine = {args->degrees,
                                {args->translate.values[0], args->translate.values[1]},
                                args->scale,
                                {args->shear.values[0], args->shear.values[1]}};
    const warp_matrix matrix = warp_about_center(&affine, &args->center, chain);

    (void)draws;
    warp_add(&args->options, &matrix, chain);
}

static const stage_param affine_params[] = {
    PARAM_(affine_args, degrees, PARAM_REAL, "0", -MOST_DEGREES, MOST_DEGREES, NULL,
           "the angle, clockwise"),
    PARAM_(affine_args, translate, PARAM_REALS, "0,0", 0, 0, NULL,
           "pixels to the right, and down, -1e6 to 1e6"),
    PARAM_(affine_args, scale, PARAM_REAL, "1", LEAST_SCALE, MOST_SCALE, NULL, "the scale"),
    PARAM_(affine_args, shear, PARAM_REALS, "0,0", 0, 0, NULL,
           "degrees along x, and along y, -89.999 to 89.999"),
    WARP_PARAMS(affine_args, options, "nearest"),
    CENTER_PARAM(affine_args, center),
    BORDER_PARAM(affine_args, options),
};

const stage_def stage_affine = {
    .name = "affine",
    .summary = "Scales, shears and rotates about the centre, then translates.",
    .example = "affine 10 translate=10,5 scale=0.8 shear=15,0",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.functional.affine.\n"
               "With R the rotation by degrees, X and Y the shears, S the scale and T the "
               "translation, a point p relative to the centre goes to T(R Y X S p). With the "
               "angles a of R, x of X and y of Y, the matrix R Y X is\n"
               "  cos(a - y) / cos(y)   -cos(a - y) tan(x) / cos(y) - sin(a)\n"
               "  sin(a - y) / cos(y)   -sin(a - y) tan(x) / cos(y) + cos(a)\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    STAGE_PARAMS(affine_params),
    .args_size = sizeof(affine_args),
    .check = affine_check,
    .infer = affine_infer,
    .color =
        &(const color_ops){
            .add = affine_colors,
            .is_by_pixel = color_is_by_pixel,
            .warps = true,
            .places = true,
        },
};

/* ---- random_affine -----------------------------------------------------------------------------
 */

static sluice_status random_affine_check(void *opaque)
{
    random_affine_args *args = opaque;
    sluice_status st = warp_check("random_affine", &args->options);

    if (st == SLUICE_OK) {
        st = warp_check_center("random_affine", &args->center);
    }
    if (st == SLUICE_OK) {
        st = check_pair("random_affine", "translate", 0, 1, &args->translate);
    }
    if (st == SLUICE_OK) {
        st = check_pair("random_affine", "scale", LEAST_SCALE, MOST_SCALE, &args->scale);
    }
    if (st == SLUICE_OK) {
        st = warp_check_range("random_affine", "scale", LEAST_SCALE, MOST_SCALE, &args->scale);
    }
    if (st == SLUICE_OK) {
        st = warp_check_range("random_affine", "shear", -MOST_SHEAR, MOST_SHEAR, &args->shear);
    }
    if (st == SLUICE_OK && args->degrees.count > 2) {
        args->degrees.count = 3; /* refused */
    }
    return st == SLUICE_OK ? warp_check_range("random_affine", "degrees", -MOST_DEGREES,
                                              MOST_DEGREES, &args->degrees)
                           : st;
}

static sluice_status random_affine_infer(const void *opaque, stage_schema *schema)
{
    return warp_infer("random_affine", &((const random_affine_args *)opaque)->options, 1, false,
                      schema);
}

/* A whole number of pixels, at most `part` of the length, in either direction. */
static double draw_pixels(double part, uint32_t length, uint32_t bits)
{
    const double most = part * length;

    return rint(-most + sli_unit(bits) * 2 * most);
}

static void random_affine_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const random_affine_args *args = opaque;
    warp_affine affine;
    warp_matrix matrix;
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    affine.degrees = warp_uniform(&args->degrees, 0, bits[0]);
    affine.translate[0] = draw_pixels(args->translate.values[0], chain->width, bits[1]);
    affine.translate[1] = draw_pixels(args->translate.values[1], chain->height, bits[2]);
    affine.scale = warp_uniform(&args->scale, 0, bits[3]);
    sli_draw(draws, 1, bits);
    affine.shear[0] = warp_uniform(&args->shear, 0, bits[0]);
    affine.shear[1] = args->shear.count > 2 ? warp_uniform(&args->shear, 1, bits[1]) : 0;
    matrix = warp_about_center(&affine, &args->center, chain);
    warp_add(&args->options, &matrix, chain);
}

static const stage_param random_affine_params[] = {
    PARAM_(random_affine_args, degrees, PARAM_REALS, NULL, 0, 0, NULL,
           "maximum angle in either direction, or LOW,HIGH, clockwise, -1e6 to 1e6"),
    PARAM_(random_affine_args, translate, PARAM_REALS, "0,0", 0, 0, NULL,
           "maximum translation, as fractions of width and height, 0 to 1"),
    PARAM_(random_affine_args, scale, PARAM_REALS, "1,1", 0, 0, NULL,
           "LOW,HIGH, within 0.001 and 1000"),
    PARAM_(random_affine_args, shear, PARAM_REALS, "0", 0, 0, NULL,
           "maximum shear along x in degrees, or LOW,HIGH, or LOW,HIGH,LOW,HIGH along x and y, "
           "-89.999 "
           "to 89.999"),
    WARP_PARAMS(random_affine_args, options, "nearest"),
    CENTER_PARAM(random_affine_args, center),
    BORDER_PARAM(random_affine_args, options),
};

const stage_def stage_random_affine = {
    .name = "random_affine",
    .summary = "Scales, shears and rotates about the centre, then translates, at random.",
    .elsewhere = "RandomAffine",
    .example = "random_affine 20 translate=0.1,0.1 scale=0.7,1.2 shear=15",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomAffine. The warp is that of affine.\n"
               "All draws are uniform in [LOW, HIGH). The translation is drawn in either "
               "direction along x and y, and rounded to whole pixels.\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(random_affine_params),
    .args_size = sizeof(random_affine_args),
    .check = random_affine_check,
    .infer = random_affine_infer,
    .color =
        &(const color_ops){
            .add = random_affine_colors,
            .is_by_pixel = color_is_by_pixel,
            .warps = true,
            .places = true,
        },
};
