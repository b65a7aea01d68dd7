/* SPDX-License-Identifier: Apache-2.0 */
/* random_hsv: values of darknet's formulas in double precision, draws, ranges 1/LOW..HIGH. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "color_kernels.h"
#include "color_ops.h"
#include "cpu_int.h"
#include "dataset_kit.h"
#include "dataset_state.h"
#include "picture_kit.h"
#include "stage_runs.h"
#include "testing.h"

#define SOURCE "synthetic 12 9,8,3"

/* ---- values ---------------------------------------------------------------------------------- */

/* Pixels whose results follow from the definition of HSV: a hue of a third of a turn moves the
 * channels round, saturation multiplies the distance from the largest one. */
static void some_values_are_known(void)
{
    static const struct {
        uint8_t in[3];
        sli_hsv by;
        uint8_t out[3];
    } cases[] = {
        {{200, 100, 50}, {0, 1, 1}, {200, 100, 50}},
        {{200, 100, 50}, {0, 0.5F, 1}, {200, 150, 125}},
        {{200, 100, 50}, {0, 0.5F, 1.2F}, {240, 180, 150}},
        {{200, 100, 50}, {0, 2, 1}, {200, 0, 0}}, /* 200 - 300 is clamped */
        {{200, 100, 50}, {0, 0, 1}, {200, 200, 200}},
        {{200, 100, 50}, {0, 1, 1.5F}, {255, 150, 75}},
        {{200, 100, 50}, {1 / 3.0F, 1, 1}, {50, 200, 100}},
        {{200, 100, 50}, {-1 / 3.0F, 1, 1}, {100, 50, 200}},
        {{255, 0, 0}, {0.5F, 1, 1}, {0, 255, 255}},
        {{0, 0, 255}, {-0.5F, 1, 0.6F}, {153, 153, 0}},
        {{90, 90, 90}, {0.3F, 1.5F, 0.5F}, {45, 45, 45}},
        {{0, 0, 0}, {0.3F, 1.5F, 1.5F}, {0, 0, 0}},
        {{1, 2, 3}, {0, 1, 1000}, {255, 255, 255}},
        {{10, 20, 30}, {0, 1000, 1}, {0, 0, 30}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t got[3];

        sli_color_kernels_portable.change_hsv(cases[i].in, got, 1, 3, cases[i].by);
        for (int c = 0; c < 3; c++) {
            T_EQ(got[c], cases[i].out[c]);
        }
    }
}

/* darknet's distort_image() of one pixel in double precision: RGB to HSV, the changes, HSV to RGB
 * by sectors, constrained to 0..1. */
static void distort(const uint8_t in[3], const double by[3], double out[3])
{
    const double r = in[0] / 255.0;
    const double g = in[1] / 255.0;
    const double b = in[2] / 255.0;
    const double top = fmax(fmax(r, g), b);
    const double delta = top - fmin(fmin(r, g), b);
    double h = 0;
    double s = top == 0 ? 0 : delta / top;
    const double v = top * by[2];

    if (delta > 0) {
        h = r == top ? (g - b) / delta : g == top ? 2 + (b - r) / delta : 4 + (r - g) / delta;
        h = (h < 0 ? h + 6 : h) / 6;
    }
    s *= by[1];
    h += by[0];
    h -= floor(h);
    {
        const int sector = (int)(h * 6) % 6;
        const double f = h * 6 - sector;
        const double p = v * (1 - s);
        const double q = v * (1 - s * f);
        const double t = v * (1 - s * (1 - f));
        const double table[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                                    {p, q, v}, {t, p, v}, {v, p, q}};

        for (int c = 0; c < 3; c++) {
            out[c] = 255 * fmin(fmax(table[sector][c], 0), 1);
        }
    }
}

static void values_are_those_of_darknet(void)
{
    enum { PIXELS = 997 };
    static const double changes[][3] = {{0.1, 1.5, 1.5},   {-0.1, 1 / 1.5, 0.7}, {0.37, 2.5, 0.9},
                                        {-0.5, 0.2, 1.01}, {0.5, 1, 1},          {0, 7, 0.3}};
    picture from = picture_make(PIXELS, 1, 3, 5);
    picture got = picture_empty(PIXELS, 1, 3);

    for (size_t k = 0; k < sizeof(changes) / sizeof(changes[0]); k++) {
        const sli_hsv by = {(float)changes[k][0], (float)changes[k][1], (float)changes[k][2]};

        sli_color_kernels_portable.change_hsv(from.pixels, got.pixels, PIXELS, 3, by);
        for (uint32_t i = 0; i < picture_size(&from); i++) {
            double want[3];

            distort(&from.pixels[i / 3 * 3], changes[k], want);
            T_TRUE(fabs(got.pixels[i] - want[i % 3]) < 0.501);
        }
    }
    free(from.pixels);
    free(got.pixels);
}

static void kernels_of_all_levels_give_the_same_bytes(void)
{
#if defined(__x86_64__)
    enum { PIXELS = 333 };
    static const color_kernels *const levels[] = {&sli_color_kernels_v3, &sli_color_kernels_v4};
    static const sli_hsv changes[] = {{0.1F, 1.5F, 1.3F}, {-0.4F, 0.3F, 0.8F}, {0, 9, 2}};
    picture from = picture_make(PIXELS, 1, 3, 3);
    picture want = picture_empty(PIXELS, 1, 3);
    picture got = picture_empty(PIXELS, 1, 3);

    for (size_t k = 0; k < 2 * sizeof(changes) / sizeof(changes[0]); k++) {
        const sli_hsv by = changes[k / 2];
        const uint32_t channels = k % 2 == 0 ? 3 : 1;

        sli_color_kernels_portable.change_hsv(from.pixels, want.pixels, PIXELS, channels, by);
        for (int level = SLI_CPU_V3; level <= (int)sli_cpu_best(); level++) {
            levels[level - SLI_CPU_V3]->change_hsv(from.pixels, got.pixels, PIXELS, channels, by);
            T_TRUE(memcmp(got.pixels, want.pixels, (size_t)PIXELS * channels) == 0);
        }
    }
    free(from.pixels);
    free(want.pixels);
    free(got.pixels);
#endif
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* What a stage of random_hsv draws for sample i. */
static sli_hsv drawn(const sluice_dataset *dataset, uint64_t i)
{
    static color_chain chain;
    const dataset_stage *stage = &dataset->stages[1];
    const sli_draws draws = {5, i, 0};

    chain = (color_chain){.width = 9, .height = 8};
    stage->def->color->add(stage->args.bytes, &draws, &chain);
    T_EQ(chain.count, 1);
    T_EQ(chain.operations[0].kind, COLOR_HSV);
    return chain.operations[0].hsv;
}

static sluice_dataset *opened(const char *stage)
{
    sluice_dataset *dataset = NULL;
    char text[200];

    snprintf(text, sizeof(text), SOURCE " | %s | batch 2", stage);
    T_OK(sluice_dataset_parse(text, &dataset));
    return dataset;
}

/* darknet's rand_scale(s): uniform from 1 to s, inverted in half of the draws. */
static void factors_are_those_of_rand_scale(void)
{
    enum { DRAWS = 4000 };
    sluice_dataset *dataset = opened("random_hsv 0.1 1/1.5..3 1/2..1.25");
    double sums[2][2] = {{0}};
    uint32_t counts[2] = {0};
    double hues[2] = {0};

    for (uint64_t i = 0; i < DRAWS; i++) {
        const sli_hsv by = drawn(dataset, i);
        const double factors[2] = {(double)by.saturation, (double)by.value};
        static const double ends[2][2] = {{1.5, 3}, {2, 1.25}};

        T_TRUE(fabs((double)by.hue) <= 0.1 + 1e-6);
        hues[by.hue > 0] += fabs((double)by.hue);
        for (int k = 0; k < 2; k++) {
            const bool above = factors[k] >= 1;
            const double factor = above ? factors[k] : 1 / factors[k];

            T_TRUE(factor >= 1 && factor < ends[k][above] + 1e-5);
            sums[k][above] += (factor - 1) / (ends[k][above] - 1);
            counts[k] += above;
        }
    }
    for (int k = 0; k < 2; k++) { /* five standard deviations */
        T_NEAR(counts[k], DRAWS / 2, 160);
        T_TRUE(fabs(sums[k][1] / counts[k] - 0.5) < 0.033);
        T_TRUE(fabs(sums[k][0] / (DRAWS - counts[k]) - 0.5) < 0.033);
        T_TRUE(fabs(hues[k] / DRAWS - 0.025) < 0.003);
    }
    sluice_dataset_destroy(dataset);
}

/* Three ways of writing a range. */
static void one_number_is_a_range_around_no_change(void)
{
    sluice_dataset *dataset = opened("random_hsv 0 1.5 0.25");

    for (uint64_t i = 0; i < 300; i++) {
        const sli_hsv by = drawn(dataset, i);

        T_TRUE(by.hue == 0 && by.saturation >= 0 && by.saturation <= 2.5F && by.value >= 0.75F &&
               by.value <= 1.25F);
    }
    sluice_dataset_destroy(dataset);
    check_stages(SOURCE, "random_hsv 0 0 0", "take 12", true);
    check_stages(SOURCE, "random_hsv 0,0 1,1 1,1", "take 12", true);
    check_stages(SOURCE, "random_hsv", "random_hsv 0.1 1/1.5..1.5 1/1.5..1.5", true);
    check_stages(SOURCE, "random_hsv", "random_hsv 0.1 1/1.5..1.5 1/1.5..1.6", false);
    check_stages(SOURCE, "random_hsv", "random_hsv 0.1 0.5 0.5", false);
    check_stages("synthetic 12 9,8,1", "random_hsv 0.5 0.5 0", "take 12", true);
    check_stages("synthetic 12 9,8,1", "random_hsv", "take 12", false);
    check_workers_and_devices(SOURCE, "shuffle | random_hsv | random_crop 7 | normalize 0.5 0.5");
}

/* The range is that of every factor of colour, and is printed as it is read. */
static void other_stages_take_such_ranges(void)
{
    static const char *const stages[] = {
        "color_jitter brightness=1/1.5..1.5 contrast=1/2..3 saturation=1/1.25..4",
        "color_twist brightness=1/1.5..1.5 contrast=1/2..3 saturation=1/1.25..4",
        "random_photometric_distort brightness=1/1.5..1.5 contrast=1/2..3 saturation=1/1.25..4",
        "random_hsv saturation=1/1.5..1.5 value=1/2..3",
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        sluice_dataset *dataset = opened(stages[i]);
        char *text = NULL;
        char *again = NULL;

        T_OK(sluice_dataset_describe(dataset, &text));
        T_CONTAINS(text, "=1/1.5..1.5");
        T_CONTAINS(text, "=1/2..3");
        sluice_dataset_destroy(dataset);
        T_OK(sluice_dataset_parse(text, &dataset));
        T_OK(sluice_dataset_describe(dataset, &again));
        T_EQ(strcmp(text, again), 0);
        sluice_dataset_destroy(dataset);
        sluice_string_free(text);
        sluice_string_free(again);
        check_workers_and_devices(SOURCE, stages[i]);
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void wrong_ranges_are_refused(void)
{
    static const char *const cases[][2] = {
        {"random_hsv 0.6", "random_hsv: hue from -0.6 to 0.6 must have -0.5 <= LOW <= HIGH <= 0.5"},
        {"random_hsv hue=1/1.5..1.5", "random_hsv: hue=1/1.5..1.5 must be numbers with commas"},
        {"random_hsv saturation=-1", "saturation=-1 must be at least 0: one number is the largest"},
        {"random_hsv saturation=2,1", "saturation from 2 to 1 must have 0 <= LOW <= HIGH <= 1000"},
        {"random_hsv saturation=1,2,3", "saturation must be one number, or LOW,HIGH"},
        {"random_hsv saturation=1/1..1.5", "saturation=1/1..1.5 must have LOW and HIGH above 1"},
        {"random_hsv saturation=1/0.5..1.5", "saturation=1/0.5..1.5 must have LOW and HIGH above"},
        {"random_hsv value=1/1.5..1", "value=1/1.5..1 must have LOW and HIGH above 1"},
        {"random_hsv value=1/1.5..2000", "and at most 1000"},
        {"random_hsv value=1/1.5", "value=1/1.5 must be numbers with commas, at most 4, or 1/LOW"},
        {"random_hsv value=1/..2", "value=1/..2 must be numbers with commas, at most 4, or 1/LOW"},
        {"random_hsv value=1/2..", "value=1/2.. must be numbers"},
        {"random_hsv value=1/2..nan", "value=1/2..nan must be numbers"},
        {"random_hsv value=2/2..2", "value=2/2..2 must be numbers"},
        {"random_hsv value=1/2..2..2", "value=1/2..2..2 must be numbers"},
        {"color_jitter brightness=1/0..2", "brightness=1/0..2 must have LOW and HIGH above 1"},
        {"color_twist contrast=1/2..1e4",
         "contrast=1/2..10000 must have LOW and HIGH above 1, and"},
        {"random_photometric_distort contrast=1/2..1", "contrast=1/2..1 must have LOW and HIGH"},
        {"random_photometric_distort hue=1/2..2", "hue=1/2..2 must be numbers with commas"},
        {"random_rotation 1/2..2", "must be numbers with commas, at most 4"},
        {"device | random_hsv", "device"},
        {"normalize 0.5 0.5 | random_hsv", "put it before normalize"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];

        snprintf(text, sizeof(text), SOURCE " | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
    check_refused("synthetic 4 8,8,4 | random_hsv", "must have 1 (gray) or 3 (RGB)");
}

const t_test random_hsv_tests[] = {
    T_TEST(some_values_are_known),
    T_TEST(values_are_those_of_darknet),
    T_TEST(kernels_of_all_levels_give_the_same_bytes),
    T_TEST(factors_are_those_of_rand_scale),
    T_TEST(one_number_is_a_range_around_no_change),
    T_TEST(other_stages_take_such_ranges),
    T_TEST(wrong_ranges_are_refused),
    T_END,
};
