/* SPDX-License-Identifier: Apache-2.0 */
/* Resizes of images of 16 bits and of floats: against sums in double, and against each other. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "resample_kit.h"
#include "testing.h"

enum { SIDE = 40, CELLS = SIDE * SIDE * 3 };

/* An image in both types; values are whole numbers. */
typedef struct wide_image {
    uint16_t words[CELLS];
    float floats[CELLS];
} wide_image;

static wide_image image;

static void fill_image(void)
{
    for (uint32_t i = 0; i < CELLS; i++) {
        image.words[i] = (uint16_t)(i * 40503 % 7 == 0 ? 65535 * (i % 2) : i * 40503);
        image.floats[i] = image.words[i];
    }
}

/* Runs a job whose crop begins at pixel (0, 0) of the image. */
static void run(const resample_job *job, void *out)
{
    image_resampler resampler = {0};
    image_view view = {.stride = (size_t)(SIDE * job->channels) << job->element,
                       .channels = job->channels,
                       .element = job->element};
    const line_sink sink = {NULL, NULL, out};
    image_box needed;

    T_OK(resample_prepare(&resampler, job, &needed));
    view.pixels =
        job->element == IMAGE_U16 ? (const uint8_t *)image.words : (const uint8_t *)image.floats;
    view.pixels += needed.y * view.stride + needed.x * image_pixel_bytes(&view);
    view.width = needed.width;
    view.height = needed.height;
    T_OK(resample_run(&resampler, &view, &sink));
    resampler_free(&resampler);
}

/* The crop with its margins, which are zeros, to another size, in double; from malloc(). */
static double *reference(const resample_job *job)
{
    const image_margins *m = &job->margins;
    const uint32_t width = m->left + job->in_width + m->right;
    const uint32_t height = m->top + job->in_height + m->bottom;
    const size_t line = (size_t)width * job->channels;
    const size_t out_line = (size_t)job->out_width * job->channels;
    double *from = calloc(line * height, sizeof(*from));
    double *middle = malloc(out_line * height * sizeof(*middle));
    double *out = malloc(out_line * job->out_height * sizeof(*out));

    for (uint32_t y = 0; y < job->in_height; y++) {
        for (uint32_t i = 0; i < job->in_width * job->channels; i++) {
            from[(y + m->top) * line + m->left * job->channels + i] =
                image.words[y * SIDE * job->channels + i];
        }
    }
    for (uint32_t y = 0; y < height; y++) {
        for (size_t i = 0; i < out_line; i++) {
            middle[y * out_line + i] =
                reference_of(&job->filter, from + y * line + i % job->channels, job->channels,
                             width, job->out_width, (uint32_t)(i / job->channels));
        }
    }
    for (uint32_t y = 0; y < job->out_height; y++) {
        for (size_t i = 0; i < out_line; i++) {
            out[y * out_line + i] =
                reference_of(&job->filter, middle + i, out_line, height, job->out_height, y);
        }
    }
    free(from);
    free(middle);
    return out;
}

/* What is at a position of the window: a value of the result, or 0 outside it. */
static double value_at(const resample_job *job, const double *whole, uint32_t y, uint32_t i)
{
    const int64_t line = job->window_y + y;
    const int64_t x = job->window_x + i / job->channels;

    return line < 0 || line >= job->out_height || x < 0 || x >= job->out_width
               ? 0
               : whole[((size_t)line * job->out_width + (size_t)x) * job->channels +
                       i % job->channels];
}

/* Compares a job with the reference, as 16 bits and as floats. */
static void check_job(resample_job job)
{
    const size_t line = (size_t)job.window_width * job.channels;
    const double most = job.filter.filter == FILTER_NEAREST ? 0 : 1;
    double *whole = reference(&job);
    uint16_t *words = malloc(line * job.window_height * sizeof(*words));
    float *floats = malloc(line * job.window_height * sizeof(*floats));

    job.element = IMAGE_U16;
    run(&job, words);
    job.element = IMAGE_F32;
    run(&job, floats);
    for (size_t k = 0; k < line * job.window_height; k++) {
        const double want = value_at(&job, whole, (uint32_t)(k / line), (uint32_t)(k % line));
        const double rounded = want < 0 ? 0 : want > 65535 ? 65535 : floor(want + 0.5);

        if (!(fabs(words[k] - rounded) <= most) ||
            !(fabs((double)floats[k] - want) <= 0.1 * most)) {
            T_FAIL_("%ux%ux%u to %ux%u, %s: value %zu is %u and %g, want %.9g", job.in_width,
                    job.in_height, job.channels, job.out_width, job.out_height,
                    way_name(&job.filter), k, words[k], (double)floats[k], want);
        }
    }
    free(whole);
    free(words);
    free(floats);
}

