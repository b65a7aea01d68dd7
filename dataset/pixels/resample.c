/* SPDX-License-Identifier: Apache-2.0 */
#include "resample.h"

#include <assert.h>
#include <string.h>

#include "cpu_int.h"
#include "edge_copy.h"
#include "resample_kernels.h"
#include "resample_wide.h"
#include "thread_interrupt_int.h"

/*
 * Intersects the window [start, start + length) with [0, out), in pixels of the resized crop. The
 * result is [*from, *from + *count).
 */
static void visible_range(int64_t start, uint32_t length, uint32_t out, uint32_t *from,
                          uint32_t *count)
{
    int64_t low = start > 0 ? start : 0;
    int64_t high = start + length < out ? start + length : out;

    *from = low < high ? (uint32_t)low : 0;
    *count = low < high ? (uint32_t)(high - low) : 0;
}

/*
 * Intersects the span [from, from + count) of a side with the crop, which begins after `margin`
 * pixels and has `length`. The result is [*at, *at + *needed) of the crop, after *lead pixels of
 * the span. If it is empty, *lead is the whole span.
 */
static void needed_range(uint32_t from, uint32_t count, uint32_t margin, uint32_t length,
                         uint32_t *at, uint32_t *needed, uint32_t *lead)
{
    const int64_t start = (int64_t)from - margin;

    visible_range(start, count, length, at, needed);
    *lead = *needed > 0 ? (uint32_t)(*at - start) : count;
}

/* Chooses the kind of weights that an axis has. */
static void choose_weights(resample_axis *axis, image_element element)
{
    const bool is_wide = element != IMAGE_U8;

    axis->in = axis->is_wide == is_wide ? axis->in : 0; /* 0: they are computed again */
    axis->is_wide = is_wide;
}

/* Determines the part of the crop within the span. */
static void find_needed(image_resampler *r)
{
    const resample_job *job = &r->job;
    image_box *needed = &r->needed;

    needed_range(r->span.x, r->span.width, job->margins.left, job->in_width, &needed->x,
                 &needed->width, &r->lead_x);
    needed_range(r->span.y, r->span.height, job->margins.top, job->in_height, &needed->y,
                 &needed->height, &r->lead_y);
    if (needed->width == 0 || needed->height == 0) {
        *needed = (image_box){0, 0, 0, 0};
        r->lead_x = r->span.width;
        r->lead_y = r->span.height;
    }
    r->has_margins = needed->width < r->span.width || needed->height < r->span.height;
}

sluice_status resample_prepare(image_resampler *r, const resample_job *job, image_box *needed_out)
{
    const uint32_t full_width = job->margins.left + job->in_width + job->margins.right;
    const uint32_t full_height = job->margins.top + job->in_height + job->margins.bottom;
    uint32_t from_x, from_y, count_x, count_y, to_x, to_y;
    sluice_status st = SLUICE_OK;

    r->job = *job;
    memset(&r->needed, 0, sizeof(r->needed));
    visible_range(job->window_x, job->window_width, job->out_width, &from_x, &count_x);
    visible_range(job->window_y, job->window_height, job->out_height, &from_y, &count_y);
    r->empty = count_x == 0 || count_y == 0;
    r->copies = job->in_width == job->out_width && job->in_height == job->out_height &&
                full_width == job->in_width && full_height == job->in_height;
    if (job->edge != EDGE_CONSTANT) {
        assert(r->copies);
        edge_range(job->edge, job->window_x, job->window_width, job->in_width, &r->needed.x,
                   &r->needed.width);
        edge_range(job->edge, job->window_y, job->window_height, job->in_height, &r->needed.y,
                   &r->needed.height);
    } else if (!r->empty && r->copies) {
        r->needed = (image_box){from_x, from_y, count_x, count_y};
    } else if (!r->empty) {
        choose_weights(&r->x, job->element);
        choose_weights(&r->y, job->element);
        st =
            resample_axis_prepare(&r->x, &job->filter, full_width, job->out_width, from_x, count_x);
        if (st == SLUICE_OK) {
            st = resample_axis_prepare(&r->y, &job->filter, full_height, job->out_height, from_y,
                                       count_y);
        }
        if (st == SLUICE_OK) {
            resample_axis_span(&r->x, &from_x, &to_x);
            resample_axis_span(&r->y, &from_y, &to_y);
            r->span = (image_box){from_x, from_y, to_x - from_x, to_y - from_y};
            find_needed(r);
        }
    }
    *needed_out = r->needed;
    return st;
}

