/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The color_jitter stage: torchvision's ColorJitter. Brightness, contrast, saturation and hue are
 * changed by random amounts, in random order.
 */
#include "color_stage.h"

enum { JITTERS = 4 };

typedef struct jitter_args {
    color_args common;
    param_reals brightness; /* after check(): LOW,HIGH; count 0: not changed */
    param_reals contrast;
    param_reals saturation;
    param_reals hue;
} jitter_args;

/* The four amounts in the order of the arguments. */
static const struct {
    color_amount amount;
    size_t offset;
    void (*add)(color_chain *chain, double amount);
} jitters[JITTERS] = {
    {{"brightness", 1, 0, 1e6}, offsetof(jitter_args, brightness), color_add_brightness},
    {{"contrast", 1, 0, 1e6}, offsetof(jitter_args, contrast), color_add_contrast},
    {{"saturation", 1, 0, 1e6}, offsetof(jitter_args, saturation), color_add_saturation},
    {{"hue", 0, -0.5, 0.5}, offsetof(jitter_args, hue), color_add_hue},
};

static sluice_status jitter_check(void *args)
{
    sluice_status st = SLUICE_OK;

    for (int i = 0; i < JITTERS && st == SLUICE_OK; i++) {
        st = color_check_amount("color_jitter", &jitters[i].amount,
                                (param_reals *)(void *)((char *)args + jitters[i].offset));
    }
    return st;
}

/* Draws a random order of the four: Fisher-Yates shuffle. */
static void draw_order(const sli_draws *draws, int order[JITTERS])
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    for (int i = 0; i < JITTERS; i++) {
        order[i] = i;
    }
    for (int i = JITTERS - 1; i > 0; i--) {
        const uint32_t other = sli_below(bits[i], (uint32_t)i + 1);
        const int kept = order[i];

        order[i] = order[other];
        order[other] = kept;
    }
}

static void jitter_colors(const void *args, const sli_draws *draws, color_chain *chain)
{
    int order[JITTERS];
    uint32_t bits[4];

    draw_order(draws, order);
    sli_draw(draws, 1, bits);
    for (int k = 0; k < JITTERS; k++) {
        const int i = order[k];
        const param_reals *range =
            (const param_reals *)(const void *)((const char *)args + jitters[i].offset);
        const double centre = jitters[i].amount.centre;
        const double *ends = range->values;

        if (range->count == 2 && (ends[0] != centre || ends[1] != centre)) {
            jitters[i].add(chain, color_draw_amount(range, bits[i]));
        }
    }
}

/* Contrast needs the mean of the image. */
static bool jitter_is_by_pixel(const void *args)
{
    const double *ends = ((const jitter_args *)args)->contrast.values;

    return ends[0] == 1 && ends[1] == 1;
}

#define AMOUNT(field, words) FACTOR_PARAM(jitter_args, field, "0", words)

static const stage_param jitter_params[] = {
    AMOUNT(brightness,
           "X: a factor from 1-X to 1+X; or LOW,HIGH factors, 0 to 1e6; or 1/LOW..HIGH"),
    AMOUNT(contrast, "the same"),
    AMOUNT(saturation, "the same"),
    PARAM_(jitter_args, hue, PARAM_REALS, "0", 0, 0, NULL,
           "X: a shift from -X to X turns, X at most 0.5; or LOW,HIGH turns, -0.5 to 0.5"),
    COLUMNS_PARAM(jitter_args, common.columns),
};

const stage_def stage_color_jitter = {
    .name = "color_jitter",
    .summary = "Changes brightness, contrast, saturation and hue at random.",
    .elsewhere = "ColorJitter RandomColorAdjust",
    .example = "color_jitter 0.4 0.4 0.4 0.1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.ColorJitter.\n"
               "The changes are made in random order. Their factors are drawn from max(0, 1 - "
               "x) to 1 + x, the shift of the hue, in turns, from -x to x. Saturation and hue "
               "do not change images of one channel.\n" FACTOR_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(jitter_params),
    .args_size = sizeof(jitter_args),
    .check = jitter_check,
    .selects = true,
    .color =
        &(const color_ops){
            .add = jitter_colors,
            .operations = JITTERS,
            .is_by_pixel = jitter_is_by_pixel,
        },
};
