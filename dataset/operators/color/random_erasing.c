/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_erasing stage: torchvision's RandomErasing. Zhong et al., "Random erasing data
 * augmentation" (2017). Of images of bytes it is an operation of the chain of colours. Of converted
 * images it is a conversion, which runs on the workers after all others.
 */
#include <math.h>
#include <string.h>

#include "color_stage.h"
#include "status_int.h"

/* Blocks of random numbers: p, the attempts, then those of value=random. */
enum { ATTEMPTS = 10, NORMAL_BLOCK = 16 };

#define RANDOM     "random"
#define MOST_VALUE 65504.0 /* the largest f16 */

typedef struct erasing_args {
    color_args common;
    double p;
    param_reals scale; /* LOW,HIGH */
    param_reals ratio; /* LOW,HIGH */
    param_reals value; /* one, one for each channel, or RANDOM */
} erasing_args;

/* True if values are random numbers of the normal distribution. */
static bool is_normal(const erasing_args *args)
{
    return strcmp(args->value.name, RANDOM) == 0;
}

static sluice_status erasing_check(void *opaque)
{
    const erasing_args *args = opaque;
    sluice_status st = stage_check_range("random_erasing", "scale", &args->scale, 0, 1);

    if (st == SLUICE_OK) {
        st = stage_check_range("random_erasing", "ratio", &args->ratio, 0.001, 1000);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    return is_normal(args) || (args->value.count > 0 && args->value.name[0] == '\0')
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "random_erasing: value must be one number, one for each "
                          "channel, or the word random");
}

/* Checks the number of values for an image, and that they are bytes if the image has bytes. */
static sluice_status check_values(const erasing_args *args, const sluice_column *column,
                                  uint64_t channels)
{
    const param_reals *value = &args->value;

    if (is_normal(args)) {
        return column->dtype != SLUICE_U8
                   ? SLUICE_OK
                   : sli_fail(SLUICE_E_INVALID,
                              "random_erasing value=random: the image %s has bytes; random values "
                              "are of the normal distribution, so put it after normalize",
                              column->name);
    }
    if (value->count != 1 && value->count != channels) {
        return sli_fail(SLUICE_E_INVALID,
                        "random_erasing: value has %u numbers and column %s %llu channels; it must "
                        "have one number, or one for each channel",
                        value->count, column->name, (unsigned long long)channels);
    }
    for (uint32_t i = 0; i < value->count; i++) {
        const double number = value->values[i];

        if (column->dtype == SLUICE_U8 ? !(number >= 0 && number <= 255) || number != rint(number)
                                       : !(fabs(number) <= MOST_VALUE)) {
            return sli_fail(SLUICE_E_INVALID, "random_erasing: value=%g must be %s", number,
                            column->dtype == SLUICE_U8
                                ? "a whole number from 0 to 255 before normalize"
                                : "a number from -65504 to 65504");
        }
    }
    return SLUICE_OK;
}

static double uniform(double low, double high, uint32_t bits)
{
    return low + sli_unit(bits) * (high - low);
}

/* Draws rectangles until one is smaller than the image, at most ATTEMPTS. False: there is none. */
static bool draw_rectangle(const erasing_args *args, const sli_draws *draws, uint32_t width,
                           uint32_t height, color_rectangle *erased_out)
{
    const double area = (double)width * height;
    const double low = sli_log_e(args->ratio.values[0]);
    const double high = sli_log_e(args->ratio.values[1]);

    for (uint32_t i = 1; i <= ATTEMPTS && color_chance(args->p, draws); i++) {
        uint32_t bits[4];
        double part;
        double ratio;
        double tall;
        double wide;

        sli_draw(draws, i, bits);
        part = area * uniform(args->scale.values[0], args->scale.values[1], bits[0]);
        ratio = sli_exp(uniform(low, high, bits[1]));
        tall = rint(sqrt(part * ratio));
        wide = rint(sqrt(part / ratio));
        if (tall < height && wide < width) {
            erased_out->width = (uint32_t)wide;
            erased_out->height = (uint32_t)tall;
            erased_out->y = sli_below(bits[2], height - erased_out->height + 1);
            erased_out->x = sli_below(bits[3], width - erased_out->width + 1);
            return true;
        }
    }
    return false;
}

static double value_of(const erasing_args *args, uint32_t channel)
{
    return args->value.values[channel < args->value.count ? channel : 0];
}

/* ---- of bytes: an operation of the chain of colours --------------------------------------------
 */

