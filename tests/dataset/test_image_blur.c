/* SPDX-License-Identifier: Apache-2.0 */
/* Blurring and sharpening of whole images: torchvision's results, a plain reference, kernels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blur_kernels.h"
#include "cpu_int.h"
#include "image_blur.h"
#include "picture_kit.h"
#include "testing.h"

static image_view view_of(const picture *p)
{
    return (image_view){p->pixels, (size_t)p->width * p->channels, p->width, p->height, p->channels,
                        IMAGE_U8};
}

/* The picture blurred, or with taps 0 sharpened by the amount. */
static picture changed(const picture *from, uint32_t taps, double amount)
{
    const image_view view = view_of(from);
    picture to = picture_empty(from->width, from->height, from->channels);
    image_blur blur = {.taps = 1};
    float *memory;

    if (taps > 0) {
        blur_make(&blur, taps, amount);
    }
    memory = malloc(blur_bytes(&blur, &view));
    for (uint32_t y = 0; y < from->height; y++) {
        if (taps > 0) {
            blur_line(&blur, &view, y, memory, to.pixels + y * view.stride);
        } else {
            sharpen_line((float)amount, &view, y, to.pixels + y * view.stride);
        }
    }
    free(memory);
    return to;
}

/* ---- torchvision -------------------------------------------------------------------------------
 */

static const struct {
    const char *output;
    uint32_t taps;
    double amount;
} cases[] = {
    {"sharpness-0.3.ppm", 0, 0.3},
    {"sharpness-1.9.ppm", 0, 1.9},
    {"blur-5.ppm", 5, 0.8},
    {"blur-23.ppm", 23, 3},
};

static void results_are_those_of_torchvision(void)
{
    picture from = picture_read("torchvision", "rgb-70x12.ppm");

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        picture want = picture_read("torchvision", cases[i].output);
        picture got = changed(&from, cases[i].taps, cases[i].amount);
        size_t other = 0;

        for (size_t k = 0; k < picture_size(&want); k++) {
            T_NEAR(got.pixels[k], want.pixels[k], 1);
            other += got.pixels[k] != want.pixels[k];
        }
        if (other * 100 > picture_size(&want)) {
            fprintf(stderr, "%s: %zu of %zu values differ\n", cases[i].output, other,
                    picture_size(&want));
        }
        T_TRUE(other * 100 <= picture_size(&want));
        free(want.pixels);
        free(got.pixels);
    }
    free(from.pixels);
}

/* ---- a plain reference -------------------------------------------------------------------------
 */

static uint32_t reflected(int at, uint32_t length)
{
    while (at < 0 || at >= (int)length) {
        at = at < 0 ? -at : 2 * (int)length - 2 - at;
        at = length == 1 ? 0 : at;
    }
    return (uint32_t)at;
}

static double blurred(const picture *p, const image_blur *blur, uint32_t x, uint32_t y, uint32_t c)
{
    const int half = (int)(blur->taps / 2);
    double sum = 0;

    for (int j = -half; j <= half; j++) {
        for (int i = -half; i <= half; i++) {
            const uint32_t line = reflected((int)y + j, p->height);
            const uint32_t column = reflected((int)x + i, p->width);

            sum += (double)blur->weights[half + j] * (double)blur->weights[half + i] *
                   p->pixels[((size_t)line * p->width + column) * p->channels + c];
        }
    }
    return sum;
}

/* For each number of channels, and images smaller than the filter. */
static void blurs_are_those_of_a_plain_reference(void)
{
    static const uint32_t sizes[][2] = {{70, 9}, {1, 1}, {2, 3}, {1, 30}};

    for (uint32_t channels = 1; channels <= 4; channels++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            picture from = picture_make(sizes[i][0], sizes[i][1], channels, 5);
            picture got = changed(&from, 9, 1.7);
            image_blur blur;

            blur_make(&blur, 9, 1.7);
            for (size_t k = 0; k < picture_size(&from); k++) {
                const uint32_t pixel = (uint32_t)(k / channels);
                const double want = blurred(&from, &blur, pixel % from.width, pixel / from.width,
                                            (uint32_t)(k % channels));

                T_TRUE(fabs(got.pixels[k] - want) < 0.5 + 1e-3);
            }
            free(from.pixels);
            free(got.pixels);
        }
    }
}

