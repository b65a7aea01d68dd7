/* SPDX-License-Identifier: Apache-2.0 */
/* random_photometric_distort: torchvision's values, the order of changes, and what is refused. */
#include <stdlib.h>
#include <string.h>

#include "color_ops.h"
#include "dataset_kit.h"
#include "fixture_kit.h"
#include "stage_names.h"
#include "stage_runs.h"
#include "stage_table.h"
#include "testing.h"

#define FIXED                                                                                      \
    "random_photometric_distort brightness=1.3,1.3 contrast=0.6,0.6 saturation=1.7,1.7 "           \
    "hue=0.1,0.1 p=1"

/* With fixed amounts and p=1 there are two orders, times six of the channels; all values are those
 * of torchvision's functions. */
static void values_are_those_of_torchvision(void)
{
    static const char *const names[] = {"distort-before.ppm", "distort-after.ppm"};
    int found[2] = {0, 0};

    for (uint64_t seed = 0; seed < 24; seed++) {
        picture got = fixture_run(FIXED, seed);
        int matches = 0;

        for (int k = 0; k < 12; k++) {
            static const uint8_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                 {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
            picture want = picture_read("torchvision", names[k / 6]);
            size_t near = 0;

            for (size_t i = 0; i < picture_size(&want); i++) {
                near += abs(got.pixels[i] - want.pixels[i - i % 3 + orders[k % 6][i % 3]]) <= 2;
            }
            if (near == picture_size(&want)) {
                found[k / 6]++;
                matches++;
            }
            free(want.pixels);
        }
        T_EQ(matches, 1);
        free(got.pixels);
    }
    T_TRUE(found[0] >= 4 && found[1] >= 4);
}

/* The number of operations is binomial: five changes, each with probability p. */
static void each_change_has_probability_p(void)
{
    const stage_def *def = stage_find(stage_table, "random_photometric_distort");
    union {
        max_align_t align;
        unsigned char bytes[STAGE_ARGS_SIZE];
    } args;
    static color_chain chain;
    uint32_t counts[COLOR_BRIGHTNESS + 2] = {0};

    T_OK(stage_args_default(def, args.bytes));
    T_OK(stage_args_check(def, args.bytes));
    chain.numbers = true;
    for (uint64_t sample = 0; sample < 2000; sample++) {
        chain.count = 0;
        def->color->add(args.bytes, &(sli_draws){7, sample, 0}, &chain);
        for (uint32_t i = 0; i < chain.count; i++) {
            counts[chain.operations[i].kind]++;
        }
    }
    stage_args_free(def, args.bytes);
    for (int k = 0; k < 5; k++) {
        static const color_kind kinds[] = {COLOR_BRIGHTNESS, COLOR_CONTRAST, COLOR_SATURATION,
                                           COLOR_HUE, COLOR_TWIST};

        T_NEAR(counts[kinds[k]], 1000, 110); /* five standard deviations */
    }
}

static void wrong_ranges_are_refused(void)
{
    static const char *const cases[][2] = {
        {"random_photometric_distort brightness=1", "brightness must be LOW,HIGH with 0 <= LOW"},
        {"random_photometric_distort contrast=2,1", "contrast=2,1 must be LOW,HIGH with 0 <= LOW"},
        {"random_photometric_distort hue=-0.6,0", "hue=-0.6,0 must be LOW,HIGH with -0.5 <= LOW"},
        {"random_photometric_distort p=2", "p=2 must be from 0 to 1"},
        {"device | random_photometric_distort", "device"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
    check_stages("synthetic 12 9,8,3", "random_photometric_distort p=0", "random_invert 0", true);
}

const t_test random_photometric_distort_tests[] = {
    T_TEST(values_are_those_of_torchvision),
    T_TEST(each_change_has_probability_p),
    T_TEST(wrong_ranges_are_refused),
    T_END,
};
