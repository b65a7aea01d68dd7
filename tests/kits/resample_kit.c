/* SPDX-License-Identifier: Apache-2.0 */
#include "resample_kit.h"

#include "testing.h"

/* Lines that come one by one, put together. */
typedef struct collector {
    uint8_t *to;
    size_t line;
    uint32_t count;
} collector;

static void collect(void *arg, uint32_t y, const uint8_t *pixels)
{
    collector *c = arg;

    if (y == c->count) {
        memcpy(c->to + y * c->line, pixels, c->line);
        c->count++;
    }
}

void run_job(image_resampler *resampler, const resample_job *job, const picture *in, bool direct,
             uint8_t *out)
{
    const size_t stride = (size_t)in->width * in->channels;
    collector lines = {out, (size_t)job->window_width * job->channels, 0};
    const line_sink direct_sink = {NULL, NULL, out};
    const line_sink line_by_line = {collect, &lines, NULL};
    image_box needed;
    image_view view;

    T_OK(resample_prepare(resampler, job, &needed));
    T_TRUE(needed.x + needed.width <= job->in_width);
    T_TRUE(needed.y + needed.height <= job->in_height);
    view = (image_view){in->pixels + needed.y * stride + (size_t)needed.x * in->channels,
                        stride,
                        needed.width,
                        needed.height,
                        in->channels,
                        IMAGE_U8};
    T_OK(resample_run(resampler, &view, direct ? &direct_sink : &line_by_line));
    T_EQ(lines.count, direct ? 0 : job->window_height);
}

const resize_filter ways[WAYS] = {
    {FILTER_BILINEAR, true}, {FILTER_BILINEAR, false}, {FILTER_BICUBIC, true},
    {FILTER_BICUBIC, false}, {FILTER_NEAREST, true},   {FILTER_NEAREST, false},
    {FILTER_AREA, true},
};

const char *way_name(const resize_filter *filter)
{
    static char name[40];

    snprintf(name, sizeof(name), "%s%s", resize_filter_names[filter->filter],
             filter->antialias ? "" : ", not antialiased");
    return name;
}

resample_job whole_job(const picture *in, uint32_t width, uint32_t height,
                       const resize_filter *filter)
{
    return (resample_job){.channels = in->channels,
                          .in_width = in->width,
                          .in_height = in->height,
                          .out_width = width,
                          .out_height = height,
                          .window_width = width,
                          .window_height = height,
                          .filter = *filter};
}

picture resized(const picture *in, uint32_t width, uint32_t height, const resize_filter *filter)
{
    const resample_job job = whole_job(in, width, height, filter);
    image_resampler resampler = {0};
    picture out = picture_empty(width, height, in->channels);

    run_job(&resampler, &job, in, true, out.pixels);
    resampler_free(&resampler);
    return out;
}
