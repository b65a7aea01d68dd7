/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of a resize, and resamplers that are used again or find no memory. */
#include <stdlib.h>

#include "alloc_int.h"
#include "random_kit.h"
#include "resample_kit.h"
#include "testing.h"

/* A start of a window of this length that sees, or just misses, something of `size`. */
static int64_t some_start(uint32_t *state, uint32_t size, uint32_t length)
{
    return (int64_t)test_below(state, size + length + 5) - (int64_t)length - 2;
}

static void check_window(image_resampler *resampler, const picture *in, const picture *whole,
                         const resize_filter *filter, uint32_t *state)
{
    resample_job job = whole_job(in, whole->width, whole->height, filter);
    uint8_t *out;

    job.window_width = 1 + test_below(state, whole->width + 6);
    job.window_height = 1 + test_below(state, whole->height + 6);
    job.window_x = some_start(state, whole->width, job.window_width);
    job.window_y = some_start(state, whole->height, job.window_height);
    out = malloc((size_t)job.window_width * job.window_height * job.channels);
    memset(out, 0x55, (size_t)job.window_width * job.window_height * job.channels);
    run_job(resampler, &job, in, test_below(state, 2) == 0, out);
    for (uint32_t y = 0; y < job.window_height; y++) {
        for (uint32_t x = 0; x < job.window_width; x++) {
            int64_t from_x = x + job.window_x;
            int64_t from_y = y + job.window_y;
            bool inside =
                from_x >= 0 && from_x < whole->width && from_y >= 0 && from_y < whole->height;

            for (uint32_t c = 0; c < job.channels; c++) {
                size_t from = ((size_t)from_y * whole->width + (size_t)from_x) * job.channels + c;

                T_EQ(out[((size_t)y * job.window_width + x) * job.channels + c],
                     inside ? whole->pixels[from] : 0);
            }
        }
    }
    free(out);
}

static void a_window_is_a_part_of_the_whole(void)
{
    static const uint32_t sizes[][4] = {
        {40, 30, 20, 15}, {20, 15, 33, 40}, {31, 17, 31, 17}, {31, 17, 31, 20},
        {1, 1, 9, 9},     {90, 5, 3, 21},   {64, 64, 1, 1},   {7, 7, 1, 30},
    };
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    uint32_t state = 10;

    for (size_t i = 0; i < 2 * SIZES * WAYS; i++) {
        const uint32_t *s = sizes[i / 2 % SIZES];
        const resize_filter *filter = &ways[i / 2 / SIZES];
        picture in = picture_make(s[0], s[1], i % 2 == 0 ? 3 : 1, (uint32_t)i);
        picture whole = resized(&in, s[2], s[3], filter);
        image_resampler resampler = {0};

        for (int k = 0; k < 60; k++) {
            check_window(&resampler, &in, &whole, filter, &state);
        }
        resampler_free(&resampler);
        free(in.pixels);
        free(whole.pixels);
    }
}

/* The picture with margins of a value for each channel. */
static picture with_margins(const picture *in, const resample_job *job)
{
    const image_margins *m = &job->margins;
    picture out = picture_empty(m->left + in->width + m->right, m->top + in->height + m->bottom,
                                in->channels);

    for (uint32_t y = 0; y < out.height; y++) {
        for (uint32_t x = 0; x < out.width; x++) {
            const uint32_t from_x = x - m->left; /* wraps around */
            const uint32_t from_y = y - m->top;
            const bool inside = from_x < in->width && from_y < in->height;

            memcpy(out.pixels + ((size_t)y * out.width + x) * in->channels,
                   inside ? in->pixels + ((size_t)from_y * in->width + from_x) * in->channels
                          : job->margin_fill,
                   in->channels);
        }
    }
    return out;
}

