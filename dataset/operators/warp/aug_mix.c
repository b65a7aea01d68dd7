/* SPDX-License-Identifier: Apache-2.0 */
/* The aug_mix stage: torchvision's AugMix, of Hendrycks et al., "AugMix: A Simple Data Processing
 * Method to Improve Robustness and Uncertainty" (ICLR 2020). */
#include "augment_table.h"
#include "beta_draw_int.h"
#include "color_ops.h"
#include "status_int.h"

/* Most operations of a copy, and operations to choose from. */
enum { MOST_DEPTH = 8, SOME_OPERATIONS = 9, ALL_OPERATIONS = 13 };

/* Blocks of random numbers: MOST_DEPTH for each copy, then one for each copy, then the weights. */
enum {
    DEPTH_BLOCK = COLOR_MIX_CHAINS * MOST_DEPTH,
    WEIGHTS_BLOCK = DEPTH_BLOCK + COLOR_MIX_CHAINS
};

/* The magnitudes are 0, 1/9, 2/9, ..., 1; `severity` is the number of those to draw from. */
enum { MAGNITUDES = 10 };

static const augment_table mix_table = {0.3, 30, 0.9, 4, 4, 0, 1.0 / 3.0};

/* In torchvision's order; the last four are those that all_ops adds. */
static const augment_kind kinds[ALL_OPERATIONS] = {
    AUGMENT_SHEAR_X,   AUGMENT_SHEAR_Y,    AUGMENT_TRANSLATE_X, AUGMENT_TRANSLATE_Y,
    AUGMENT_ROTATE,    AUGMENT_POSTERIZE,  AUGMENT_SOLARIZE,    AUGMENT_AUTOCONTRAST,
    AUGMENT_EQUALIZE,  AUGMENT_BRIGHTNESS, AUGMENT_SATURATION,  AUGMENT_CONTRAST,
    AUGMENT_SHARPNESS,
};

typedef struct aug_mix_args {
    uint64_t severity;
    uint64_t mixture_width;
    int64_t chain_depth; /* not above 0: 1 to 3, at random */
    double alpha;
    bool all_ops;
    warp_options options;
} aug_mix_args;

static sluice_status aug_mix_check(void *opaque)
{
    return warp_check("aug_mix", &((const aug_mix_args *)opaque)->options);
}

static sluice_status aug_mix_infer(const void *opaque, stage_schema *schema)
{
    const aug_mix_args *args = opaque;
    sluice_status st = schema_add_colors(schema, "aug_mix", "", true, 0);

    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        const column_role role = schema->infos[i].role;

        if (role == ROLE_MASK || role == ROLE_BOXES || role == ROLE_POINTS ||
            role == ROLE_GEOMETRY) {
            st = sli_fail(
                SLUICE_E_INVALID,
                "aug_mix: column %s is %s, and a mix of copies that are moved in different "
                "ways has none; drop it before, or take rand_augment",
                schema->columns[i].name, schema_role_words(schema, i));
        }
    }
    if (st == SLUICE_OK && ++schema->colors.mixes > COLOR_MAX_MIXES) {
        st = sli_fail(SLUICE_E_INVALID, "aug_mix: a pipeline has at most %d of them",
                      COLOR_MAX_MIXES);
    }
    schema_set_state(
        schema, STATE_NONAFFINE,
        "aug_mix"); /* no affine map describes it: stage geometry is refused after it */
    return st == SLUICE_OK ? warp_infer("aug_mix", &args->options, 1, false, schema) : st;
}

