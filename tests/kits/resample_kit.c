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

/* ---- the reference: plain sums in double ----------------------------------------------------- */

/* The filters as their definitions have them; x in units of the filter. */
double weight_of_filter(uint32_t filter, double x)
{
    const double d = fabs(x);

    switch (filter) {
    case FILTER_BICUBIC: /* Keys's two cubics, a = -1/2 */
        if (d < 1) {
            return 1.5 * d * d * d - 2.5 * d * d + 1;
        }
        return d < 2 ? -0.5 * d * d * d + 2.5 * d * d - 4 * d + 2 : 0;
    case FILTER_AREA:
        return x > -0.5 && x <= 0.5 ? 1 : 0;
    default:
        return d < 1 ? 1 - d : 0;
    }
}

double reference_of(const resize_filter *filter, const double *line, size_t step, uint32_t in,
                    uint32_t out, uint32_t i)
{
    const double scale = (double)in / out;
    const double wide = filter->antialias && scale > 1 ? scale : 1;
    const double center = (i + 0.5) * scale;
    double sum = 0;
    double weights = 0;

    if (filter->filter == FILTER_NEAREST) {
        double at = scale / 2; /* summed up as in Pillow: the rounding of halves depends on it */

        for (uint32_t k = 0; k < i; k++) {
            at += scale;
        }
        return line[(size_t)at * step];
    }
    for (int64_t k = (int64_t)(center - 2 * wide) - 1; k <= (int64_t)(center + 2 * wide) + 1; k++) {
        if (k >= 0 && k < in) {
            double weight =
                weight_of_filter(filter->filter, ((double)k - center + 0.5) * (1 / wide));

            sum += weight * line[(size_t)k * step];
            weights += weight;
        }
    }
    return sum / weights;
}
