/* SPDX-License-Identifier: Apache-2.0 */
/* The auto_augment stage: torchvision's AutoAugment, with its policies. */
#include "augment_table.h"
#include "color_ops.h"

enum { POLICIES = 3, PAIRS = 25 };

typedef struct policy_args {
    uint32_t policy; /* index in policy_names and policies */
    warp_options options;
} policy_args;

static const augment_table policy_table = {0.3, 30, 0.9, 8, 4, 0, 150.0 / 331.0};

static const char *const policy_names[] = {"imagenet", "cifar10", "svhn", NULL};

typedef struct policy_step {
    augment_kind kind;
    uint8_t tenths;    /* of the probability */
    uint8_t magnitude; /* index, 0 to 9 */
} policy_step;

/* The pairs of operations of torchvision's AutoAugmentPolicy, in its order. */
static const policy_step policies[POLICIES][PAIRS][2] = {
    {
        {{AUGMENT_POSTERIZE, 4, 8}, {AUGMENT_ROTATE, 6, 9}},
        {{AUGMENT_SOLARIZE, 6, 5}, {AUGMENT_AUTOCONTRAST, 6, 0}},
        {{AUGMENT_EQUALIZE, 8, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_POSTERIZE, 6, 7}, {AUGMENT_POSTERIZE, 6, 6}},
        {{AUGMENT_EQUALIZE, 4, 0}, {AUGMENT_SOLARIZE, 2, 4}},
        {{AUGMENT_EQUALIZE, 4, 0}, {AUGMENT_ROTATE, 8, 8}},
        {{AUGMENT_SOLARIZE, 6, 3}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_POSTERIZE, 8, 5}, {AUGMENT_EQUALIZE, 10, 0}},
        {{AUGMENT_ROTATE, 2, 3}, {AUGMENT_SOLARIZE, 6, 8}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_POSTERIZE, 4, 6}},
        {{AUGMENT_ROTATE, 8, 8}, {AUGMENT_SATURATION, 4, 0}},
        {{AUGMENT_ROTATE, 4, 9}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_EQUALIZE, 0, 0}, {AUGMENT_EQUALIZE, 8, 0}},
        {{AUGMENT_INVERT, 6, 0}, {AUGMENT_EQUALIZE, 10, 0}},
        {{AUGMENT_SATURATION, 6, 4}, {AUGMENT_CONTRAST, 10, 8}},
        {{AUGMENT_ROTATE, 8, 8}, {AUGMENT_SATURATION, 10, 2}},
        {{AUGMENT_SATURATION, 8, 8}, {AUGMENT_SOLARIZE, 8, 7}},
        {{AUGMENT_SHARPNESS, 4, 7}, {AUGMENT_INVERT, 6, 0}},
        {{AUGMENT_SHEAR_X, 6, 5}, {AUGMENT_EQUALIZE, 10, 0}},
        {{AUGMENT_SATURATION, 4, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_EQUALIZE, 4, 0}, {AUGMENT_SOLARIZE, 2, 4}},
        {{AUGMENT_SOLARIZE, 6, 5}, {AUGMENT_AUTOCONTRAST, 6, 0}},
        {{AUGMENT_INVERT, 6, 0}, {AUGMENT_EQUALIZE, 10, 0}},
        {{AUGMENT_SATURATION, 6, 4}, {AUGMENT_CONTRAST, 10, 8}},
        {{AUGMENT_EQUALIZE, 8, 0}, {AUGMENT_EQUALIZE, 6, 0}},
    },
    {
        {{AUGMENT_INVERT, 1, 0}, {AUGMENT_CONTRAST, 2, 6}},
        {{AUGMENT_ROTATE, 7, 2}, {AUGMENT_TRANSLATE_X, 3, 9}},
        {{AUGMENT_SHARPNESS, 8, 1}, {AUGMENT_SHARPNESS, 9, 3}},
        {{AUGMENT_SHEAR_Y, 5, 8}, {AUGMENT_TRANSLATE_Y, 7, 9}},
        {{AUGMENT_AUTOCONTRAST, 5, 0}, {AUGMENT_EQUALIZE, 9, 0}},
        {{AUGMENT_SHEAR_Y, 2, 7}, {AUGMENT_POSTERIZE, 3, 7}},
        {{AUGMENT_SATURATION, 4, 3}, {AUGMENT_BRIGHTNESS, 6, 7}},
        {{AUGMENT_SHARPNESS, 3, 9}, {AUGMENT_BRIGHTNESS, 7, 9}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_EQUALIZE, 5, 0}},
        {{AUGMENT_CONTRAST, 6, 7}, {AUGMENT_SHARPNESS, 6, 5}},
        {{AUGMENT_SATURATION, 7, 7}, {AUGMENT_TRANSLATE_X, 5, 8}},
        {{AUGMENT_EQUALIZE, 3, 0}, {AUGMENT_AUTOCONTRAST, 4, 0}},
        {{AUGMENT_TRANSLATE_Y, 4, 3}, {AUGMENT_SHARPNESS, 2, 6}},
        {{AUGMENT_BRIGHTNESS, 9, 6}, {AUGMENT_SATURATION, 2, 8}},
        {{AUGMENT_SOLARIZE, 5, 2}, {AUGMENT_INVERT, 0, 0}},
        {{AUGMENT_EQUALIZE, 2, 0}, {AUGMENT_AUTOCONTRAST, 6, 0}},
        {{AUGMENT_EQUALIZE, 2, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_SATURATION, 9, 9}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_AUTOCONTRAST, 8, 0}, {AUGMENT_SOLARIZE, 2, 8}},
        {{AUGMENT_BRIGHTNESS, 1, 3}, {AUGMENT_SATURATION, 7, 0}},
        {{AUGMENT_SOLARIZE, 4, 5}, {AUGMENT_AUTOCONTRAST, 9, 0}},
        {{AUGMENT_TRANSLATE_Y, 9, 9}, {AUGMENT_TRANSLATE_Y, 7, 9}},
        {{AUGMENT_AUTOCONTRAST, 9, 0}, {AUGMENT_SOLARIZE, 8, 3}},
        {{AUGMENT_EQUALIZE, 8, 0}, {AUGMENT_INVERT, 1, 0}},
        {{AUGMENT_TRANSLATE_Y, 7, 9}, {AUGMENT_AUTOCONTRAST, 9, 0}},
    },
    {
        {{AUGMENT_SHEAR_X, 9, 4}, {AUGMENT_INVERT, 2, 0}},
        {{AUGMENT_SHEAR_Y, 9, 8}, {AUGMENT_INVERT, 7, 0}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_SOLARIZE, 6, 6}},
        {{AUGMENT_INVERT, 9, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_ROTATE, 9, 3}},
        {{AUGMENT_SHEAR_X, 9, 4}, {AUGMENT_AUTOCONTRAST, 8, 0}},
        {{AUGMENT_SHEAR_Y, 9, 8}, {AUGMENT_INVERT, 4, 0}},
        {{AUGMENT_SHEAR_Y, 9, 5}, {AUGMENT_SOLARIZE, 2, 6}},
        {{AUGMENT_INVERT, 9, 0}, {AUGMENT_AUTOCONTRAST, 8, 0}},
        {{AUGMENT_EQUALIZE, 6, 0}, {AUGMENT_ROTATE, 9, 3}},
        {{AUGMENT_SHEAR_X, 9, 4}, {AUGMENT_SOLARIZE, 3, 3}},
        {{AUGMENT_SHEAR_Y, 8, 8}, {AUGMENT_INVERT, 7, 0}},
        {{AUGMENT_EQUALIZE, 9, 0}, {AUGMENT_TRANSLATE_Y, 6, 6}},
        {{AUGMENT_INVERT, 9, 0}, {AUGMENT_EQUALIZE, 6, 0}},
        {{AUGMENT_CONTRAST, 3, 3}, {AUGMENT_ROTATE, 8, 4}},
        {{AUGMENT_INVERT, 8, 0}, {AUGMENT_TRANSLATE_Y, 0, 2}},
        {{AUGMENT_SHEAR_Y, 7, 6}, {AUGMENT_SOLARIZE, 4, 8}},
        {{AUGMENT_INVERT, 6, 0}, {AUGMENT_ROTATE, 8, 4}},
        {{AUGMENT_SHEAR_Y, 3, 7}, {AUGMENT_TRANSLATE_X, 9, 3}},
        {{AUGMENT_SHEAR_X, 1, 6}, {AUGMENT_INVERT, 6, 0}},
        {{AUGMENT_SOLARIZE, 7, 2}, {AUGMENT_TRANSLATE_Y, 6, 7}},
        {{AUGMENT_SHEAR_Y, 8, 4}, {AUGMENT_INVERT, 8, 0}},
        {{AUGMENT_SHEAR_X, 7, 9}, {AUGMENT_TRANSLATE_Y, 8, 3}},
        {{AUGMENT_SHEAR_Y, 8, 5}, {AUGMENT_AUTOCONTRAST, 7, 0}},
        {{AUGMENT_SHEAR_X, 7, 2}, {AUGMENT_INVERT, 1, 0}},
    },
};

