/* SPDX-License-Identifier: Apache-2.0 */
/* What resizing gives: exact sums, Pillow's files, and simple truths. */
#include <stdlib.h>

#include "resample_kit.h"
#include "testing.h"

static double cut(double value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

/* What the resize would be without any rounding; from malloc(). */
static double *reference(const picture *in, uint32_t width, uint32_t height,
                         const resize_filter *filter)
{
    const size_t line = (size_t)in->width * in->channels;
    const size_t out_line = (size_t)width * in->channels;
    double *from = malloc(picture_size(in) * sizeof(*from));
    double *middle = malloc(in->height * out_line * sizeof(*middle));
    double *out = malloc(height * out_line * sizeof(*out));

    for (size_t i = 0; i < picture_size(in); i++) {
        from[i] = in->pixels[i];
    }
    for (uint32_t y = 0; y < in->height; y++) {
        for (size_t i = 0; i < out_line; i++) {
            middle[y * out_line + i] =
                cut(reference_of(filter, from + y * line + i % in->channels, in->channels,
                                 in->width, width, (uint32_t)(i / in->channels)));
        }
    }
    for (uint32_t y = 0; y < height; y++) {
        for (size_t i = 0; i < out_line; i++) {
            out[y * out_line + i] =
                cut(reference_of(filter, middle + i, out_line, in->height, height, y));
        }
    }
    free(from);
    free(middle);
    return out;
}

static void check_against_reference(uint32_t width, uint32_t height, uint32_t new_width,
                                    uint32_t new_height, uint32_t channels,
                                    const resize_filter *filter)
{
    const double most = filter->filter == FILTER_NEAREST ? 0 : 1;
    picture in = picture_make(width, height, channels, width + height);
    picture out = resized(&in, new_width, new_height, filter);
    double *want = reference(&in, new_width, new_height, filter);

    for (size_t i = 0; i < picture_size(&out); i++) {
        if (!(fabs(out.pixels[i] - floor(want[i] + 0.5)) <= most)) {
            T_FAIL_("%ux%ux%u to %ux%u, %s: byte %zu is %d, want %.9g", width, height, channels,
                    new_width, new_height, way_name(filter), i, out.pixels[i], want[i]);
        }
    }
    free(want);
    free(in.pixels);
    free(out.pixels);
}

static void resizing_is_within_1_of_exact_arithmetic(void)
{
    static const uint32_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100};
    static const uint32_t channels[] = {3, 1, 3, 4, 2};
    enum { N = sizeof(lengths) / sizeof(lengths[0]) };

    for (uint32_t i = 0; i < WAYS * N * N; i++) {
        uint32_t j = i * 37 % (N * N);

        check_against_reference(lengths[i % (N * N) / N], lengths[j / N], lengths[i % N],
                                lengths[j % N], channels[i % 5], &ways[i / (N * N)]);
    }
}

static void extreme_ratios_are_within_1_of_exact_arithmetic(void)
{
    static const uint32_t sizes[][4] = {
        {5000, 2, 3, 7},  {2, 5000, 7, 3},  {3, 4, 5000, 2},  {4, 3, 2, 5000},  {1, 1, 1000, 3},
        {65500, 1, 9, 1}, {1, 65500, 2, 1}, {300, 1, 299, 1}, {299, 2, 300, 2}, {513, 700, 1, 1},
    };
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

    for (size_t i = 0; i < 2 * SIZES * WAYS; i++) {
        const uint32_t *s = sizes[i / 2 % SIZES];

        check_against_reference(s[0], s[1], s[2], s[3], i % 2 == 0 ? 1 : 3, &ways[i / 2 / SIZES]);
    }
}

/* The sum of the first weights is the exact one's nearest number: no error adds up. */
static void weights_are_the_nearest_that_add_up(void)
{
    static const uint32_t sizes[][2] = {{7, 5}, {5, 7}, {295, 224}, {500, 224}, {40, 3}, {3, 40}};

    for (uint32_t n = 0; n < WAYS * 6; n++) {
        const resize_filter *filter = &ways[n / 6];
        const uint32_t *s = sizes[n % 6];
        const double scale = (double)s[0] / s[1];
        const double wide = filter->antialias && scale > 1 ? scale : 1;
        resample_axis axis = {.in = 0};

        T_OK(resample_axis_prepare(&axis, filter, s[0], s[1], 0, s[1]));
        for (uint32_t i = 0; i < s[1] && filter->filter != FILTER_NEAREST; i++) {
            double exact[500];
            double all = 0;
            double running = 0;
            int32_t sum = 0;

            for (uint32_t k = 0; k < s[0]; k++) {
                exact[k] =
                    weight_of_filter(filter->filter, (k - (i + 0.5) * scale + 0.5) * (1 / wide));
                all += exact[k];
            }
            for (uint32_t k = 0; k < (uint32_t)axis.first[i]; k++) {
                T_TRUE(exact[k] == 0);
            }
            for (uint32_t k = 0; k < axis.taps && axis.first[i] + k < s[0]; k++) {
                running += exact[axis.first[i] + (int32_t)k];
                sum += axis.weights[i * axis.taps + k];
                T_NEAR(sum, running / all * 16384, 0.5 + 1e-6);
            }
            T_EQ(sum, 16384);
        }
        resample_axis_free(&axis);
    }
}

