/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trivial_augment and rand_augment stages: torchvision's TrivialAugmentWide and RandAugment,
 * with its tables of operations and magnitudes.
 */
#include <math.h>

#include "status_int.h"
#include "warp_stage.h"

enum { MOST_OPERATIONS = 16 };

/* In torchvision's order. */
typedef enum augment_kind {
    AUGMENT_NOTHING,
    AUGMENT_SHEAR_X,
    AUGMENT_SHEAR_Y,
    AUGMENT_TRANSLATE_X,
    AUGMENT_TRANSLATE_Y,
    AUGMENT_ROTATE,
    AUGMENT_BRIGHTNESS,
    AUGMENT_SATURATION,
    AUGMENT_CONTRAST,
    AUGMENT_SHARPNESS,
    AUGMENT_POSTERIZE,
    AUGMENT_SOLARIZE,
    AUGMENT_AUTOCONTRAST,
    AUGMENT_EQUALIZE,
    AUGMENTS
} augment_kind;

/* The amounts at magnitude 1. */
typedef struct augment_table {
    double shear;
    double degrees;
    double factor;
    double bits;
    double pixels; /* largest translation; 0: 150/331 of the width or height */
} augment_table;

static const augment_table trivial_table = {0.99, 135, 0.99, 6, 32};
static const augment_table rand_table = {0.3, 30, 0.9, 4, 0};

typedef struct trivial_args {
    uint64_t num_magnitude_bins;
    warp_options options;
} trivial_args;

typedef struct rand_args {
    uint64_t num_ops;
    uint64_t magnitude;
    uint64_t num_magnitude_bins;
    warp_options options;
} rand_args;

static sluice_status augment_infer(const char *stage, const warp_options *options,
                                   uint32_t operations, stage_schema *schema)
{
    column_set images;
    sluice_status st = schema_select_images(schema, stage, "", &images);

    if (st == SLUICE_OK) {
        st = schema_want_bytes(schema, stage, images, true);
    }

    if (st == SLUICE_OK) {
        st = warp_infer(stage, options, operations, false, schema);
    }
    return st;
}

static void add_warp_kind(const augment_table *table, augment_kind kind, double signed_magnitude,
                          const warp_options *options, color_chain *chain)
{
    const uint32_t side = kind == AUGMENT_TRANSLATE_X ? chain->width : chain->height;
    const double pixels =
        trunc(signed_magnitude * (table->pixels > 0 ? table->pixels : 150.0 / 331.0 * side));
    warp_affine affine = {0, {0, 0}, 1, {0, 0}};
    warp_matrix matrix = {{1, 0, 0, 0, 1, 0, 0, 0, 1}};

    switch (kind) {
    case AUGMENT_SHEAR_X:
        matrix.m[1] = table->shear * signed_magnitude;
        break;
    case AUGMENT_SHEAR_Y:
        matrix.m[3] = table->shear * signed_magnitude;
        break;
    case AUGMENT_TRANSLATE_X:
        matrix.m[2] = -pixels;
        break;
    case AUGMENT_TRANSLATE_Y:
        matrix.m[5] = -pixels;
        break;
    default:
        affine.degrees = -table->degrees * signed_magnitude;
        matrix = warp_of_affine(&affine, chain->width, chain->height);
        break;
    }
    warp_add(options, &matrix, chain);
}

/* Adds an operation with a magnitude from 0 to 1. */
static void add_kind(const augment_table *table, augment_kind kind, double magnitude, bool negative,
                     const warp_options *options, color_chain *chain)
{
    const double signed_magnitude = negative ? -magnitude : magnitude;
    const double factor = 1 + table->factor * signed_magnitude;

    switch (kind) {
    case AUGMENT_BRIGHTNESS:
        color_add_brightness(chain, factor);
        break;
    case AUGMENT_SATURATION:
        color_add_saturation(chain, factor);
        break;
    case AUGMENT_CONTRAST:
        color_add_contrast(chain, factor);
        break;
    case AUGMENT_SHARPNESS:
        color_add_sharpness(chain, factor);
        break;
    case AUGMENT_POSTERIZE:
        color_add_posterize(chain, (uint32_t)rint(8 - table->bits * magnitude));
        break;
    case AUGMENT_SOLARIZE:
        color_add_solarize(chain, 255 * (1 - magnitude));
        break;
    case AUGMENT_AUTOCONTRAST:
        color_add_autocontrast(chain);
        break;
    case AUGMENT_EQUALIZE:
        color_add_equalize(chain);
        break;
    case AUGMENT_NOTHING:
        break;
    default:
        add_warp_kind(table, kind, signed_magnitude, options, chain);
        break;
    }
}

/* ---- trivial_augment ---------------------------------------------------------------------------
 */

