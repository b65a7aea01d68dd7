/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trivial_augment and rand_augment stages: torchvision's TrivialAugmentWide and RandAugment,
 * with its tables of operations and magnitudes.
 */
#include "augment_table.h"
#include "color_ops.h"
#include "status_int.h"

enum { MOST_OPERATIONS = 16 };

static const augment_table trivial_table = {0.99, 135, 0.99, 8, 6, 32, 0};
static const augment_table rand_table = {0.3, 30, 0.9, 8, 4, 0, 150.0 / 331.0};

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
    augment_add(&trivial_table, (augment_kind)sli_below(bits[0], AUGMENTS),
                (double)sli_below(bits[1], bins) / (bins - 1), bits[2] >> 31, &args->options,
                chain);
}

#define BINS_PARAM(struct_type)                                                                    \
    PARAM_(struct_type, num_magnitude_bins, PARAM_COUNT, "31", 2, 65536, NULL,                     \
           "number of magnitudes")

static const stage_param trivial_params[] = {
    BINS_PARAM(trivial_args),
    WARP_PARAMS(trivial_args, options, "nearest"),
    BORDER_PARAM(trivial_args, options),
};

const stage_def stage_trivial_augment = {
    .name = "trivial_augment",
    .summary = "Applies one of 14 colour operations and warps at random: TrivialAugmentWide.",
    .elsewhere = "TrivialAugmentWide",
    .gives = "image u8, the same shape",
    .details = "References: torchvision.transforms.v2.TrivialAugmentWide; Müller and Hutter, "
               "\"TrivialAugment: tuning-free yet state-of-the-art data augmentation\" "
               "(2021).\n"
               "m is the magnitude, 0 to 1 in equal steps, drawn for each image; s is a "
               "random sign, 1 or -1. The operations are\n"
               "  identity, autocontrast, equalize\n"
               "  shear along x or y by s * 0.99 * m (about the upper left corner)\n"
               "  translation along x or y by s * 32 * m pixels, truncated\n"
               "  rotation by s * 135 * m degrees\n"
               "  brightness, saturation, contrast or sharpness by the factor\n"
               "    1 + s * 0.99 * m\n"
               "  posterize to 8 - 6 * m bits, rounded\n"
               "  solarize with the threshold 255 * (1 - m)\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(trivial_params),
    .args_size = sizeof(trivial_args),
    .check = trivial_check,
    .infer = trivial_infer,
    .color =
        &(const color_ops){
            .add = trivial_colors,
            .warps = true,
            .places = true,
        },
};

/* ---- rand_augment ------------------------------------------------------------------------------
 */

static sluice_status rand_check(void *opaque)
{
    const rand_args *args = opaque;

    if (args->magnitude >= args->num_magnitude_bins) {
        return sli_fail(SLUICE_E_INVALID,
                        "rand_augment: magnitude=%llu must be less than num_magnitude_bins=%llu",
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
        augment_add(&rand_table, (augment_kind)sli_below(bits[0], AUGMENTS), magnitude,
                    bits[1] >> 31, &args->options, chain);
    }
}

static const stage_param rand_params[] = {
    PARAM_(rand_args, num_ops, PARAM_COUNT, "2", 0, MOST_OPERATIONS, NULL,
           "operations for each image"),
    PARAM_(rand_args, magnitude, PARAM_COUNT, "9", 0, 65535, NULL,
           "index of the magnitude, below num_magnitude_bins"),
    BINS_PARAM(rand_args),
    WARP_PARAMS(rand_args, options, "nearest"),
    BORDER_PARAM(rand_args, options),
};

const stage_def stage_rand_augment = {
    .name = "rand_augment",
    .summary = "Applies colour operations and warps at random with one magnitude: RandAugment.",
    .elsewhere = "RandAugment",
    .gives = "image u8, the same shape",
    .details = "References: torchvision.transforms.v2.RandAugment; Cubuk et al., \"RandAugment: "
               "practical automated data augmentation with a reduced search space\" (2020).\n"
               "Each operation is chosen at random. m is magnitude / (num_magnitude_bins - "
               "1). The operations are those of trivial_augment, with other ranges:\n"
               "  shear by s * 0.3 * m\n"
               "  translation by s * m * 150 / 331 of the width or height\n"
               "  rotation by s * 30 * m degrees\n"
               "  the factors 1 + s * 0.9 * m\n"
               "  posterize to 8 - 4 * m bits\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(rand_params),
    .args_size = sizeof(rand_args),
    .check = rand_check,
    .infer = rand_infer,
    .color =
        &(const color_ops){
            .add = rand_colors,
            .warps = true,
            .places = true,
        },
};