/* True if the filter has negative weights, so that results can be outside 0..255. */
static bool has_negative_weights(const image_resampler *r)
{
    return r->job.filter.filter == FILTER_BICUBIC;
}

/* ---- the passes ------------------------------------------------------------------------------ */

/*
 * Returns the number of weights of output line i without trailing zeros, rounded up to even. Many
 * output lines need fewer than `taps` weights.
 */
static uint32_t taps_of(const image_resampler *r, uint32_t i, const int16_t **weights)
{
    uint32_t taps = r->y.taps;

    *weights = r->y.weights + (size_t)i * taps;
    while (taps > 2 && (*weights)[taps - 1] == 0 && (*weights)[taps - 2] == 0) {
        taps -= 2;
    }
    return taps;
}

/* Returns the line of the span to which weight k of output line i applies. */
static uint32_t row_of(const image_resampler *r, uint32_t i, uint32_t k)
{
    const uint32_t row = (uint32_t)r->y.first[i] - r->span.y + k;

    /* Weights past the end of the span are zero, so any row can be used for them. */
    return row < r->span.height ? row : r->span.height - 1;
}

/* Returns the needed pixels of a line of the span; NULL: the line is in the margins. */
static const uint8_t *line_of(const image_resampler *r, const image_view *needed, uint32_t row)
{
    const uint32_t line = row - r->lead_y; /* wraps around above `needed` */

    return line < needed->height ? needed->pixels + line * needed->stride : NULL;
}

/*
 * Returns the number of elements in one line of the intermediate buffer: the span, then zeros for
 * padding weights.
 */
static size_t middle_line(const image_resampler *r)
{
    size_t elements = ((size_t)r->span.width + r->x.taps) * r->job.channels + MIDDLE_SLACK;

    return (elements + 31) / 32 * 32;
}

/* Returns line l of the intermediate buffer, which has STRIP lines. */
static int16_t *middle_of(const image_resampler *r, uint32_t l)
{
    return (int16_t *)(void *)r->middle.data + l * middle_line(r);
}

/* Sets columns [from, to) of a line of the intermediate buffer to the value of the margins. */
static void fill_middle(const image_resampler *r, int16_t *line, uint32_t from, uint32_t to,
                        int shift)
{
    const uint32_t channels = r->job.channels;

    for (size_t i = (size_t)from * channels; i < (size_t)to * channels; i++) {
        line[i] = (int16_t)(r->job.margin_fill[i % channels] << shift);
    }
}

/* ---- vertical pass first --------------------------------------------------------------------- */

/* vertical_line() with margins. */
static void vertical_margins(const image_resampler *r, const image_view *needed, uint32_t i,
                             int16_t *out)
{
    const uint8_t **rows = (const uint8_t **)(void *)r->rows.data;
    const uint32_t end = r->lead_x + needed->width;
    const size_t n = (size_t)needed->width * needed->channels;
    const int16_t *weights;
    const uint32_t taps = taps_of(r, i, &weights);

    for (uint32_t k = 0; k < taps; k++) {
        const uint8_t *line = line_of(r, needed, row_of(r, i, k));

        rows[k] = line != NULL ? line : r->margin.data;
    }
    fill_middle(r, out, 0, r->lead_x, RESAMPLE_MID_BITS);
    SLI_CHOOSE(sli_resample_kernels)
        ->vertical(rows, weights, taps, out + (size_t)r->lead_x * needed->channels, n);
    fill_middle(r, out, end, r->span.width, RESAMPLE_MID_BITS);
    memset(out + (size_t)r->span.width * needed->channels, 0, MIDDLE_SLACK * sizeof(*out));
}

/* Vertical pass: computes output line i of the y axis, into one line of the intermediate buffer. */
static void vertical_line(const image_resampler *r, const image_view *needed, uint32_t i,
                          int16_t *out)
{
    const uint8_t **rows = (const uint8_t **)(void *)r->rows.data;
    const size_t n = (size_t)needed->width * needed->channels;
    const int16_t *weights;
    const uint32_t taps = taps_of(r, i, &weights);

    for (uint32_t k = 0; k < taps; k++) {
        rows[k] = needed->pixels + row_of(r, i, k) * needed->stride;
    }
    SLI_CHOOSE(sli_resample_kernels)->vertical(rows, weights, taps, out, n);
    memset(out + n, 0, MIDDLE_SLACK * sizeof(*out));
}

