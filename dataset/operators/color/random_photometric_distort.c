/* SPDX-License-Identifier: Apache-2.0 */
/* The random_photometric_distort stage: torchvision's RandomPhotometricDistort, of SSD. */
#include "color_stage.h"

enum { AMOUNTS = 4, MOST_OPERATIONS = AMOUNTS + 1 };

typedef struct distort_args {
    color_args common;
    param_reals amounts[AMOUNTS]; /* LOW,HIGH of brightness, contrast, saturation and hue */
    double p;
} distort_args;

enum { BRIGHTNESS, CONTRAST, SATURATION, HUE };

static const struct {
    const char *name;
    double least;
    double most;
} bounds[AMOUNTS] = {
    {"brightness", 0, 1e6},
    {"contrast", 0, 1e6},
    {"saturation", 0, 1e6},
    {"hue", -0.5, 0.5},
};

static sluice_status distort_check(void *opaque)
{
    const distort_args *args = opaque;
    sluice_status st = SLUICE_OK;

    for (int i = 0; i < AMOUNTS && st == SLUICE_OK; i++) {
        const param_reals *range = &args->amounts[i];

        st = range->inverts ? color_check_inverse("random_photometric_distort", bounds[i].name,
                                                  bounds[i].most, range)
                            : stage_check_range("random_photometric_distort", bounds[i].name, range,
                                                bounds[i].least, bounds[i].most);
    }
    return st;
}

static void distort_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const distort_args *args = opaque;
    uint32_t chances[4]; /* of the amounts */
    uint32_t parts[4];
    uint32_t rest[4]; /* whether contrast comes first; whether, and how, channels are permuted */
    double amounts[AMOUNTS];
    bool changes[AMOUNTS];
    bool contrast_first;

    sli_draw(draws, 0, chances);
    sli_draw(draws, 1, parts);
    sli_draw(draws, 2, rest);
    contrast_first = rest[0] >> 31 != 0;
    for (int i = 0; i < AMOUNTS; i++) {
        changes[i] = sli_unit(chances[i]) < args->p;
        amounts[i] = color_draw_amount(&args->amounts[i], parts[i]);
    }
    if (changes[BRIGHTNESS]) {
        color_add_brightness(chain, amounts[BRIGHTNESS]);
    }
    if (changes[CONTRAST] && contrast_first) {
        color_add_contrast(chain, amounts[CONTRAST]);
    }
    if (changes[SATURATION]) {
        color_add_saturation(chain, amounts[SATURATION]);
    }
    if (changes[HUE]) {
        color_add_hue(chain, amounts[HUE]);
    }
    if (changes[CONTRAST] && !contrast_first) {
        color_add_contrast(chain, amounts[CONTRAST]);
    }
    if (sli_unit(rest[1]) < args->p) {
        color_permute(rest + 2, chain);
    }
}

#define AMOUNT(i, title, text, words)                                                              \
    {                                                                                              \
        .name = (title), .type = PARAM_REALS,                                                      \
        .offset = PARAM_OFFSET_(distort_args, amounts[i], PARAM_REALS), .default_text = (text),    \
        .inverts = (i) != HUE, .help = (words)                                                     \
    }

static const stage_param distort_params[] = {
    AMOUNT(BRIGHTNESS, "brightness", "0.875,1.125",
           "LOW,HIGH: the range of the factor, 0 to 1e6; or 1/LOW..HIGH"),
    AMOUNT(CONTRAST, "contrast", "0.5,1.5", "the same"),
    AMOUNT(SATURATION, "saturation", "0.5,1.5", "the same"),
    AMOUNT(HUE, "hue", "-0.05,0.05", "LOW,HIGH: the range of the shift in turns, -0.5 to 0.5"),
    PARAM_(distort_args, p, PARAM_REAL, "0.5", 0, 1, NULL, "probability of each change"),
    COLUMNS_PARAM(distort_args, common.columns),
};

const stage_def stage_random_photometric_distort = {
    .name = "random_photometric_distort",
    .summary =
        "Changes brightness, contrast, saturation, hue and channels, each with probability p.",
    .elsewhere = "RandomPhotometricDistort",
    .gives = "image u8, the same shape",
    .details =
        "References: torchvision.transforms.v2.RandomPhotometricDistort; Liu et al., \"SSD: single "
        "shot multibox detector\" (2016).\n"
        "Brightness, saturation and hue are changed in this order by the formulas of "
        "color_jitter, contrast before saturation or after hue, each with probability 1/2. "
        "Then the channels are put in random order. Each of the five changes is made with "
        "probability p, and its amount is uniform in its range. On images of one channel only "
        "brightness and contrast change something.\n" FACTOR_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(distort_params),
    .args_size = sizeof(distort_args),
    .check = distort_check,
    .selects = true,
    .color =
        &(const color_ops){
            .add = distort_colors,
            .operations = MOST_OPERATIONS,
        },
};
