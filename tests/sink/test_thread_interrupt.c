/* SPDX-License-Identifier: Apache-2.0 */
/* Long work on one sample ends when its run stops, and the sample is not a bad one. */
#include <stdlib.h>
#include <string.h>

#include <sluice/channel.h>
#include <sluice/custom.h>

#include "image_decoder.h"
#include "jpeg_maker.h"
#include "report_data.h"
#include "resample_kit.h"
#include "testing.h"
#include "thread_interrupt_int.h"
#if defined(SLI_HAVE_PNG)
#include "png_maker.h"
#endif

/* ---- resizes --------------------------------------------------------------------------------- */

enum { LINES = 2000, ENOUGH = 100, LATE = 40 };

static bool has_enough(void *arg)
{
    return *(const uint32_t *)arg >= ENOUGH;
}

static void count_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    (void)y;
    (void)pixels;
    ++*(uint32_t *)arg;
}

/* Copies, resizes and pads. */
static void a_resize_ends_within_some_lines(void)
{
    static const uint32_t heights[] = {LINES, LINES / 2, 10};

    for (size_t i = 0; i < sizeof(heights) / sizeof(heights[0]); i++) {
        const sli_interrupt interrupt = {has_enough, &(uint32_t){0}};
        const line_sink sink = {count_line, interrupt.arg, NULL};
        uint8_t *pixels = calloc(LINES, 64);
        const image_view in = {pixels, 4, 4, heights[i], 1, IMAGE_U8};
        image_resampler resampler = {0};
        image_box needed;
        resample_job job = {.channels = 1,
                            .in_width = 4,
                            .in_height = heights[i],
                            .out_width = 4,
                            .out_height = i == 1 ? LINES : heights[i],
                            .window_width = 4,
                            .window_height = LINES,
                            .filter = *PLAIN};

        T_TRUE(pixels != NULL);
        T_OK(resample_prepare(&resampler, &job, &needed));
        sli_thread_interrupt(&interrupt);
        T_STATUS(resample_run(&resampler, &in, &sink), SLUICE_CLOSED);
        sli_thread_interrupt(NULL);
        T_TRUE(*(const uint32_t *)interrupt.arg < ENOUGH + LATE);
        *(uint32_t *)interrupt.arg = 0;
        T_OK(resample_run(&resampler, &in, &sink));
        T_EQ(*(const uint32_t *)interrupt.arg, LINES);
        resampler_free(&resampler);
        free(pixels);
    }
}

/* ---- decoders -------------------------------------------------------------------------------- */

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static void check_decoder(image_decoder *decoder, uint8_t *bytes, size_t size)
{
    const sli_interrupt interrupt = {always, NULL};

    T_TRUE(bytes != NULL);
    for (int again = 0; again < 2; again++) {
        uint32_t width;
        uint32_t height;
        image_box all = {0};
        image_view region;

        T_OK(image_decoder_open(decoder, bytes, size, UINT64_MAX, false, &width, &height));
        all.width = width;
        all.height = height;
        sli_thread_interrupt(again ? NULL : &interrupt);
        T_STATUS(image_decoder_region(decoder, &all, &region), again ? SLUICE_OK : SLUICE_CLOSED);
        sli_thread_interrupt(NULL);
    }
    free(bytes);
}