/*
 * Resamples one strip of up to STRIP visible lines, beginning with line i. Line l is written to
 * out[l].
 */
static void resample_strip(image_resampler *r, const image_view *needed, uint32_t i, uint32_t lines,
                           uint8_t *const *out)
{
    const int16_t *in[STRIP];

    for (uint32_t l = 0; l < lines; l++) {
        in[l] = middle_of(r, l);
        if (r->has_margins) {
            vertical_margins(r, needed, i + l, middle_of(r, l));
        } else {
            vertical_line(r, needed, i + l, middle_of(r, l));
        }
    }
    if (lines == STRIP && r->job.channels == 3) {
        SLI_CHOOSE(sli_resample_kernels)->horizontal_rgb(&r->x, (int32_t)r->span.x, in, out);
        return;
    }
    for (uint32_t l = 0; l < lines; l++) {
        resample_horizontal(&r->x, (int32_t)r->span.x, in[l], out[l], r->job.channels);
    }
}

/* ---- horizontal pass first ------------------------------------------------------------------- */

/* Returns the number of elements in one line of the `across` buffer. */
static size_t across_line(const image_resampler *r)
{
    return (size_t)r->x.count * r->job.channels + WIDE_SLACK;
}

/*
 * Returns the line of the `across` buffer that holds line `row` of the span after the horizontal
 * pass. The buffer is a ring. Its size is the number of lines that one output line needs, plus one
 * strip, since lines are added a strip at a time.
 */
static int16_t *across_of(const image_resampler *r, uint32_t row)
{
    return (int16_t *)(void *)r->across.data + row % (r->y.taps + STRIP) * across_line(r);
}

/* Writes line `row` of the span to the intermediate buffer, without fractional bits. */
static void widen_line(const image_resampler *r, const image_view *needed, uint32_t row,
                       int16_t *out)
{
    const uint8_t *line = line_of(r, needed, row);
    const uint32_t lead = line != NULL ? r->lead_x : r->span.width;
    const uint32_t end = line != NULL ? lead + needed->width : lead;

    fill_middle(r, out, 0, lead, 0);
    if (line != NULL) {
        SLI_CHOOSE(sli_resample_kernels)
            ->widen(line, out + (size_t)lead * needed->channels,
                    (size_t)needed->width * needed->channels);
    }
    fill_middle(r, out, end, r->span.width, 0);
}

/* Runs the horizontal pass on lines [across_lines, end) of the span, a strip at a time. */
static void across_until(image_resampler *r, const image_view *needed, uint32_t end)
{
    const resample_kernels *kernels = SLI_CHOOSE(sli_resample_kernels);

    while (r->across_lines < end) {
        const uint32_t left = r->span.height - r->across_lines;
        const uint32_t lines = left < STRIP ? left : STRIP;
        const int16_t *in[STRIP];
        int16_t *out[STRIP];

        for (uint32_t l = 0; l < lines; l++) {
            const uint32_t row = r->across_lines + l;

            widen_line(r, needed, row, middle_of(r, l));
            in[l] = middle_of(r, l);
            out[l] = across_of(r, row);
        }
        if (lines == STRIP && r->job.channels == 3) {
            kernels->horizontal_wide(&r->x, (int32_t)r->span.x, in, out);
        } else {
            for (uint32_t l = 0; l < lines; l++) {
                resample_horizontal_wide(&r->x, (int32_t)r->span.x, in[l], out[l], r->job.channels);
            }
        }
        r->across_lines += lines;
    }
}

/* Like resample_strip(), for filters whose results can be outside 0..255: each pass clamps them. */
static void strip_clipped(image_resampler *r, const image_view *needed, uint32_t i, uint32_t lines,
                          uint8_t *const *out)
{
    const int16_t **rows = (const int16_t **)(void *)r->rows.data;

    for (uint32_t l = 0; l < lines; l++) {
        const int16_t *weights;
        const uint32_t taps = taps_of(r, i + l, &weights);

        across_until(r, needed, row_of(r, i + l, taps - 1) + 1);
        for (uint32_t k = 0; k < taps; k++) {
            rows[k] = across_of(r, row_of(r, i + l, k));
        }
        SLI_CHOOSE(sli_resample_kernels)
            ->vertical_wide(rows, weights, taps, out[l], (size_t)r->x.count * r->job.channels);
    }
}