/* Black beside white makes cubics leave the range of bytes, in either direction and in both. */
static void overshooting_is_clipped_after_each_pass(void)
{
    for (uint32_t i = 0; i < 60; i++) {
        const resize_filter *filter = &ways[2 + i % 2];
        picture in = picture_empty(9 + i % 7, 8 + i % 5, i % 3 == 0 ? 1 : 3);
        const uint32_t width = 3 + i * 5 % 31;
        const uint32_t height = 4 + i * 3 % 29;
        picture out;
        double *want;

        for (size_t k = 0; k < picture_size(&in); k++) {
            in.pixels[k] = (k * 2654435761U >> 7) % 3 == 0 ? 0 : 255;
        }
        out = resized(&in, width, height, filter);
        want = reference(&in, width, height, filter);
        for (size_t k = 0; k < picture_size(&out); k++) {
            T_NEAR(out.pixels[k], floor(want[k] + 0.5), 1);
        }
        free(want);
        free(in.pixels);
        free(out.pixels);
    }
}

/* Where output pixels lie between inputs: the numbers of a hand. */
static void filters_weigh_as_their_formulas_say(void)
{
    static const uint8_t line[] = {0, 0, 64, 192, 255, 255, 128, 0};
    static const struct {
        resize_filter filter;
        uint32_t width;
        uint8_t want[8];
        uint32_t count;
    } cases[] = {
        {{FILTER_NEAREST, true}, 4, {0, 192, 255, 0}, 4},
        {{FILTER_NEAREST, true}, 2, {64, 128}, 2},
        {{FILTER_NEAREST, true}, 3, {0, 255, 128}, 3},
        {{FILTER_AREA, true}, 4, {0, 128, 255, 64}, 4},
        {{FILTER_AREA, true}, 2, {64, 160}, 2},
        {{FILTER_BILINEAR, false}, 4, {0, 128, 255, 64}, 4},
        {{FILTER_BILINEAR, false}, 2, {32, 192}, 2},
        {{FILTER_BICUBIC, false}, 4, {0, 128, 255, 53}, 4}, /* -1/16, 9/16, 9/16, -1/16, cut */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        picture in = picture_empty(8, 1, 1);
        picture out;

        memcpy(in.pixels, line, sizeof(line));
        out = resized(&in, cases[i].width, 1, &cases[i].filter);
        for (uint32_t x = 0; x < cases[i].count; x++) {
            T_EQ(out.pixels[x], cases[i].want[x]);
        }
        free(in.pixels);
        free(out.pixels);
    }
}

/* ---- Pillow ---------------------------------------------------------------------------------- */

static void resizing_is_within_1_of_pillow(void)
{
    static const char *const cases[][2] = {
        {"rgb-61x47.ppm", "rgb-61x47-to-20x30.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-61x13.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-7x61.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-80x33.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-1x1.ppm"},
        {"rgb-61x47.ppm", "rgb-61x47-to-60x46.ppm"},
        {"gray-45x38.pgm", "gray-45x38-to-97x20.pgm"},
        {"gray-45x38.pgm", "gray-45x38-to-44x39.pgm"},
        {"gray-45x38.pgm", "gray-45x38-to-3x3.pgm"},
        {"gray-45x38.pgm", "gray-45x38-to-90x76.pgm"},
        {"rgb-400x2.ppm", "rgb-400x2-to-13x5.ppm"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        picture in = picture_read("pillow", cases[i][0]);
        picture want = picture_read("pillow", cases[i][1]);
        picture out = resized(&in, want.width, want.height, PLAIN);

        for (size_t k = 0; k < picture_size(&want); k++) {
            T_NEAR(out.pixels[k], want.pixels[k], 1);
        }
        free(in.pixels);
        free(want.pixels);
        free(out.pixels);
    }
}

/* ---- simple truths --------------------------------------------------------------------------- */

static void the_same_size_is_a_copy(void)
{
    for (uint32_t i = 1; i < 80; i++) {
        picture in = picture_make(i % 40 + 1, 41 - i % 40, i % 2 == 0 ? 3 : 1, i);
        picture out = resized(&in, in.width, in.height, &ways[i % WAYS]);

        T_TRUE(memcmp(in.pixels, out.pixels, picture_size(&in)) == 0);
        free(in.pixels);
        free(out.pixels);
    }
}

static void one_colour_stays_that_colour(void)
{
    static const uint8_t values[] = {0, 1, 127, 128, 254, 255};
    static const uint32_t others[] = {1, 2, 3, 50, 333, 3000};

    for (uint32_t n = 0; n < (40 * 40 + 6 * 6) * WAYS; n++) {
        uint32_t i = n / WAYS;
        uint32_t from = i < 1600 ? 1 + i / 40 : others[(i - 1600) / 6];
        uint32_t to = i < 1600 ? 1 + i % 40 : others[(i - 1600) % 6];
        uint8_t value = values[i % sizeof(values)];
        picture in = picture_empty(from, 2, 3);
        picture out;

        memset(in.pixels, value, picture_size(&in));
        out = resized(&in, to, 1 + i % 3, &ways[n % WAYS]);
        for (size_t k = 0; k < picture_size(&out); k++) {
            T_EQ(out.pixels[k], value);
        }
        free(in.pixels);
        free(out.pixels);
    }
}

const t_test resample_values_tests[] = {
    T_TEST(resizing_is_within_1_of_exact_arithmetic),
    T_TEST(extreme_ratios_are_within_1_of_exact_arithmetic),
    T_TEST(weights_are_the_nearest_that_add_up),
    T_TEST(overshooting_is_clipped_after_each_pass),
    T_TEST(filters_weigh_as_their_formulas_say),
    T_TEST(resizing_is_within_1_of_pillow),
    T_TEST(the_same_size_is_a_copy),
    T_TEST(one_colour_stays_that_colour),
    T_END,
};
