/* SPDX-License-Identifier: Apache-2.0 */
/* trivial_augment and rand_augment: their tables; and blurring and sharpening in pipelines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>

#include "color_ops.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "stage_runs.h"
#include "testing.h"

extern const stage_def stage_trivial_augment;
extern const stage_def stage_rand_augment;

/* ---- tables ------------------------------------------------------------------------------------
 */

/* True if `value` is one of 30 equal steps from 0 to `most`, with either sign. */
static bool is_step(double value, double most, bool whole)
{
    for (int i = 0; i <= 30; i++) {
        const double step = most * i / 30;

        if (fabs(fabs(value) - (whole ? trunc(step) : step)) < 1e-6) {
            return true;
        }
    }
    return false;
}

/* Checks a warp of trivial_augment in an image of 200 x 100. Returns its kind: 0 and 1 shear, 2 and
 * 3 translate, 4 rotates. */
static int check_warp(const image_warp *warp, double shear, double degrees, double x, double y)
{
    const double *m = warp->matrix.m;

    T_TRUE(warp->nearest && warp->fill[2] == 7 && m[6] == 0 && m[7] == 0 && m[8] == 1);
    if (m[1] != 0 && m[3] != 0) {
        /* Counter-clockwise by a: m[0] = cos a, m[3] = -m[1] = sin a; about the centre. */
        T_TRUE(is_step(atan2(m[3], m[0]) * 180 / 3.14159265358979, degrees, false));
        T_TRUE(fabs(m[0] * 100 + m[1] * 50 + m[2] - 100) < 1e-9);
        T_TRUE(fabs(m[3] * 100 + m[4] * 50 + m[5] - 50) < 1e-9);
        return 4;
    }
    T_TRUE(m[0] == 1 && m[4] == 1);
    if (m[1] != 0 || m[3] != 0) {
        T_TRUE(m[2] == 0 && m[5] == 0 && is_step(m[1] + m[3], shear, false));
        return m[3] != 0;
    }
    T_TRUE(m[2] == 0 || is_step(m[2], x, true));
    T_TRUE(m[5] == 0 || is_step(m[5], y, true));
    return m[5] != 0 ? 3 : 2;
}

/* The default arguments of a stage, with one argument from its text. */
static void make_args(const stage_def *def, const char *name, const char *text, void *args)
{
    const stage_param *param = def->params;

    T_OK(stage_args_default(def, args));
    while (strcmp(param->name, name) != 0) {
        param++;
    }
    T_OK(stage_arg_parse(def, param, text, args));
    T_OK(stage_args_check(def, args));
}

/* Counts the operations that a stage draws for many samples. */
static void count_kinds(const stage_def *def, double shear, double degrees, double x, double y,
                        double factor, uint32_t warps[5], uint32_t kinds[COLOR_SHARPEN + 1])
{
    dataset_stage stage = {.def = def};
    static color_chain chain;

    make_args(def, "fill", "7", stage.args.bytes);
    for (uint32_t sample = 0; sample < 4000; sample++) {
        const sli_draws draws = {1, sample, 0};

        chain = (color_chain){.width = 200, .height = 100};
        def->color->add(stage.args.bytes, &draws, &chain);
        for (uint32_t i = 0; i < chain.count; i++) {
            const color_operation *operation = &chain.operations[i];

            kinds[operation->kind]++;
            if (operation->kind == COLOR_WARP && chain.count == 1) {
                warps[check_warp(&operation->warp, shear, degrees, x, y)]++;
            } else if (operation->kind != COLOR_TABLE && operation->kind != COLOR_WARP &&
                       operation->kind != COLOR_AUTOCONTRAST && operation->kind != COLOR_EQUALIZE) {
                T_TRUE(is_step((double)operation->factor - 1, factor, false));
            }
        }
    }
}

static void every_operation_is_drawn_within_its_range(void)
{
    uint32_t warps[5] = {0};
    uint32_t kinds[COLOR_SHARPEN + 1] = {0};

    count_kinds(&stage_trivial_augment, 0.99, 135, 32, 32, 0.99, warps, kinds);
    for (int i = 0; i < 5; i++) {
        T_TRUE(warps[i] > 200 && warps[i] < 400); /* of 4000 / 14, and shears by 0 */
    }
    T_TRUE(kinds[COLOR_TABLE] > 700); /* brightness, posterize, solarize */
    T_TRUE(kinds[COLOR_SATURATION] > 200 && kinds[COLOR_CONTRAST] > 200);
    T_TRUE(kinds[COLOR_SHARPEN] > 200 && kinds[COLOR_AUTOCONTRAST] > 200);
    T_TRUE(kinds[COLOR_EQUALIZE] > 200 && kinds[COLOR_EQUALIZE] < 400);
}

/* torchvision's thresholds are linspace(255, 0, 31) in single precision, so every second one is
 * whole. */
static void thresholds_of_solarize_are_those_of_torchvision(void)
{
    dataset_stage stage = {.def = &stage_trivial_augment};
    uint32_t seen = 0;
    static color_chain chain;

    make_args(&stage_trivial_augment, "fill", "7", stage.args.bytes);
    for (uint32_t sample = 0; sample < 4000; sample++) {
        const sli_draws draws = {1, sample, 0};

        chain = (color_chain){.width = 200, .height = 100, .numbers = true};
        stage.def->color->add(stage.args.bytes, &draws, &chain);
        if (chain.count == 1 && chain.operations[0].kind == COLOR_SOLARIZE) {
            const uint32_t below = 255 - (uint32_t)chain.operations[0].factor;

            T_TRUE(below % 17 == 0 || below % 17 == 8); /* 255 - 8.5 i, rounded up */
            seen++;
        }
    }
    T_TRUE(seen > 200);
}