/* Adds the operations of one copy. */
static void add_copy(const aug_mix_args *args, const sli_draws *draws, uint32_t number,
                     color_chain *chain)
{
    uint32_t depth = (uint32_t)args->chain_depth;
    uint32_t bits[4];

    if (args->chain_depth <= 0) {
        sli_draw(draws, DEPTH_BLOCK + number, bits);
        depth = 1 + sli_below(bits[0], 3);
    }
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t kind;
        uint32_t magnitude;

        sli_draw(draws, number * MOST_DEPTH + i, bits);
        kind = sli_below(bits[0], args->all_ops ? ALL_OPERATIONS : SOME_OPERATIONS);
        magnitude = sli_below(bits[1], (uint32_t)args->severity);
        augment_add(&mix_table, kinds[kind], (double)magnitude / (MAGNITUDES - 1), bits[2] >> 31,
                    &args->options, chain);
    }
}

static void aug_mix_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const aug_mix_args *args = opaque;
    color_mix *mix = color_add_mix(chain);
    uint32_t block = WEIGHTS_BLOCK;
    double shares[2];
    double weights[COLOR_MIX_CHAINS];

    mix->count = (uint32_t)args->mixture_width;
    sli_draw_dirichlet(draws, &block, args->alpha, 2, shares);
    sli_draw_dirichlet(draws, &block, args->alpha, mix->count, weights);
    mix->share = (float)shares[0];
    for (uint32_t i = 0; i < mix->count; i++) {
        mix->weights[i] = (float)weights[i] * (float)shares[1];
        add_copy(args, draws, i, &mix->chains[i]);
    }
}

static const stage_param aug_mix_params[] = {
    PARAM_(aug_mix_args, severity, PARAM_COUNT, "3", 1, MAGNITUDES, NULL,
           "magnitudes are drawn from this many of the weakest, of 10"),
    PARAM_(aug_mix_args, mixture_width, PARAM_COUNT, "3", 1, COLOR_MIX_CHAINS, NULL,
           "number of copies"),
    PARAM_(aug_mix_args, chain_depth, PARAM_INT, "-1", -1, MOST_DEPTH, NULL,
           "operations of each copy; below 1: 1 to 3, at random"),
    PARAM_(aug_mix_args, alpha, PARAM_REAL, "1", 1e-6, 1e6, NULL,
           "alpha of the Beta and Dirichlet distributions of the weights"),
    PARAM_(aug_mix_args, all_ops, PARAM_BOOL, "true", 0, 0, NULL,
           "with brightness, saturation, contrast and sharpness"),
    WARP_PARAMS(aug_mix_args, options, "bilinear"),
    BORDER_PARAM(aug_mix_args, options),
};

const stage_def stage_aug_mix = {
    .name = "aug_mix",
    .summary = "Mixes the image with copies of it that random operations have changed: AugMix.",
    .elsewhere = "AugMix",
    .gives = "image u8, the same shape",
    .details = "References: torchvision.transforms.v2.AugMix; Hendrycks et al., \"AugMix: A "
               "Simple Data Processing Method to Improve Robustness and Uncertainty\" (ICLR "
               "2020).\n"
               "Each of the mixture_width copies is changed by its own operations. The result "
               "is\n"
               "  m0 * image + m1 * (w[0] * copy 0 + w[1] * copy 1 + ...)\n"
               "in single precision, truncated. (m0, m1) and w are drawn from Dirichlet "
               "distributions whose parameters are all alpha.\n"
               "The operations of a copy are drawn from shear and translation along x or y, "
               "rotation, posterize, solarize, autocontrast, equalize, and those of all_ops. "
               "m is drawn from the first `severity` of 0, 1/9, 2/9, ..., 1. The ranges are "
               "those of rand_augment, except for\n"
               "  translation by s * m / 3 of the width or height\n"
               "  posterize to 4 - 4 * m bits\n"
               "Masks, boxes, points and the stage geometry are refused, as by torchvision, "
               "since each copy is warped differently. A pipeline has at most 4 of these "
               "stages, and each counts as one operation.",
    .kind = STAGE_COLOR,
    STAGE_PARAMS(aug_mix_params),
    .args_size = sizeof(aug_mix_args),
    .check = aug_mix_check,
    .infer = aug_mix_infer,
    .color =
        &(const color_ops){
            .add = aug_mix_colors,
            .places = true,
        },
    .draws = true,
};
