/* SPDX-License-Identifier: Apache-2.0 */
/* The normalize stage: computes (value - mean) / std for each channel. */
#include <math.h>
#include <string.h>

#include "conversion_ops.h"
#include "stage.h"
#include "status_int.h"

typedef struct normalize_args {
    conversion_args common;
    param_reals mean; /* numbers for the channels, or the name of a preset */
    param_reals std;
    double range;
    sluice_dtype dtype;
} normalize_args;

/* Presets: well-known statistics of data sets, for values in 0..1. */
static const struct {
    const char *name;
    double mean[3];
    double std[3];
} presets[] = {
    /* The values with which torchvision's models were trained. */
    {"imagenet", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    {"cifar10", {0.4914, 0.4822, 0.4465}, {0.2470, 0.2435, 0.2616}},
};

static sluice_status look_up(normalize_args *args)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
        if (strcmp(args->mean.name, presets[i].name) == 0) {
            if (args->std.count != 0 || args->range != 1) {
                return sli_fail(SLUICE_E_INVALID,
                                "normalize: std and range must not be given with %s",
                                args->mean.name);
            }
            args->mean = (param_reals){.count = 3};
            args->std = (param_reals){.count = 3};
            memcpy(args->mean.values, presets[i].mean, sizeof(presets[i].mean));
            memcpy(args->std.values, presets[i].std, sizeof(presets[i].std));
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "normalize: '%s' must be imagenet, cifar10, or numbers: MEAN STD",
                    args->mean.name);
}

/*
 * Refuses numbers that are plausible only for a value range other than the current one. Confusing
 * the ranges is the most common mistake, and training then degrades without any error.
 */
static sluice_status check_meaning(const normalize_args *args, double white)
{
    const double full = white > 255 ? white : 255; /* of a file's values */

    for (uint32_t c = 0; c < args->std.count; c++) {
        const double mean = args->mean.values[c];
        const double std = args->std.values[c];

        if (args->range == 1 && (fabs(std) > 3 || fabs(mean) > 3)) {
            return sli_fail(SLUICE_E_INVALID,
                            "normalize: mean %g and std %g cannot be meant for values in 0..1; for "
                            "values in 0..%g write range=%g, else divide them: mean %g std %g",
                            mean, std, full, full, mean / full, std / full);
        }
        if (args->range == full && fabs(std) < 3 / full && fabs(mean) <= 1) {
            return sli_fail(SLUICE_E_INVALID,
                            "normalize: mean %g and std %g cannot be meant for values in 0..%g; "
                            "for values in 0..1 leave range=%g out, else write mean %g std %g",
                            mean, std, full, full, mean * full, std * full);
        }
    }
    return SLUICE_OK;
}

static sluice_status normalize_check(void *opaque)
{
    normalize_args *args = opaque;

    if (args->mean.name[0] != '\0') {
        sluice_status st = look_up(args);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    if (args->mean.count == 0 || args->mean.count != args->std.count || args->std.name[0] != '\0') {
        return sli_fail(SLUICE_E_INVALID, "normalize: std must have as many numbers as mean, one "
                                          "for each channel or one for all");
    }
    if (args->dtype != SLUICE_F32 && args->dtype != SLUICE_F16 && args->dtype != SLUICE_BF16) {
        return sli_fail(SLUICE_E_INVALID, "normalize: dtype=%s must be f32, f16 or bf16",
                        sluice_dtype_name(args->dtype));
    }
    for (uint32_t c = 0; c < args->std.count; c++) {
        if (args->std.values[c] == 0) {
            return sli_fail(SLUICE_E_INVALID, "normalize: std=0 must be a number other than 0");
        }
    }
    return SLUICE_OK;
}

static sluice_status normalize_infer(const void *opaque, sluice_column *column, column_info *info)
{
    const normalize_args *args = opaque;
    const uint64_t channels = column->shape[info->is_chw ? 0 : SCHEMA_C];

    if (column->dtype == SLUICE_F16 || column->dtype == SLUICE_BF16) {
        return sli_fail(SLUICE_E_INVALID,
                        "normalize: the image is %s, already rounded to 16 bits; "
                        "put normalize before that and give it dtype=%s",
                        sluice_dtype_name(column->dtype), sluice_dtype_name(column->dtype));
    }
    if (args->mean.count != 1 && args->mean.count != channels) {
        return sli_fail(
            SLUICE_E_INVALID,
            "normalize: %u numbers for an image of %llu channels, %s; there must be one for "
            "each channel or one for all; of several images, columns= chooses some",
            args->mean.count, (unsigned long long)channels, column->name);
    }
    if (info->white != 0 || info->is_converted) { /* else the values may have any range */
        sluice_status st = check_meaning(args, info->white);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    column->dtype = args->dtype;
    info->white = 0;
    info->is_converted = true;
    return SLUICE_OK;
}

static void normalize_convert(const void *opaque, const column_info *before,
                              conversion_state *state)
{
    const normalize_args *args = opaque;
    /*
     * The value of white before this stage: 255 for bytes, 65535 for u16, 1 after scaling. It is
     * unknown (0) after an earlier normalize, and of arrays of f32, whose values are not scaled.
     */
    const double white = before->white > 0 ? before->white : args->range;

    for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
        uint32_t from = args->mean.count == 1 ? 0 : c < args->mean.count ? c : 0;
        double scale = args->range / (white * args->std.values[from]);
        double bias = -args->mean.values[from] / args->std.values[from];

        state->bias[c] = state->bias[c] * scale + bias;
        state->scale[c] *= scale;
    }
    state->affine = true;
    state->dtype = args->dtype;
}

static const stage_param normalize_params[] = {
    PARAM_(normalize_args, mean, PARAM_REALS, NULL, 0, 0, NULL,
           "per channel, or one for all; or imagenet, cifar10"),
    PARAM_(normalize_args, std, PARAM_REALS, "", 0, 0, NULL, "per channel, or one for all"),
    PARAM_(normalize_args, range, PARAM_REAL, "1", 1e-3, 65535, NULL,
           "value of white in the units of mean and std: 1, 255, or 65535 for u16"),
    PARAM_(normalize_args, dtype, PARAM_DTYPE, "f32", 0, 0, NULL, "f32, f16 or bf16"),
    OFFLOAD_PARAM,
    COLUMNS_PARAM(normalize_args, common.columns),
};

const stage_def stage_normalize = {
    .name = "normalize",
    .summary = "(value - mean) / std per channel, with one rounding.",
    .elsewhere = "Normalize Rescale",
    .example = "normalize imagenet",
    .gives = "image f32, f16 or bf16, the same shape",
    .details =
        "A value becomes fmaf(value, scale, bias), with scale and bias computed from "
        "mean, std and range: one rounding. With one number in mean and std, images "
        "may have any number of channels, else 2 to 4 as given. Of an image of f32, a finite "
        "value whose result the type cannot represent makes a bad sample.",
    .kind = STAGE_CONVERSION,
    STAGE_PARAMS(normalize_params),
    .args_size = sizeof(normalize_args),
    .check = normalize_check,
    .selects = true,
    .conversion =
        &(const conversion_ops){
            .infer_image = normalize_infer,
            .convert = normalize_convert,
        },
};