static void values_are_those_of_sums_in_double(void)
{
    static const uint32_t sizes[][4] = {{40, 40, 17, 23}, {40, 31, 40, 9}, {1, 40, 7, 40},
                                        {9, 3, 40, 35},   {13, 1, 5, 1},   {2, 2, 33, 1}};

    fill_image();
    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (uint32_t w = 0; w < WAYS; w++) {
            const picture in = {NULL, sizes[i][0], sizes[i][1], i % 2 == 0 ? 1 : 3};

            check_job(whole_job(&in, sizes[i][2], sizes[i][3], &ways[w]));
        }
    }
}

static void margins_and_what_is_outside_are_zeros(void)
{
    const picture in = {NULL, 21, 18, 3};

    fill_image();
    for (uint32_t w = 0; w < WAYS; w++) {
        resample_job job = whole_job(&in, 25, 11, &ways[w]);

        job.margins = (image_margins){3, 0, 5, 7};
        check_job(job);
        job.window_x = -4;
        job.window_y = 5;
        job.window_width = 33;
        job.window_height = 9;
        check_job(job);
    }
}

/* The crop that is decoded for a window depends on the window; the values do not. */
static void a_window_is_a_part_of_the_whole(void)
{
    static const image_element elements[] = {IMAGE_U16, IMAGE_F32};
    static uint8_t whole[CELLS * sizeof(float)];
    static uint8_t part[CELLS * sizeof(float)];
    const picture in = {NULL, 40, 37, 1};

    fill_image();
    for (uint32_t k = 0; k < 2 * WAYS; k++) {
        resample_job job = whole_job(&in, 29, 31, &ways[k / 2]);
        const size_t size = (size_t)1 << elements[k % 2];

        job.element = elements[k % 2];
        run(&job, whole);
        job.window_x = 7;
        job.window_y = 9;
        job.window_width = 12;
        job.window_height = 13;
        run(&job, part);
        for (size_t y = 0; y < 13; y++) {
            T_TRUE(memcmp(part + y * 12 * size, whole + ((y + 9) * 29 + 7) * size, 12 * size) == 0);
        }
    }
}

/* An input that is not finite reaches the outputs that use it, and no others. */
static void infinity_stays_where_it_is_used(void)
{
    const picture in = {NULL, 40, 1, 1};
    resample_job job = whole_job(&in, 20, 1, PLAIN);
    float out[20];

    fill_image();
    image.floats[20] = INFINITY;
    job.element = IMAGE_F32;
    run(&job, out);
    for (uint32_t i = 0; i < 20; i++) {
        T_TRUE(isfinite(out[i]) == (i < 9 || i > 10));
    }
}

/* A weight of 0 between others uses nothing: of bicubic a third as large, those 3 pixels away. */
static void nan_stays_where_it_has_a_weight(void)
{
    static const resize_filter bicubic = {FILTER_BICUBIC, true};

    for (int vertical = 0; vertical < 2; vertical++) {
        const picture in = {NULL, vertical ? 1 : 39, vertical ? 39 : 1, 1};
        resample_job job = whole_job(&in, vertical ? 1 : 13, vertical ? 13 : 1, &bicubic);
        float out[13];

        fill_image();
        image.floats[19 * (vertical ? SIDE : 1)] = NAN;
        job.element = IMAGE_F32;
        run(&job, out);
        for (uint32_t i = 0; i < 13; i++) {
            T_TRUE(isnan(out[i]) == (i == 6));
        }
    }
}

/* One resampler runs images of bytes and of 16 bits in turn, as a worker does. */
static void elements_alternate_in_one_resampler(void)
{
    const picture in = {NULL, 20, 20, 1};
    resample_job job = whole_job(&in, 11, 7, PLAIN);
    image_resampler resampler = {0};
    uint16_t wide[2][77];
    uint8_t bytes[2][77];

    fill_image();
    for (uint32_t k = 0; k < 4; k++) {
        image_view view = {(const uint8_t *)image.words, SIDE * 2, 20, 20, 1, IMAGE_U16};
        line_sink sink = {NULL, NULL, (uint8_t *)wide[k / 2]};
        image_box needed;

        if (k % 2 == 0) {
            view.element = IMAGE_U8;
            sink.direct = bytes[k / 2];
        }
        job.element = view.element;
        T_OK(resample_prepare(&resampler, &job, &needed));
        T_OK(resample_run(&resampler, &view, &sink));
    }
    T_TRUE(memcmp(wide[0], wide[1], sizeof(wide[0])) == 0);
    T_TRUE(memcmp(bytes[0], bytes[1], sizeof(bytes[0])) == 0);
    resampler_free(&resampler);
}

const t_test resample_wide_tests[] = {
    T_TEST(values_are_those_of_sums_in_double),
    T_TEST(margins_and_what_is_outside_are_zeros),
    T_TEST(a_window_is_a_part_of_the_whole),
    T_TEST(infinity_stays_where_it_is_used),
    T_TEST(nan_stays_where_it_has_a_weight),
    T_TEST(elements_alternate_in_one_resampler),
    T_END,
};