/* A resize with margins, in windows that begin anywhere, is the resize of a padded picture. */
static void margins_are_resized_as_pixels_are(void)
{
    uint32_t state = 12;

    for (uint32_t i = 0; i < 300; i++) {
        const resize_filter *filter = &ways[i % WAYS];
        picture in = picture_make(1 + test_below(&state, 30), 1 + test_below(&state, 30),
                                  i % 4 == 0 ? 1 : 3, i);
        resample_job job =
            whole_job(&in, 1 + test_below(&state, 40), 1 + test_below(&state, 40), filter);
        image_resampler resampler = {0};
        picture padded;
        picture want;
        picture out;

        job.margins = (image_margins){test_below(&state, 60), test_below(&state, 9),
                                      test_below(&state, 9), test_below(&state, 60)};
        memcpy(job.margin_fill, (uint8_t[]){200, 7, 255, 0}, sizeof(job.margin_fill));
        memcpy(job.fill, (uint8_t[]){9, 8, 7, 6}, sizeof(job.fill));
        job.window_width = 1 + test_below(&state, job.out_width + 6);
        job.window_height = 1 + test_below(&state, job.out_height + 6);
        job.window_x = some_start(&state, job.out_width, job.window_width);
        job.window_y = some_start(&state, job.out_height, job.window_height);
        padded = with_margins(&in, &job);
        want = picture_empty(job.window_width, job.window_height, in.channels);
        out = picture_empty(job.window_width, job.window_height, in.channels);
        run_job(&resampler, &job, &in, i % 3 == 0, out.pixels);
        job.margins = (image_margins){0};
        job.in_width = padded.width;
        job.in_height = padded.height;
        run_job(&resampler, &job, &padded, true, want.pixels);
        T_TRUE(memcmp(out.pixels, want.pixels, picture_size(&want)) == 0);
        resampler_free(&resampler);
        free(in.pixels);
        free(padded.pixels);
        free(want.pixels);
        free(out.pixels);
    }
}

/* A resampler that did other sizes before gives what a fresh one does. */
static void a_used_resampler_is_as_good_as_a_new_one(void)
{
    image_resampler used = {0};
    uint32_t state = 11;

    for (uint32_t i = 0; i < 200; i++) {
        picture in = picture_make(1 + test_below(&state, 60), 1 + test_below(&state, 60),
                                  i % 4 == 0 ? 1 : 3, i);
        uint32_t width = 1 + test_below(&state, 40);
        uint32_t height = 1 + test_below(&state, 40);
        const resize_filter *filter = &ways[test_below(&state, WAYS)];
        const resample_job job = whole_job(&in, width, height, filter);
        picture want = resized(&in, width, height, filter);
        picture out = picture_empty(width, height, in.channels);

        run_job(&used, &job, &in, i % 3 != 0, out.pixels);
        T_TRUE(memcmp(out.pixels, want.pixels, picture_size(&want)) == 0);
        free(in.pixels);
        free(want.pixels);
        free(out.pixels);
    }
    resampler_free(&used);
}

/* The size stays and the filter changes: what is kept of the weights is not taken for its own. */
static void another_filter_of_the_same_size_is_that_filter(void)
{
    picture in = picture_make(50, 40, 3, 5);
    image_resampler used = {0};

    for (uint32_t i = 0; i < WAYS * WAYS; i++) {
        for (int k = 0; k < 2; k++) {
            const resize_filter *filter = &ways[k == 0 ? i / WAYS : i % WAYS];
            const resample_job job = whole_job(&in, 20, 70, filter);
            picture want = resized(&in, 20, 70, filter);
            picture out = picture_empty(20, 70, 3);

            run_job(&used, &job, &in, true, out.pixels);
            T_TRUE(memcmp(out.pixels, want.pixels, picture_size(&want)) == 0);
            free(want.pixels);
            free(out.pixels);
        }
    }
    resampler_free(&used);
    free(in.pixels);
}

static void check_running_out_of_memory(const resize_filter *filter, int64_t least)
{
    picture in = picture_make(300, 300, 3, 1);
    picture out = picture_empty(2, 2, 3);
    const resample_job job = whole_job(&in, 2, 2, filter);
    const line_sink sink = {NULL, NULL, out.pixels};
    const image_view view = {in.pixels, 900, 300, 300, 3, IMAGE_U8};
    int64_t passes = 0;

    for (;; passes++) {
        image_resampler resampler = {0};
        image_box needed;
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = resample_prepare(&resampler, &job, &needed);
        if (st == SLUICE_OK) {
            st = resample_run(&resampler, &view, &sink);
        }
        sli_alloc_fail_after(-1);
        resampler_free(&resampler);
        if (st == SLUICE_OK) {
            break;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
    }
    T_TRUE(passes >= least);
    free(in.pixels);
    free(out.pixels);
}

static void running_out_of_memory_is_said(void)
{
    check_running_out_of_memory(PLAIN, 5);
    check_running_out_of_memory(&(resize_filter){FILTER_BICUBIC, true}, 6);
    check_running_out_of_memory(&(resize_filter){FILTER_NEAREST, true}, 5);
}

const t_test resample_windows_tests[] = {
    T_TEST(a_window_is_a_part_of_the_whole),
    T_TEST(margins_are_resized_as_pixels_are),
    T_TEST(a_used_resampler_is_as_good_as_a_new_one),
    T_TEST(another_filter_of_the_same_size_is_that_filter),
    T_TEST(running_out_of_memory_is_said),
    T_END,
};