static void a_decoder_ends_and_can_decode_again(void)
{
    image_decoder *decoder = NULL;
    uint8_t *bytes;
    size_t size;

    T_OK(image_decoder_create(&decoder));
    for (int i = 0; i < 2; i++) {
        bytes = jpeg_make(&(jpeg_recipe){.width = 50, .height = 40, .progressive = i > 0}, &size);
        check_decoder(decoder, bytes, size);
#if defined(SLI_HAVE_PNG)
        bytes = png_make(&(png_recipe){.width = 50,
                                       .height = 40,
                                       .colour = PNG_COLOR_TYPE_RGB,
                                       .depth = 8,
                                       .interlaced = i > 0},
                         &size);
        check_decoder(decoder, bytes, size);
#endif
    }
    image_decoder_destroy(decoder);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* A source whose samples wait until the run is stopped. */
typedef struct stopped_source {
    sli_event changed;
    _Atomic uint32_t before; /* number of reads that do not wait */
    bool fails;
    _Atomic bool reads;
    _Atomic bool stopped;
    _Atomic bool ended;
} stopped_source;

static bool is_true(void *flag)
{
    return atomic_load((_Atomic bool *)flag);
}

static void set_flag(stopped_source *s, _Atomic bool *flag)
{
    atomic_store(flag, true);
    sli_event_notify(&s->changed);
}

static sluice_status read_late(sluice_sample *sample, uint64_t index, void *user)
{
    static const int32_t length[1] = {3};
    stopped_source *s = user;
    void *room = NULL;
    sluice_status st = sluice_sample_lend(sample, "t", (uint64_t[]){1}, length, sizeof(length));

    (void)index;
    if (atomic_load(&s->before) > 0) {
        atomic_fetch_sub(&s->before, 1);
    } else {
        set_flag(s, &s->reads);
        sli_event_await(&s->changed, is_true, &s->stopped, -1);
    }
    if (s->fails) {
        return sluice_fail(SLUICE_E_CORRUPT, "it is bad");
    }
    if (st == SLUICE_OK) {
        st = sluice_sample_room(sample, "image", NULL, &room);
    }
    if (st == SLUICE_OK) {
        memset(room, 7, 64 * 64 * 3);
    }
    return st;
}

static sluice_status begin(void *user, void **worker_out)
{
    *worker_out = user;
    return SLUICE_OK;
}

static void end(void *worker, void *user)
{
    stopped_source *s = user;

    (void)worker;
    set_flag(s, &s->ended);
}

static sluice_dataset *late_dataset(stopped_source *s, const char *stages)
{
    static const sluice_column_spec columns[] = {
        {.name = "t", .dtype = SLUICE_I32, .rank = 1, .shape = {1}},
        {.name = "image",
         .dtype = SLUICE_U8,
         .rank = 3,
         .shape = {64, 64, 3},
         .role = SLUICE_ROLE_IMAGE}};
    sluice_dataset *dataset = NULL;
    sluice_source source;

    sluice_source_init(&source);
    source.name = "late";
    source.version = 1;
    source.columns = columns;
    source.column_count = 2;
    source.count = 10;
    source.read = read_late;
    source.begin = begin;
    source.end = end;
    source.user = s;
    T_OK(sluice_dataset_source(&source, &dataset));
    if (stages != NULL) {
        T_OK(sluice_dataset_add(dataset, stages));
    }
    return dataset;
}

static sluice_status keep_all(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)sample;
    (void)user;
    *keep_out = 1;
    return SLUICE_OK;
}

/* Stops a run while it reads a sample. Returns the number of bad samples in its report, where none
 * is replaced or zeroed. */
static uint32_t bad_after_stop(stopped_source *s, sluice_dataset *dataset, sluice_on_error policy)
{
    sluice_channel_config config;
    sluice_channel *channel = NULL;
    sluice_device *device = NULL;
    sluice_report *report = NULL;
    uint32_t bad;

    sluice_channel_config_init(&config);
    config.workers = 1;
    config.on_error = policy;
    T_OK(sluice_device_open("host:0", &device));
    T_OK(sluice_channel_open(device, dataset, &config, &channel));
    T_OK(sluice_channel_start(channel));
    sli_event_await(&s->changed, is_true, &s->reads, -1);
    sluice_channel_stop(channel);
    set_flag(s, &s->stopped);
    sli_event_await(&s->changed, is_true, &s->ended, -1);
    T_OK(sluice_channel_report(channel, &report));
    T_EQ(report->stats.replaced + report->stats.zeroed, 0);
    bad = report->error_count;
    sluice_report_destroy(report);
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return bad;
}

static void a_sample_that_a_stop_abandons_is_not_a_bad_one(void)
{
    static const char *const stages[] = {
        "resize 300,300 | batch 1",    "gaussian_blur 5 | batch 1", "rotate 20 | batch 1",
        "elastic | batch 1",           "aug_mix | batch 1",         "mosaic 300 p=1 | batch 1",
        "random_equalize 1 | batch 1",
    };

    for (size_t i = 0; i < 2 * sizeof(stages) / sizeof(stages[0]); i++) {
        /* With mosaic, that of a partner. */
        stopped_source s = {.before = strstr(stages[i / 2], "mosaic") != NULL};

        T_EQ(bad_after_stop(&s, late_dataset(&s, stages[i / 2]),
                            i % 2 == 0 ? SLUICE_ON_ERROR_FAIL : SLUICE_ON_ERROR_REPLACE),
             0);
    }
}

/* A sample fails, before the stop or after it, or those that are to replace it. */
static void a_row_that_a_stop_abandons_is_not_replaced(void)
{
    static const char *const stages[] = {"pack t seq=4 | batch 1", "batch 1"};

    for (uint32_t i = 0; i < 3 * sizeof(stages) / sizeof(stages[0]); i++) {
        stopped_source s = {.before = i % 3, .fails = true};
        sluice_dataset *dataset = late_dataset(&s, NULL);
        sluice_filter filter;

        sluice_filter_init(&filter);
        filter.name = "all";
        filter.version = 1;
        filter.filter = keep_all;
        T_OK(sluice_dataset_filter(dataset, &filter));
        T_OK(sluice_dataset_add(dataset, stages[i / 3]));
        T_EQ(bad_after_stop(&s, dataset, SLUICE_ON_ERROR_REPLACE), i % 3);
    }
}

const t_test thread_interrupt_tests[] = {
    T_TEST(a_resize_ends_within_some_lines),
    T_TEST(a_decoder_ends_and_can_decode_again),
    T_TEST(a_sample_that_a_stop_abandons_is_not_a_bad_one),
    T_TEST(a_row_that_a_stop_abandons_is_not_replaced),
    T_END,
};