static sluice_status trivial_check(void *opaque)
{
    return warp_check("trivial_augment", &((const trivial_args *)opaque)->options);
}

static sluice_status trivial_infer(const void *opaque, stage_schema *schema)
{
    return augment_infer("trivial_augment", &((const trivial_args *)opaque)->options, 1, schema);
}

static void trivial_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const trivial_args *args = opaque;
    const uint32_t bins = (uint32_t)args->num_magnitude_bins;
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    add_kind(&trivial_table, (augment_kind)sli_below(bits[0], AUGMENTS),
             (double)sli_below(bits[1], bins) / (bins - 1), bits[2] >> 31, &args->options, chain);
}

#define BINS_PARAM(struct_type)                                                                    \
    PARAM_(struct_type, num_magnitude_bins, PARAM_COUNT, "31", 2, 65536, NULL,                     \
           "number of magnitudes")

static const stage_param trivial_params[] = {
    BINS_PARAM(trivial_args),
    WARP_PARAMS(trivial_args, options, "nearest"),
};

const stage_def stage_trivial_augment = {
    .name = "trivial_augment",
    .summary = "Applies one of 14 colour operations and warps at random: TrivialAugmentWide.",
    .gives = "image u8, the same shape",
    .kind = STAGE_COLOR,
    STAGE_PARAMS(trivial_params),
    .args_size = sizeof(trivial_args),
    .check = trivial_check,
    .infer = trivial_infer,
    .colors = trivial_colors,
    .warps = true,
    .places = true,
};

sluice_status sluice_dataset_trivial_augment(sluice_dataset *dataset, uint32_t num_magnitude_bins,
                                             const sluice_warp_config *config)
{
    trivial_args args = {.num_magnitude_bins = num_magnitude_bins};
    const sluice_status st =
        warp_read(&stage_trivial_augment, "sluice_dataset_trivial_augment", config, &args.options);

    return st == SLUICE_OK ? dataset_append(dataset, &stage_trivial_augment, &args)
                           : dataset_keep(dataset, &stage_trivial_augment, st);
}

/* ---- rand_augment ------------------------------------------------------------------------------
 */

static sluice_status rand_check(void *opaque)
{
    const rand_args *args = opaque;

    if (args->magnitude >= args->num_magnitude_bins) {
        return sli_fail(SLUICE_E_INVALID,
                        "rand_augment: magnitude=%llu: want less than num_magnitude_bins=%llu",
                        (unsigned long long)args->magnitude,
                        (unsigned long long)args->num_magnitude_bins);
    }
    return warp_check("rand_augment", &args->options);
}

static sluice_status rand_infer(const void *opaque, stage_schema *schema)
{
    const rand_args *args = opaque;

    return augment_infer("rand_augment", &args->options, (uint32_t)args->num_ops, schema);
}

static void rand_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const rand_args *args = opaque;
    const double magnitude = (double)args->magnitude / (double)(args->num_magnitude_bins - 1);

    for (uint32_t i = 0; i < args->num_ops; i++) {
        uint32_t bits[4];

        sli_draw(draws, i, bits);
        add_kind(&rand_table, (augment_kind)sli_below(bits[0], AUGMENTS), magnitude, bits[1] >> 31,
                 &args->options, chain);
    }
}

static const stage_param rand_params[] = {
    PARAM_(rand_args, num_ops, PARAM_COUNT, "2", 0, MOST_OPERATIONS, NULL,
           "operations for each image"),
    PARAM_(rand_args, magnitude, PARAM_COUNT, "9", 0, 65535, NULL, "which of the magnitudes"),
    BINS_PARAM(rand_args),
    WARP_PARAMS(rand_args, options, "nearest"),
};

const stage_def stage_rand_augment = {
    .name = "rand_augment",
    .summary = "Applies colour operations and warps at random with one magnitude: RandAugment.",
    .gives = "image u8, the same shape",
    .kind = STAGE_COLOR,
    STAGE_PARAMS(rand_params),
    .args_size = sizeof(rand_args),
    .check = rand_check,
    .infer = rand_infer,
    .colors = rand_colors,
    .warps = true,
    .places = true,
};

sluice_status sluice_dataset_rand_augment(sluice_dataset *dataset, uint32_t num_ops,
                                          uint32_t magnitude, uint32_t num_magnitude_bins,
                                          const sluice_warp_config *config)
{
    rand_args args = {
        .num_ops = num_ops, .magnitude = magnitude, .num_magnitude_bins = num_magnitude_bins};
    const sluice_status st =
        warp_read(&stage_rand_augment, "sluice_dataset_rand_augment", config, &args.options);

    return st == SLUICE_OK ? dataset_append(dataset, &stage_rand_augment, &args)
                           : dataset_keep(dataset, &stage_rand_augment, st);
}