/* One strength, so each kind has one amount with either sign; and two operations an image. */
static void rand_augment_has_one_strength(void)
{
    const double x = trunc(150.0 / 331 * 200 * 0.3);
    const double y = trunc(150.0 / 331 * 100 * 0.3);
    dataset_stage stage = {.def = &stage_rand_augment};
    uint32_t counts[3] = {0};
    uint32_t seen = 0;
    static color_chain chain;

    make_args(&stage_rand_augment, "fill", "7", stage.args.bytes);
    for (uint32_t sample = 0; sample < 2000; sample++) {
        const sli_draws draws = {1, sample, 0};

        chain = (color_chain){.width = 200, .height = 100};
        stage_rand_augment.color->add(stage.args.bytes, &draws, &chain);
        T_TRUE(chain.count <= 2);
        counts[chain.count]++;
        for (uint32_t i = 0; i < chain.count; i++) {
            const color_operation *operation = &chain.operations[i];
            const double *m = operation->warp.matrix.m;

            if (operation->kind == COLOR_WARP && chain.count == 2) {
                T_TRUE(fabs(fabs(m[1]) - 0.09) < 1e-9 || fabs(fabs(m[3]) - 0.09) < 1e-9 ||
                       fabs(m[2]) == x || fabs(m[5]) == y ||
                       fabs(fabs(m[1]) - 0.15643446504023087) < 1e-9);
                seen++;
            } else if (operation->kind == COLOR_SATURATION || operation->kind == COLOR_CONTRAST ||
                       operation->kind == COLOR_SHARPEN) {
                T_TRUE(fabs(fabs((double)operation->factor - 1) - 0.27) < 1e-6);
                seen++;
            }
        }
    }
    T_TRUE(counts[2] > 1000 && counts[0] > 0 && seen > 1000);
}

/* ---- in pipelines ------------------------------------------------------------------------------
 */

#define SOURCE "synthetic 40 16,16,3"

static void workers_and_devices_do_not_matter(void)
{
    static const char stages[] =
        "shuffle | random_crop 12 | random_horizontal_flip | trivial_augment | gaussian_blur 5 | "
        "rand_augment 4 20 filter=bilinear | random_adjust_sharpness 2 | random_horizontal_flip | "
        "trivial_augment | gaussian_blur 31 3 | normalize 0.5 0.5";

    check_workers_and_devices(SOURCE, stages);
}

static void operations_that_do_nothing_change_nothing(void)
{
    check_stages(SOURCE, "random_adjust_sharpness 1 p=1", "take 40", true);
    check_stages(SOURCE, "random_adjust_sharpness 3 p=0", "take 40", true);
    check_stages(SOURCE, "gaussian_blur 1", "take 40", true);
    check_stages(SOURCE, "rand_augment 0", "take 40", true);
    check_stages(SOURCE, "random_adjust_sharpness 3 p=1", "take 40", false);
    check_stages(SOURCE, "gaussian_blur 3 1", "take 40", false);
    check_stages(SOURCE, "trivial_augment", "take 40", false);
    check_stages(SOURCE, "gaussian_blur 5 1 | random_horizontal_flip 1",
                 "random_horizontal_flip 1 | gaussian_blur 5 1,1", true);
}

static void images_of_one_pixel_and_of_four_channels(void)
{
    check_pass("synthetic 20 1,1,3",
               "trivial_augment | gaussian_blur 127 | random_adjust_sharpness 2 1", 5);
    check_pass("synthetic 20 2,7,1",
               "rand_augment 6 30 | gaussian_blur 5 | random_adjust_sharpness 0 1", 5);
    check_pass("synthetic 20 5,6,4", "gaussian_blur 9 2", 5);
}

static void bad_arguments_are_refused(void)
{
    static const char *const cases[][2] = {
        {"gaussian_blur", "kernel_size"},
        {"gaussian_blur 4", "must be an odd number"},
        {"gaussian_blur 129", "kernel_size"},
        {"gaussian_blur 3 0", "must have 0.001 <= LOW <= HIGH <= 1e+06"},
        {"gaussian_blur 3 2,1", "LOW <= HIGH"},
        {"gaussian_blur 3 1,2,3", "must be one number, or LOW,HIGH"},
        {"gaussian_blur 3 nan", "sigma"},
        {"normalize 0.5 0.5 | gaussian_blur 3", "put it before normalize, to_dtype and to_chw"},
        {"random_adjust_sharpness -1", "factor"},
        {"random_adjust_sharpness 1 2", "p"},
        {"trivial_augment 1", "num_magnitude_bins"},
        {"trivial_augment fill=300", "must be a whole number from 0 to 255"},
        {"rand_augment 17", "num_ops"},
        {"rand_augment magnitude=31", "must be less than num_magnitude_bins=31"},
        {"rand_augment 16 | rand_augment 16 | rotate 9", "more than 32 operations"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
    check_refused("synthetic 4 8,8,4 | trivial_augment",
                  "has 4 channels, and must have 1 (gray) or 3 (RGB)");
    check_refused("synthetic 4 8,8,4 | random_adjust_sharpness 2", "has 4 channels");
}

const t_test auto_augment_tests[] = {
    T_TEST(every_operation_is_drawn_within_its_range),
    T_TEST(thresholds_of_solarize_are_those_of_torchvision),
    T_TEST(rand_augment_has_one_strength),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(operations_that_do_nothing_change_nothing),
    T_TEST(images_of_one_pixel_and_of_four_channels),
    T_TEST(bad_arguments_are_refused),
    T_END,
};
