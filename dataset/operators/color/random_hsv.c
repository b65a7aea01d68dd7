/* SPDX-License-Identifier: Apache-2.0 */
/* The random_hsv stage: the colours of darknet's trainer, random changes in HSV. */
#include "color_stage.h"

enum { AMOUNTS = 3 };

typedef struct hsv_args {
    color_args common;
    param_reals hue; /* these three after check(): LOW,HIGH */
    param_reals saturation;
    param_reals value;
} hsv_args;

static sluice_status hsv_check(void *opaque)
{
    static const color_amount amounts[AMOUNTS] = {
        {"hue", 0, -0.5, 0.5}, {"saturation", 1, 0, 1e3}, {"value", 1, 0, 1e3}};
    hsv_args *args = opaque;
    param_reals *const ranges[AMOUNTS] = {&args->hue, &args->saturation, &args->value};
    sluice_status st = SLUICE_OK;

    for (int i = 0; i < AMOUNTS && st == SLUICE_OK; i++) {
        st = color_check_amount("random_hsv", &amounts[i], ranges[i]);
    }
    return st;
}

static void hsv_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const hsv_args *args = opaque;
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    color_add_hsv(chain, (sli_hsv){(float)color_draw_amount(&args->hue, bits[0]),
                                   (float)color_draw_amount(&args->saturation, bits[1]),
                                   (float)color_draw_amount(&args->value, bits[2])});
}

static const stage_param hsv_params[] = {
    PARAM_(hsv_args, hue, PARAM_REALS, "0.1", 0, 0, NULL,
           "X: a shift from -X to X turns, X at most 0.5; or LOW,HIGH turns, -0.5 to 0.5"),
    FACTOR_PARAM(hsv_args, saturation, "1/1.5..1.5",
                 "1/LOW..HIGH: a factor or its inverse; or X: from 1-X to 1+X; or LOW,HIGH; 0 to "
                 "1000"),
    FACTOR_PARAM(hsv_args, value, "1/1.5..1.5", "the same; exposure of darknet"),
    COLUMNS_PARAM(hsv_args, common.columns),
};

const stage_def stage_random_hsv = {
    .name = "random_hsv",
    .summary = "Changes hue, saturation and value (exposure) in HSV at random, as darknet.",
    .elsewhere = "RandomHSV HueSaturationValue random_distort_image",
    .gives = "image u8, the same shape",
    .details = "Reference: random_distort_image() in darknet's src/image.c; the defaults are those "
               "of yolov3.cfg, saturation=1.5 exposure=1.5 hue=.1.\n"
               "In HSV, with V the largest channel and S = (V - smallest channel) / V, the hue is "
               "shifted (1 is a full turn), and S and V are multiplied; the result, which may be "
               "outside of "
               "0 to 255, is clamped and rounded to nearest once. A factor of saturation moves the "
               "channels away from the largest one, that of color_jitter away from the "
               "luma.\n" FACTOR_DETAILS
               " One number x is a factor from max(0, 1 - x) to 1 + x, of the hue a "
               "shift from -x to x: hsv_h, hsv_s and hsv_v of Ultralytics are hue, saturation and "
               "value. On images of one channel only the value changes something.",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(hsv_params),
    .args_size = sizeof(hsv_args),
    .check = hsv_check,
    .selects = true,
    .color =
        &(const color_ops){
            .add = hsv_colors,
        },
};