/* Bytes of one pixel of the window. */
static size_t pixel_bytes(const resample_job *job)
{
    return (size_t)job->channels << job->element;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* The layout of a line of the window: left padding, visible part, right padding; all in bytes. */
typedef struct window_line {
    size_t bytes;           /* length of the whole line */
    size_t before;          /* length of the left padding */
    size_t visible;         /* length of the visible part */
    const uint8_t *padding; /* a line of padding; NULL: the window has none */
} window_line;

static window_line window_of(const image_resampler *r)
{
    const size_t pixel = pixel_bytes(&r->job);
    uint32_t from;
    uint32_t count;
    window_line line;

    visible_range(r->job.window_x, r->job.window_width, r->job.out_width, &from, &count);
    line.bytes = r->job.window_width * pixel;
    line.before = count > 0 ? (size_t)((int64_t)from - r->job.window_x) * pixel : 0;
    line.visible = count * pixel;
    line.padding = NULL;
    return line;
}

/*
 * Returns the address to write line y to: in the destination itself, or in the resampler's line
 * buffer.
 */
static uint8_t *line_at(image_resampler *r, const line_sink *sink, const window_line *line,
                        uint32_t y)
{
    return sink->direct != NULL ? sink->direct + y * line->bytes
                                : r->line.data + y % STRIP * line->bytes;
}

/* Writes pixels of one value, of bytes. */
static void repeat_pixel(uint8_t *to, size_t bytes, const uint8_t *value, uint32_t channels)
{
    if (channels == 1 || memcmp(value, value + 1, channels - 1) == 0) {
        memset(to, value[0], bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += channels) {
        memcpy(to + i, value, channels);
    }
}

/* Writes a line of padding to the resampler's memory. */
static sluice_status make_padding(image_resampler *r, window_line *line)
{
    const sluice_status st = image_buffer_reserve(&r->padding, line->bytes);

    if (st == SLUICE_OK && r->job.element == IMAGE_U8) {
        repeat_pixel(r->padding.data, line->bytes, r->job.fill, r->job.channels);
    } else if (st == SLUICE_OK) {
        memset(r->padding.data, 0, line->bytes);
    }
    line->padding = r->padding.data;
    return st;
}

static void fill_sides(uint8_t *to, const window_line *line)
{
    if (line->visible == line->bytes) {
        return;
    }
    memcpy(to, line->padding, line->before);
    memcpy(to + line->before + line->visible, line->padding,
           line->bytes - line->before - line->visible);
}

static void emit_line(const line_sink *sink, uint32_t y, const uint8_t *line)
{
    if (sink->direct == NULL) {
        sink->line(sink->arg, y, line);
    }
}

static void emit_padding(const line_sink *sink, const window_line *line, uint32_t from, uint32_t to)
{
    for (uint32_t y = from; y < to && !sli_is_interrupted_at(y); y++) {
        if (sink->direct != NULL) {
            memcpy(sink->direct + y * line->bytes, line->padding, line->bytes);
        } else {
            sink->line(sink->arg, y, line->padding);
        }
    }
}

/* Copies lines [from, from + count) of the window, without resizing. */
static void copy_lines(image_resampler *r, const image_view *needed, const line_sink *sink,
                       const window_line *line, uint32_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count && !sli_is_interrupted_at(i); i++) {
        const uint8_t *pixels = needed->pixels + i * needed->stride;

        if (sink->direct == NULL && line->visible == line->bytes) {
            sink->line(sink->arg, from + i, pixels);
        } else {
            uint8_t *at = line_at(r, sink, line, from + i);

            fill_sides(at, line);
            memcpy(at + line->before, pixels, line->visible);
            emit_line(sink, from + i, at);
        }
    }
}

/* Copies all lines of a window of an image that is continued beyond its edges. */
static void copy_edges(image_resampler *r, const image_view *needed, const line_sink *sink,
                       const window_line *line)
{
    const resample_job *job = &r->job;

    for (uint32_t y = 0; y < job->window_height && !sli_is_interrupted_at(y); y++) {
        const uint32_t from =
            edge_index(job->edge, job->window_y + y, job->in_height) - r->needed.y;
        uint8_t *at = line_at(r, sink, line, y);

        edge_line(job->edge, job->window_x, job->window_width, job->in_width,
                  needed->pixels + from * needed->stride, r->needed.x, pixel_bytes(job), at);
        emit_line(sink, y, at);
    }
}

/* Resizes lines [from, from + count) of the window. */
static void resize_lines(image_resampler *r, const image_view *needed, const line_sink *sink,
                         const window_line *line, uint32_t from, uint32_t count)
{
    r->across_lines = 0;
    for (uint32_t i = 0; i < count && !sli_is_interrupted_at(i); i += STRIP) {
        uint32_t lines = count - i < STRIP ? count - i : STRIP;
        uint8_t *out[STRIP] = {NULL};

        for (uint32_t l = 0; l < lines; l++) {
            uint8_t *at = line_at(r, sink, line, from + i + l);

            fill_sides(at, line);
            out[l] = at + line->before;
        }
        if (r->job.element != IMAGE_U8) {
            for (uint32_t l = 0; l < lines; l++) {
                resample_wide_line(r, needed, i + l, out[l]);
            }
        } else if (has_negative_weights(r)) {
            strip_clipped(r, needed, i, lines, out);
        } else {
            resample_strip(r, needed, i, lines, out);
        }
        for (uint32_t l = 0; l < lines; l++) {
            emit_line(sink, from + i + l, out[l] - line->before);
        }
    }
}

/* Reserves the buffers between the two passes. */
static sluice_status reserve_middle(image_resampler *r)
{
    const size_t bytes = STRIP * middle_line(r) * sizeof(int16_t);
    sluice_status st = image_buffer_reserve(&r->middle, bytes);

    if (st == SLUICE_OK) {
        memset(r->middle.data, 0, bytes);
        st = image_buffer_reserve(&r->rows, r->y.taps * sizeof(void *));
    }
    if (st == SLUICE_OK && r->span.height > r->needed.height) {
        const size_t line = (size_t)r->needed.width * r->job.channels;

        st = image_buffer_reserve(&r->margin, line);
        if (st == SLUICE_OK) {
            repeat_pixel(r->margin.data, line, r->job.margin_fill, r->job.channels);
        }
    }
    if (st == SLUICE_OK && has_negative_weights(r)) {
        st = image_buffer_reserve(&r->across,
                                  ((size_t)r->y.taps + STRIP) * across_line(r) * sizeof(int16_t));
    }
    return st;
}

sluice_status resample_run(image_resampler *r, const image_view *needed, const line_sink *sink)
{
    window_line line = window_of(r);
    uint32_t from;
    uint32_t count;
    uint32_t above;
    sluice_status st = SLUICE_OK;

    visible_range(r->job.window_y, r->job.window_height, r->job.out_height, &from, &count);
    count = r->empty ? 0 : count;
    above = count > 0 ? (uint32_t)((int64_t)from - r->job.window_y) : 0;
    if (sink->direct == NULL) {
        st = image_buffer_reserve(&r->line, STRIP * line.bytes);
    }
    if (st == SLUICE_OK && !r->copies && count > 0) {
        st = r->job.element == IMAGE_U8 ? reserve_middle(r) : resample_wide_reserve(r);
    }
    if (st == SLUICE_OK && r->job.edge == EDGE_CONSTANT &&
        (line.visible < line.bytes || count < r->job.window_height)) {
        st = make_padding(r, &line);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (r->job.edge != EDGE_CONSTANT) {
        copy_edges(r, needed, sink, &line);
        return sli_is_interrupted() ? SLUICE_CLOSED : SLUICE_OK;
    }
    emit_padding(sink, &line, 0, above);
    if (r->copies) {
        copy_lines(r, needed, sink, &line, above, count);
    } else if (count > 0) {
        resize_lines(r, needed, sink, &line, above, count);
    }
    emit_padding(sink, &line, above + count, r->job.window_height);
    return sli_is_interrupted() ? SLUICE_CLOSED : SLUICE_OK;
}

void resampler_free(image_resampler *r)
{
    resample_axis_free(&r->x);
    resample_axis_free(&r->y);
    image_buffer_free(&r->middle);
    image_buffer_free(&r->across);
    image_buffer_free(&r->rows);
    image_buffer_free(&r->margin);
    image_buffer_free(&r->padding);
    image_buffer_free(&r->line);
    memset(r, 0, sizeof(*r));
}