static sluice_status auto_check(void *args)
{
    return warp_check("auto_augment", &((const policy_args *)args)->options);
}

static sluice_status auto_infer(const void *args, stage_schema *schema)
{
    return augment_infer("auto_augment", &((const policy_args *)args)->options, 2, schema);
}

static void auto_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const policy_args *args = opaque;
    uint32_t bits[4];
    const policy_step *pair;

    sli_draw(draws, 0, bits);
    pair = policies[args->policy][sli_below(bits[0], PAIRS)];
    for (uint32_t i = 0; i < 2; i++) {
        sli_draw(draws, 1 + i, bits);
        if (sli_unit(bits[0]) < pair[i].tenths / 10.0) {
            augment_add(&policy_table, pair[i].kind, pair[i].magnitude / 9.0, bits[1] >> 31,
                        &args->options, chain);
        }
    }
}

static const stage_param auto_params[] = {
    PARAM_(policy_args, policy, PARAM_CHOICE, "imagenet", 0, 0, policy_names,
           "the data set that the policy was found for"),
    WARP_PARAMS(policy_args, options, "nearest"),
    BORDER_PARAM(policy_args, options),
};

const stage_def stage_auto_augment = {
    .name = "auto_augment",
    .summary = "Applies one of 25 pairs of colour operations and warps at random: AutoAugment.",
    .elsewhere = "AutoAugment",
    .gives = "image u8, the same shape",
    .details = "References: torchvision.transforms.v2.AutoAugment, with its AutoAugmentPolicy; "
               "Cubuk et al., \"AutoAugment: learning augmentation strategies from data\" (2019).\n"
               "Each pair has the same probability. Each operation of it is applied with its own "
               "probability, and has its own magnitude m, 0 to 9 of 9. The operations are those of "
               "rand_augment, and invert.\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(auto_params),
    .args_size = sizeof(policy_args),
    .check = auto_check,
    .infer = auto_infer,
    .color =
        &(const color_ops){
            .add = auto_colors,
            .warps = true,
            .places = true,
        },
};
