/* SPDX-License-Identifier: Apache-2.0 */
/* auto_augment: the operations, probabilities and magnitudes of torchvision's policies. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "color_ops.h"
#include "dataset_kit.h"
#include "stage_names.h"
#include "stage_runs.h"
#include "stage_table.h"
#include "testing.h"

enum { DRAWS = 20000 };

typedef union stage_bytes {
    max_align_t align;
    unsigned char bytes[STAGE_ARGS_SIZE];
} stage_bytes;

/* Draws chains of a policy for an image of 331 x 331, and counts their operations by kind. */
static void count_kinds(const char *policy, double means[COLOR_MIX + 1])
{
    const stage_def *def = stage_find(stage_table, "auto_augment");
    static color_chain chain;
    stage_bytes args;

    T_OK(stage_args_default(def, args.bytes));
    T_OK(stage_arg_parse(def, &def->params[0], policy, args.bytes));
    T_OK(stage_args_check(def, args.bytes));
    memset(means, 0, (COLOR_MIX + 1) * sizeof(means[0]));
    for (uint64_t sample = 0; sample < DRAWS; sample++) {
        chain.width = 331;
        chain.height = 331;
        chain.count = 0;
        chain.numbers = true;
        def->color->add(args.bytes, &(sli_draws){7, sample, 0}, &chain);
        for (uint32_t i = 0; i < chain.count; i++) {
            means[chain.operations[i].kind] += 1.0 / DRAWS;
        }
    }
    stage_args_free(def, args.bytes);
}

/* Means per image: the sums of the probabilities in torchvision's table, over 25, that
 * make_fixtures.py prints; adjacent warps are one. */
static void operations_are_as_frequent_as_in_torchvision(void)
{
    static const struct {
        const char *policy;
        double equalize;
        double autocontrast;
        double solarize;
        double contrast;
        double saturation;
        double sharpen;
    } cases[] = {
        {"imagenet", 0.448, 0.048, 0.144, 0.080, 0.152, 0.016},
        {"cifar10", 0.188, 0.200, 0.076, 0.032, 0.116, 0.112},
        {"svhn", 0.156, 0.092, 0.088, 0.012, 0.000, 0.000},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double means[COLOR_MIX + 1];

        count_kinds(cases[i].policy, means);
        T_NEAR(means[COLOR_EQUALIZE], cases[i].equalize, 0.02);
        T_NEAR(means[COLOR_AUTOCONTRAST], cases[i].autocontrast, 0.02);
        T_NEAR(means[COLOR_SOLARIZE], cases[i].solarize, 0.02);
        T_NEAR(means[COLOR_CONTRAST], cases[i].contrast, 0.02);
        T_NEAR(means[COLOR_SATURATION], cases[i].saturation, 0.02);
        T_NEAR(means[COLOR_SHARPEN], cases[i].sharpen, 0.02);
    }
}

/* Of the policy of ImageNet: rotations by 10, 80/3 and 30 degrees, a shear by 1/6, posterization by
 * 4 to 6 bits, thresholds of 255 * (1 - m). */
static void magnitudes_are_those_of_torchvision(void)
{
    static const double factors[] = {1 - 0.9 * 2 / 9, 1 + 0.9 * 2 / 9, 1 - 0.4, 1 + 0.4,
                                     1 - 0.8,         1 + 0.8,         1};
    static const double thresholds[] = {170, 142, 114, 57, 29};
    const stage_def *def = stage_find(stage_table, "auto_augment");
    static color_chain chain;
    stage_bytes args;

    T_OK(stage_args_default(def, args.bytes));
    for (uint64_t sample = 0; sample < DRAWS; sample++) {
        chain.width = 331;
        chain.height = 331;
        chain.count = 0;
        chain.numbers = true;
        def->color->add(args.bytes, &(sli_draws){7, sample, 0}, &chain);
        for (uint32_t i = 0; i < chain.count; i++) {
            const color_operation *o = &chain.operations[i];
            bool known = false;

            for (size_t k = 0; o->kind == COLOR_SATURATION && k < 7; k++) {
                known = known || fabs((double)o->factor - factors[k]) < 1e-6;
            }
            for (size_t k = 0; o->kind == COLOR_SOLARIZE && k < 5; k++) {
                known = known || fabs((double)o->factor - thresholds[k]) < 0.5;
            }
            T_TRUE(known || (o->kind != COLOR_SATURATION && o->kind != COLOR_SOLARIZE));
            T_TRUE(o->kind != COLOR_BITS || o->flip == 0xFF || o->keep == 0xF8 || o->keep == 0xFC ||
                   o->keep == 0xF0);
            T_TRUE(o->kind != COLOR_WARP || fabs(o->warp.matrix.m[1]) < 0.501);
        }
    }
    stage_args_free(def, args.bytes);
}

static void wrong_arguments_are_refused(void)
{
    check_refused("synthetic 4 8,8,3 | auto_augment coco", "imagenet");
    check_refused("synthetic 4 8,8,3 | auto_augment fill=256", "auto_augment: fill=256 must be");
    check_refused("synthetic 4 8,8,4 | auto_augment", "must have 1 (gray) or 3 (RGB)");
    check_refused("synthetic 4 8,8,3 | device | auto_augment", "put it before device");
    check_refused("synthetic 4 8,8,3 | AutoAugment", "is called auto_augment here");
    check_workers_and_devices("synthetic 12 16,16,3", "auto_augment svhn filter=bilinear fill=9");
}

const t_test augment_policies_tests[] = {
    T_TEST(operations_are_as_frequent_as_in_torchvision),
    T_TEST(magnitudes_are_those_of_torchvision),
    T_TEST(wrong_arguments_are_refused),
    T_END,
};