static void sharpening_is_that_of_a_plain_reference(void)
{
    static const float factors[] = {0, 0.5F, 1, 3, 1e6F};
    picture from = picture_make(81, 7, 3, 5);

    for (size_t f = 0; f < sizeof(factors) / sizeof(factors[0]); f++) {
        picture got = changed(&from, 0, (double)factors[f]);

        for (uint32_t k = 0; k < picture_size(&from); k++) {
            const uint32_t x = k / 3 % 81;
            const uint32_t y = k / 3 / 81;
            const bool outer = x == 0 || y == 0 || x == 80 || y == 6;
            int sum = 4 * from.pixels[k];
            float want = from.pixels[k];

            for (int j = -1; j <= 1 && !outer; j++) {
                for (int i = -1; i <= 1; i++) {
                    sum += from.pixels[(int)k + (j * 81 + i) * 3];
                }
            }
            if (!outer) {
                want += ((float)((2 * sum + 13) / 26) - want) * (1 - factors[f]);
            }
            T_EQ(got.pixels[k], (uint8_t)(want < 0 ? 0 : want > 255 ? 255 : (int)want));
        }
        free(got.pixels);
    }
    free(from.pixels);
}

/* A wide filter, a narrow one, and an image of one value. */
static void extreme_filters_stay_in_range(void)
{
    picture from = picture_make(20, 20, 3, 2);
    picture same = changed(&from, BLUR_TAPS, 1e-3);
    picture wide = changed(&from, BLUR_TAPS, 1e6);
    image_blur blur;
    float sum = 0;

    T_TRUE(memcmp(same.pixels, from.pixels, picture_size(&from)) == 0);
    T_NEAR(wide.pixels[0], wide.pixels[3 * 210], 20);
    blur_make(&blur, BLUR_TAPS, 4);
    for (int i = 0; i < BLUR_TAPS; i++) {
        sum += blur.weights[i];
    }
    T_TRUE(fabsf(sum - 1) < 1e-5F);
    free(from.pixels);
    from = picture_zero(9, 9, 1);
    memset(from.pixels, 255, picture_size(&from));
    free(same.pixels);
    same = changed(&from, 63, 20);
    for (size_t k = 0; k < picture_size(&same); k++) {
        T_EQ(same.pixels[k], 255);
    }
    free(from.pixels);
    free(same.pixels);
    free(wide.pixels);
}

/* ---- kernels -----------------------------------------------------------------------------------
 */

static void kernels_of_all_levels_give_the_same_bytes(void)
{
#if defined(__x86_64__)
    enum { COUNT = 1021, TAPS = 7, STEP = 3, ALL = COUNT + TAPS * STEP };
    static const blur_kernels *const levels[] = {&sli_blur_kernels_v3, &sli_blur_kernels_v4};
    const blur_kernels *portable = &sli_blur_kernels_portable;
    picture from = picture_make(ALL, TAPS, 1, 7);
    const uint8_t *lines[TAPS];
    image_blur blur;
    float sums[2][ALL];
    uint8_t bytes[2][COUNT];

    blur_make(&blur, TAPS, 1.3);
    for (int i = 0; i < TAPS; i++) {
        lines[i] = from.pixels + (size_t)i * ALL;
    }
    for (int level = SLI_CPU_V3; level <= (int)sli_cpu_best(); level++) {
        const blur_kernels *kernels = levels[level - SLI_CPU_V3];

        portable->sum_lines(lines, blur.weights, TAPS, sums[0], ALL);
        kernels->sum_lines(lines, blur.weights, TAPS, sums[1], ALL);
        T_TRUE(memcmp(sums[0], sums[1], sizeof(sums[0])) == 0);
        portable->sum_values(sums[0], blur.weights, TAPS, STEP, bytes[0], COUNT);
        kernels->sum_values(sums[0], blur.weights, TAPS, STEP, bytes[1], COUNT);
        T_TRUE(memcmp(bytes[0], bytes[1], COUNT) == 0);
        for (int k = -3; k < 4; k++) {
            portable->sharpen(lines[0] + 3, lines[1] + 3, lines[2] + 3, STEP, (float)k * 0.37F,
                              bytes[0], COUNT);
            kernels->sharpen(lines[0] + 3, lines[1] + 3, lines[2] + 3, STEP, (float)k * 0.37F,
                             bytes[1], COUNT);
            T_TRUE(memcmp(bytes[0], bytes[1], COUNT) == 0);
        }
    }
    free(from.pixels);
#endif
}

const t_test image_blur_tests[] = {
    T_TEST(results_are_those_of_torchvision),          T_TEST(blurs_are_those_of_a_plain_reference),
    T_TEST(sharpening_is_that_of_a_plain_reference),   T_TEST(extreme_filters_stay_in_range),
    T_TEST(kernels_of_all_levels_give_the_same_bytes), T_END,
};