static sluice_status erasing_infer(const void *opaque, stage_schema *schema)
{
    const erasing_args *args = opaque;
    column_set images;
    sluice_status st =
        schema_select_images(schema, "random_erasing", args->common.columns, &images);

    if (st == SLUICE_OK) {
        st = schema_check_bytes(schema, "random_erasing", images, false);
    }
    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        if ((images >> i & 1) != 0) {
            st = check_values(args, &schema->columns[i], schema->columns[i].shape[SCHEMA_C]);
        }
    }
    return st == SLUICE_OK ? schema_add_operations(schema, "random_erasing", 1) : st;
}

static void erasing_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const erasing_args *args = opaque;
    color_rectangle erased = {0};

    if (draw_rectangle(args, draws, chain->width, chain->height, &erased)) {
        for (uint32_t c = 0; c < sizeof(erased.value); c++) {
            erased.value[c] = (uint8_t)value_of(args, c);
        }
        color_add_erase(chain, &erased);
    }
}

/* ---- of converted values: a conversion ---------------------------------------------------------
 */

static sluice_status converted_infer(const void *args, sluice_column *column, column_info *info)
{
    info->is_erased = true;
    return check_values(args, column, column->shape[info->is_chw ? 0 : SCHEMA_C]);
}

static void converted_convert(const void *args, const column_info *before, conversion_state *state)
{
    (void)args;
    (void)before;
    (void)state;
}

static bool converted_erases(const void *opaque, const sli_draws *draws, uint32_t width,
                             uint32_t height, stage_erasing *erasing_out)
{
    const erasing_args *args = opaque;
    color_rectangle erased;

    if (!draw_rectangle(args, draws, width, height, &erased)) {
        return false;
    }
    *erasing_out = (stage_erasing){.x = erased.x,
                                   .y = erased.y,
                                   .width = erased.width,
                                   .height = erased.height,
                                   .is_normal = is_normal(args),
                                   .block = NORMAL_BLOCK};
    for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
        erasing_out->values[c] = (float)value_of(args, c);
    }
    return true;
}

static const stage_param erasing_params[] = {
    CHANCE_PARAM(erasing_args, "0.5"),
    PARAM_(erasing_args, scale, PARAM_REALS, "0.02,0.33", 0, 0, NULL,
           "LOW,HIGH fraction of the area, within 0 and 1"),
    PARAM_(erasing_args, ratio, PARAM_REALS, "0.3,3.3", 0, 0, NULL,
           "LOW,HIGH height / width, uniform in the logarithm, within 0.001 and 1000"),
    PARAM_(erasing_args, value, PARAM_REALS, "0", 0, 0, NULL,
           "value of the rectangle, or one for each channel; after normalize "
           "also random: of the normal distribution"),
    COLUMNS_PARAM(erasing_args, common.columns),
};

#define ERASING_FIELDS                                                                             \
    .name = "random_erasing",                                                                      \
    .summary = "Sets a random rectangle to a value, with probability p.",                          \
    .gives = "image, the same shape and type", .draws = true, STAGE_PARAMS(erasing_params),        \
    .args_size = sizeof(erasing_args), .selects = true, .check = erasing_check

static const stage_def converted_erasing = {
    ERASING_FIELDS,
    .kind = STAGE_CONVERSION,
    .conversion =
        &(const conversion_ops){
            .infer_image = converted_infer,
            .convert = converted_convert,
            .erases = converted_erases,
        },
};

const stage_def stage_random_erasing = {
    .elsewhere = "RandomErasing",
    .example = "random_erasing p=1",
    .details = "References: torchvision.transforms.v2.RandomErasing; Zhong et al., \"Random "
               "erasing data augmentation\" (2017).\n"
               "The area A of the rectangle is uniform in scale times the area of the image; "
               "the logarithm of its ratio R is uniform. Its height is sqrt(A R) and its "
               "width sqrt(A / R), rounded, at a random position. A rectangle that is not "
               "smaller than the image is drawn again, up to 10 times in all; then the image "
               "does not change. Masks, boxes and points do not change.\n"
               "Before normalize, to_dtype and to_chw the image has bytes, and values are "
               "whole numbers from 0 to 255. After one of these, which is torchvision's usual "
               "place, the value is one of the converted image, -65504 to 65504: 0 is the "
               "mean. There it runs on the workers, and so do the conversions before it; only "
               "flips and to_chw may follow.\n"
               "value=random draws each pixel and channel from the normal distribution with "
               "mean 0 and standard deviation 1, by the Box-Muller transform. It must come "
               "after normalize or to_dtype.",
    ERASING_FIELDS,
    .kind = STAGE_COLOR,
    .color =
        &(const color_ops){
            .when_converted = &converted_erasing,
            .add = erasing_colors,
            .is_by_pixel = color_is_by_pixel,
            .places = true,
        },
    .infer = erasing_infer,
};
