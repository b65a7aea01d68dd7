/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_erasing stage: torchvision's RandomErasing. Zhong et al., "Random erasing data
 * augmentation" (2017).
 */
#include <math.h>
#include <string.h>

#include "color_stage.h"
#include "status_int.h"

enum { ATTEMPTS = 10 };

typedef struct erasing_args {
    color_args common;
    double p;
    param_reals scale; /* LOW,HIGH */
    param_reals ratio; /* LOW,HIGH */
    param_reals value; /* one, or one for each channel */
} erasing_args;

/* Checks a range LOW,HIGH within [least, most]. */
static sluice_status check_range(const char *name, const param_reals *range, double least,
                                 double most)
{
    const double *ends = range->values;

    return range->name[0] == '\0' && range->count == 2 && ends[0] >= least && ends[0] <= ends[1] &&
                   ends[1] <= most
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "random_erasing: %s: want LOW,HIGH with %g <= LOW <= HIGH <= %g", name,
                          least, most);
}

static sluice_status erasing_check(void *opaque)
{
    const erasing_args *args = opaque;
    const param_reals *value = &args->value;
    sluice_status st = check_range("scale", &args->scale, 0, 1);

    if (st == SLUICE_OK) {
        st = check_range("ratio", &args->ratio, 0.001, 1000);
    }
    for (uint32_t i = 0; i < value->count && st == SLUICE_OK; i++) {
        if (!(value->values[i] >= 0 && value->values[i] <= 255) ||
            value->values[i] != rint(value->values[i])) {
            st = sli_fail(SLUICE_E_INVALID,
                          "random_erasing: value=%g: want whole numbers from 0 to 255, the bytes "
                          "before normalize",
                          value->values[i]);
        }
    }
    return st != SLUICE_OK || (value->count > 0 && value->name[0] == '\0')
               ? st
               : sli_fail(SLUICE_E_INVALID,
                          "random_erasing: value: want one number, or one for each channel");
}

static sluice_status erasing_infer(const void *opaque, stage_schema *schema)
{
    const erasing_args *args = opaque;
    column_set images;
    sluice_status st =
        schema_select_images(schema, "random_erasing", args->common.columns, &images);

    if (st == SLUICE_OK) {
        st = schema_want_bytes(schema, "random_erasing", images, false);
    }
    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        const uint64_t channels = schema->columns[i].shape[SCHEMA_C];

        if ((images >> i & 1) != 0 && args->value.count != 1 && args->value.count != channels) {
            st = sli_fail(SLUICE_E_INVALID,
                          "random_erasing: value has %u numbers and column %s %llu channels; want "
                          "one number, or one for each channel",
                          args->value.count, schema->columns[i].name, (unsigned long long)channels);
        }
    }
    return st == SLUICE_OK ? schema_add_operations(schema, "random_erasing", 1) : st;
}

static double uniform(double low, double high, uint32_t bits)
{
    return low + sli_unit(bits) * (high - low);
}

/* Draws rectangles until one is smaller than the image, at most ATTEMPTS. */
static void erasing_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const erasing_args *args = opaque;
    const double area = (double)chain->width * chain->height;
    const double low = sli_log_e(args->ratio.values[0]);
    const double high = sli_log_e(args->ratio.values[1]);
    color_rectangle erased = {0};

    for (uint32_t c = 0; c < sizeof(erased.value); c++) {
        erased.value[c] = (uint8_t)args->value.values[c < args->value.count ? c : 0];
    }
    for (uint32_t i = 1; i <= ATTEMPTS && color_chance(args->p, draws); i++) {
        uint32_t bits[4];
        double part;
        double ratio;
        double height;
        double width;

        sli_draw(draws, i, bits);
        part = area * uniform(args->scale.values[0], args->scale.values[1], bits[0]);
        ratio = sli_exp(uniform(low, high, bits[1]));
        height = rint(sqrt(part * ratio));
        width = rint(sqrt(part / ratio));
        if (height < chain->height && width < chain->width) {
            erased.width = (uint32_t)width;
            erased.height = (uint32_t)height;
            erased.y = sli_below(bits[2], chain->height - erased.height + 1);
            erased.x = sli_below(bits[3], chain->width - erased.width + 1);
            color_add_erase(chain, &erased);
            break;
        }
    }
}

static const stage_param erasing_params[] = {
    CHANCE_PARAM(erasing_args, "0.5"),
    PARAM_(erasing_args, scale, PARAM_REALS, "0.02,0.33", 0, 0, NULL,
           "LOW,HIGH part of the area, within 0 and 1"),
    PARAM_(erasing_args, ratio, PARAM_REALS, "0.3,3.3", 0, 0, NULL,
           "LOW,HIGH height / width, uniform in the logarithm, within 0.001 and 1000"),
    PARAM_(erasing_args, value, PARAM_REALS, "0", 0, 0, NULL,
           "value of the rectangle, 0 to 255, or one for each channel"),
    COLUMNS_PARAM(erasing_args, common.columns),
};

const stage_def stage_random_erasing = {
    .name = "random_erasing",
    .summary = "Sets a random rectangle to a value, with probability p.",
    .gives = "image u8, the same shape",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(erasing_params),
    .args_size = sizeof(erasing_args),
    .selects = true,
    .check = erasing_check,
    .infer = erasing_infer,
    .colors = erasing_colors,
    .is_by_pixel = color_is_by_pixel,
    .places = true,
};

sluice_status sluice_dataset_random_erasing(sluice_dataset *dataset, double p, const double *scale,
                                            const double *ratio, const uint8_t *value,
                                            uint32_t value_count)
{
    const stage_def *def = &stage_random_erasing;
    erasing_args args = {.p = p,
                         .scale = {2, {0.02, 0.33}, ""},
                         .ratio = {2, {0.3, 3.3}, ""},
                         .value = {1, {0}, ""}};

    if (value != NULL && (value_count == 0 || value_count > IMAGE_CHANNELS)) {
        return dataset_keep(
            dataset, def,
            sli_fail(SLUICE_E_INVALID,
                     "sluice_dataset_random_erasing: value_count is %u; want 1 to %d", value_count,
                     IMAGE_CHANNELS));
    }
    if (scale != NULL) {
        memcpy(args.scale.values, scale, 2 * sizeof(*scale));
    }
    if (ratio != NULL) {
        memcpy(args.ratio.values, ratio, 2 * sizeof(*ratio));
    }
    for (uint32_t i = 0; value != NULL && i < value_count; i++) {
        args.value.count = value_count;
        args.value.values[i] = value[i];
    }
    return dataset_append(dataset, def, &args);
}
