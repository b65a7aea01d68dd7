/* SPDX-License-Identifier: Apache-2.0 */
/* The color_twist stage: DALI's operator of that name, which makes four changes by one matrix. */
#include "color_stage.h"
#include "status_int.h"

enum { CHANGES = 4 };

typedef struct twist_args {
    color_args common;
    param_reals brightness; /* these four after check(): LOW,HIGH */
    param_reals contrast;
    param_reals saturation;
    param_reals hue;
} twist_args;

#define MOST_FACTOR  1e3
#define MOST_DEGREES 1e6

static const struct {
    const char *name;
    size_t offset;
    double least;
    double most;
} changes[CHANGES] = {
    {"brightness", offsetof(twist_args, brightness), 0, MOST_FACTOR},
    {"contrast", offsetof(twist_args, contrast), 0, MOST_FACTOR},
    {"saturation", offsetof(twist_args, saturation), 0, MOST_FACTOR},
    {"hue", offsetof(twist_args, hue), -MOST_DEGREES, MOST_DEGREES},
};

static param_reals *change_of(void *args, int i)
{
    return (param_reals *)(void *)((char *)args + changes[i].offset);
}

static sluice_status twist_check(void *args)
{
    for (int i = 0; i < CHANGES; i++) {
        param_reals *range = change_of(args, i);
        double *values = range->values;

        if (range->inverts) {
            const sluice_status st =
                color_check_inverse("color_twist", changes[i].name, changes[i].most, range);

            if (st != SLUICE_OK) {
                return st;
            }
            continue;
        }
        if (range->name[0] != '\0' || range->count == 0 || range->count > 2) {
            return sli_fail(SLUICE_E_INVALID, "color_twist: %s must be one number, or LOW,HIGH",
                            changes[i].name);
        }
        values[1] = values[range->count - 1];
        range->count = 2;
        if (!(values[0] >= changes[i].least && values[0] <= values[1] &&
              values[1] <= changes[i].most)) {
            return sli_fail(
                SLUICE_E_INVALID, "color_twist: %s from %g to %g must have %g <= LOW <= HIGH <= %g",
                changes[i].name, values[0], values[1], changes[i].least, changes[i].most);
        }
    }
    return SLUICE_OK;
}

static sluice_status twist_infer(const void *args, stage_schema *schema)
{
    column_set images;
    sluice_status st =
        schema_select_images(schema, "color_twist", ((const color_args *)args)->columns, &images);

    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        const sluice_column *column = &schema->columns[i];

        if ((images >> i & 1) != 0 && column->dtype != SLUICE_ENCODED &&
            !schema_is_converted(schema, i) && column->shape[SCHEMA_C] != COLOR_CHANNELS) {
            st = sli_fail(
                SLUICE_E_INVALID,
                "color_twist: column %s has %llu channels, and must have 3 (RGB), such as of "
                "decode mode=rgb",
                column->name, (unsigned long long)column->shape[SCHEMA_C]);
        }
    }
    return st == SLUICE_OK ? schema_add_colors(schema, "color_twist",
                                               ((const color_args *)args)->columns, true, 1)
                           : st;
}

static void twist_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const twist_args *args = opaque;
    const param_reals *const ranges[CHANGES] = {&args->brightness, &args->contrast,
                                                &args->saturation, &args->hue};
    double amounts[CHANGES];
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    for (int i = 0; i < CHANGES; i++) {
        amounts[i] = color_draw_amount(ranges[i], bits[i]);
    }
    color_add_twist(chain, &(color_twist){amounts[0], amounts[1], amounts[2], amounts[3]});
}

#define CHANGE(field, text, words) FACTOR_PARAM(twist_args, field, text, words)

static const stage_param twist_params[] = {
    CHANGE(brightness, "1", "factor, 0 to 1000, or LOW,HIGH or 1/LOW..HIGH: a random factor"),
    CHANGE(contrast, "1", "factor of the distance from 128, 0 to 1000, or LOW,HIGH"),
    CHANGE(saturation, "1", "factor of the colour, 0 to 1000, or LOW,HIGH"),
    PARAM_(twist_args, hue, PARAM_REALS, "0", 0, 0, NULL,
           "rotation in degrees, -1e6 to 1e6, or LOW,HIGH"),
    COLUMNS_PARAM(twist_args, common.columns),
};

const stage_def stage_color_twist = {
    .name = "color_twist",
    .summary =
        "Changes brightness, contrast, saturation and hue by one matrix, as DALI's color_twist.",
    .elsewhere = "ColorTwist",
    .example = "color_twist 0.7,1.3 0.7,1.3 0.5,1.5 -20,20",
    .gives = "image u8, the same shape",
    .details = "Reference: NVIDIA DALI, dali/operators/image/color/color_twist.h, for uint8.\n"
               "Each amount is drawn uniformly in its range. With b, c, s and h for "
               "brightness, contrast, saturation and hue a pixel p = (R, G, B) becomes\n"
               "  b c A H S B p + 128 b (1 - c)\n"
               "clamped and rounded to nearest. B converts to YIQ (rows .299 .587 .114, .596 "
               "-.274 -.321, .211 -.523 .311), S multiplies I and Q by s, H rotates (I, Q) by "
               "h (I' = I cos h + Q sin h), and A is the inverse of B. An image that does not "
               "have three channels is an error.\n" FACTOR_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(twist_params),
    .args_size = sizeof(twist_args),
    .check = twist_check,
    .selects = true,
    .infer = twist_infer,
    .color =
        &(const color_ops){
            .add = twist_colors,
        },
};
