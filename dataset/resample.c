/* SPDX-License-Identifier: Apache-2.0 */
#include "resample.h"

#include <math.h>
#include <string.h>

#include "alloc_int.h"
#include "cpu_int.h"
#include "resample_kernels.h"
#include "status_int.h"

enum { MAX_CHANNELS = 4 };

/* The filter of an axis, as Pillow's resize has it: lengths in inputs. */
typedef struct filter {
    double scale;
    double support;
} filter;

static filter filter_of(const resample_axis *axis)
{
    const double scale = (double)axis->in / axis->out;

    return (filter){scale, scale < 1 ? 1 : scale};
}

/* The inputs [*from, *to) of output i: those within the support. */
static void support_of(const resample_axis *axis, const filter *f, uint32_t i, int64_t *from,
                       int64_t *to)
{
    const double center = (i + 0.5) * f->scale;

    *from = center - f->support + 0.5 < 0 ? 0 : (int64_t)(center - f->support + 0.5);
    *to = (int64_t)(center + f->support + 0.5);
    *to = *to > axis->in ? axis->in : *to;
}

/* Weights of output i, unnormalised: inputs [*first, *first + n). Returns n. */
static uint32_t triangle(const resample_axis *axis, const filter *f, uint32_t i, int32_t *first,
                         double *weights, double *sum)
{
    const double center = (i + 0.5) * f->scale;
    uint32_t n = 0;
    int64_t from;
    int64_t to;

    support_of(axis, f, i, &from, &to);
    *first = (int32_t)from;
    *sum = 0;
    for (int64_t k = from; k < to; k++, n++) {
        double w = 1 - fabs(((double)k - center + 0.5) / f->support);

        weights[n] = w > 0 ? w : 0;
        *sum += weights[n];
    }
    return n;
}

/*
 * Rounds the running sum, not each weight: the weights add up to 2^14 exactly, and the error stays
 * small however many there are.
 */
static void quantise(const double *weights, uint32_t n, double sum, int16_t *out)
{
    double running = 0;
    int32_t before = 0;

    for (uint32_t k = 0; k < n; k++) {
        int32_t now;

        running += weights[k];
        now = (int32_t)(running / sum * (1 << RESAMPLE_WEIGHT_BITS) + 0.5);
        out[k] = (int16_t)(now - before);
        before = now;
    }
}

/* Most inputs that one output of the axis touches, rounded up to an even number. */
static uint32_t most_taps(const resample_axis *axis, const filter *f)
{
    int64_t most = 1;

    for (uint32_t i = axis->from; i < axis->from + axis->count; i++) {
        int64_t from;
        int64_t to;

        support_of(axis, f, i, &from, &to);
        most = to - from > most ? to - from : most;
    }
    return (uint32_t)(most + most % 2);
}

static sluice_status axis_reserve(resample_axis *axis, size_t weights)
{
    int32_t *first = sli_grow(axis->first, &axis->first_capacity, axis->count, sizeof(*first));
    int16_t *grown;

    if (first == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "weights of a resize to %u", axis->out);
    }
    axis->first = first;
    grown = sli_grow(axis->weights, &axis->weight_capacity, weights, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "weights of a resize to %u", axis->out);
    }
    axis->weights = grown;
    return SLUICE_OK;
}

/* The weights of outputs [from, from + count); keeps those it has when nothing changed. */
static sluice_status axis_prepare(resample_axis *axis, uint32_t in, uint32_t out, uint32_t from,
                                  uint32_t count)
{
    double stack_weights[256];
    double *weights = stack_weights;
    filter f;
    sluice_status st;

    if (axis->in == in && axis->out == out && axis->from == from && axis->count == count) {
        return SLUICE_OK;
    }
    axis->in = in;
    axis->out = out;
    axis->from = from;
    axis->count = count;
    f = filter_of(axis);
    axis->taps = most_taps(axis, &f);
    st = axis_reserve(axis, (size_t)count * axis->taps);
    if (st == SLUICE_OK && axis->taps > 256) {
        weights = sli_calloc(axis->taps, sizeof(*weights));
        st = weights != NULL ? SLUICE_OK
                             : sli_fail(SLUICE_E_NO_MEMORY, "weights of a resize to %u", out);
    }
    if (st != SLUICE_OK) {
        axis->in = 0; /* what is there is not of this size */
        return st;
    }
    memset(axis->weights, 0, (size_t)count * axis->taps * sizeof(*axis->weights));
    for (uint32_t i = 0; i < count; i++) {
        double sum;
        uint32_t n = triangle(axis, &f, from + i, &axis->first[i], weights, &sum);

        quantise(weights, n, sum, axis->weights + (size_t)i * axis->taps);
    }
    if (weights != stack_weights) {
        sli_free(weights);
    }
    return SLUICE_OK;
}

/* The inputs [*from, *to) that any output of the axis touches with a weight. */
static void axis_span(const resample_axis *axis, uint32_t *from, uint32_t *to)
{
    int64_t last = (int64_t)axis->first[axis->count - 1] + axis->taps;

    *from = (uint32_t)axis->first[0];
    *to = last < axis->in ? (uint32_t)last : axis->in;
}

/* The part [*from, *from + *count) of [0, out) that a window [start, start + length) shows. */
static void visible(int64_t start, uint32_t length, uint32_t out, uint32_t *from, uint32_t *count)
{
    int64_t low = start > 0 ? start : 0;
    int64_t high = start + length < out ? start + length : out;

    *from = low < high ? (uint32_t)low : 0;
    *count = low < high ? (uint32_t)(high - low) : 0;
}

sluice_status resample_prepare(image_resampler *r, const resample_job *job, image_box *needed_out)
{
    uint32_t from_x, from_y, count_x, count_y, to_x, to_y;
    sluice_status st = SLUICE_OK;

    r->job = *job;
    memset(&r->needed, 0, sizeof(r->needed));
    visible(job->window_x, job->window_width, job->out_width, &from_x, &count_x);
    visible(job->window_y, job->window_height, job->out_height, &from_y, &count_y);
    r->empty = count_x == 0 || count_y == 0;
    r->copies = job->in_width == job->out_width && job->in_height == job->out_height;
    if (!r->empty && r->copies) {
        r->needed = (image_box){from_x, from_y, count_x, count_y};
    } else if (!r->empty) {
        st = axis_prepare(&r->x, job->in_width, job->out_width, from_x, count_x);
        if (st == SLUICE_OK) {
            st = axis_prepare(&r->y, job->in_height, job->out_height, from_y, count_y);
        }
        if (st == SLUICE_OK) {
            axis_span(&r->x, &from_x, &to_x);
            axis_span(&r->y, &from_y, &to_y);
            r->needed = (image_box){from_x, from_y, to_x - from_x, to_y - from_y};
        }
    }
    *needed_out = r->needed;
    return st;
}

/* One line; `channels` is a constant where this is inlined for some number of them. */
static inline void horizontal_line(const resample_axis *axis, int32_t origin, const int16_t *in,
                                   uint8_t *out, const uint32_t channels)
{
    const int shift = RESAMPLE_MID_BITS + RESAMPLE_WEIGHT_BITS;

    for (uint32_t i = 0; i < axis->count; i++) {
        const int16_t *from = in + (size_t)(axis->first[i] - origin) * channels;
        const int16_t *weights = axis->weights + (size_t)i * axis->taps;
        int32_t sums[MAX_CHANNELS];

        for (uint32_t c = 0; c < channels; c++) {
            sums[c] = 1 << (shift - 1);
        }
        for (uint32_t k = 0; k < axis->taps; k++, from += channels) {
            for (uint32_t c = 0; c < channels; c++) {
                sums[c] += from[c] * weights[k];
            }
        }
        for (uint32_t c = 0; c < channels; c++) {
            int32_t sum = sums[c] >> shift;

            *out++ = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
        }
    }
}

void resample_horizontal(const resample_axis *axis, int32_t origin, const int16_t *in, uint8_t *out,
                         uint32_t channels)
{
    if (channels == 3) {
        horizontal_line(axis, origin, in, out, 3);
    } else if (channels == 1) {
        horizontal_line(axis, origin, in, out, 1);
    } else {
        horizontal_line(axis, origin, in, out, channels);
    }
}

/* Vertical pass of output line i of the y axis into one line of the middle. */
static sluice_status vertical_line(image_resampler *r, const image_view *needed, uint32_t i,
                                   int16_t *out)
{
    const resample_kernels *kernels = SLI_CHOOSE(sli_resample_kernels);
    const size_t n = (size_t)needed->width * needed->channels;
    const int16_t *weights = r->y.weights + (size_t)i * r->y.taps;
    const uint8_t *stack_rows[64];
    const uint8_t **rows = stack_rows;
    uint32_t taps = r->y.taps;

    /* Many outputs touch less than the most; rows without a weight are left out. */
    while (taps > 2 && weights[taps - 1] == 0 && weights[taps - 2] == 0) {
        taps -= 2;
    }
    if (taps > 64) {
        rows = sli_calloc(taps, sizeof(*rows));
        if (rows == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "a resize from %u lines", r->y.in);
        }
    }
    for (uint32_t k = 0; k < taps; k++) {
        uint32_t row = (uint32_t)r->y.first[i] - r->needed.y + k;

        /* Weights past the end of the crop are zero, whatever they are multiplied with. */
        row = row < needed->height ? row : needed->height - 1;
        rows[k] = needed->pixels + row * needed->stride;
    }
    kernels->vertical(rows, weights, taps, out, n);
    memset(out + n, 0, MIDDLE_SLACK * sizeof(*out));
    if (rows != stack_rows) {
        sli_free((void *)rows);
    }
    return SLUICE_OK;
}

/* Elements of one line of the middle: what is needed, and zeros that padding weights may touch. */
static size_t middle_line(const image_resampler *r)
{
    size_t elements = ((size_t)r->needed.width + r->x.taps) * r->job.channels + MIDDLE_SLACK;

    return (elements + 31) / 32 * 32;
}

/* One strip of up to STRIP visible lines, from the i-th on; out[l] are where they begin. */
static sluice_status strip(image_resampler *r, const image_view *needed, uint32_t i, uint32_t lines,
                           uint8_t *const *out)
{
    const size_t line = middle_line(r);
    const int16_t *in[STRIP];

    for (uint32_t l = 0; l < lines; l++) {
        int16_t *middle = (int16_t *)(void *)r->middle.data + l * line;
        sluice_status st = vertical_line(r, needed, i + l, middle);

        if (st != SLUICE_OK) {
            return st;
        }
        in[l] = middle;
    }
    if (lines == STRIP && r->job.channels == 3) {
        SLI_CHOOSE(sli_resample_kernels)->horizontal_rgb(&r->x, (int32_t)r->needed.x, in, out);
        return SLUICE_OK;
    }
    for (uint32_t l = 0; l < lines; l++) {
        resample_horizontal(&r->x, (int32_t)r->needed.x, in[l], out[l], r->job.channels);
    }
    return SLUICE_OK;
}

/* What the window shows of one line: zeros, the visible part, zeros. */
typedef struct window_line {
    size_t bytes;   /* of the whole line */
    size_t before;  /* zeros on the left */
    size_t visible; /* bytes of image */
} window_line;

static window_line window_of(const image_resampler *r)
{
    uint32_t from;
    uint32_t count;
    window_line line;

    visible(r->job.window_x, r->job.window_width, r->job.out_width, &from, &count);
    line.bytes = (size_t)r->job.window_width * r->job.channels;
    line.before = count > 0 ? (size_t)((int64_t)from - r->job.window_x) * r->job.channels : 0;
    line.visible = (size_t)count * r->job.channels;
    return line;
}

/* The lines' places: in the destination itself, or in the resampler's line buffer. */
static uint8_t *line_at(image_resampler *r, const line_sink *sink, const window_line *line,
                        uint32_t y)
{
    return sink->direct != NULL ? sink->direct + y * line->bytes
                                : r->line.data + y % STRIP * line->bytes;
}

static void zero_sides(uint8_t *to, const window_line *line)
{
    memset(to, 0, line->before);
    memset(to + line->before + line->visible, 0, line->bytes - line->before - line->visible);
}

static void emit(const line_sink *sink, uint32_t y, const uint8_t *line)
{
    if (sink->direct == NULL) {
        sink->line(sink->arg, y, line);
    }
}

static void emit_zeros(image_resampler *r, const line_sink *sink, const window_line *line,
                       uint32_t from, uint32_t to)
{
    for (uint32_t y = from; y < to; y++) {
        uint8_t *at = line_at(r, sink, line, y);

        memset(at, 0, line->bytes);
        emit(sink, y, at);
    }
}

/* Lines [from, from + count) of the window, copied. */
static void copy_lines(image_resampler *r, const image_view *needed, const line_sink *sink,
                       const window_line *line, uint32_t from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *pixels = needed->pixels + i * needed->stride;

        if (sink->direct == NULL && line->visible == line->bytes) {
            sink->line(sink->arg, from + i, pixels);
        } else {
            uint8_t *at = line_at(r, sink, line, from + i);

            zero_sides(at, line);
            memcpy(at + line->before, pixels, line->visible);
            emit(sink, from + i, at);
        }
    }
}

/* Lines [from, from + count) of the window, resized. */
static sluice_status resize_lines(image_resampler *r, const image_view *needed,
                                  const line_sink *sink, const window_line *line, uint32_t from,
                                  uint32_t count)
{
    for (uint32_t i = 0; i < count; i += STRIP) {
        uint32_t lines = count - i < STRIP ? count - i : STRIP;
        uint8_t *out[STRIP] = {NULL};
        sluice_status st;

        for (uint32_t l = 0; l < lines; l++) {
            uint8_t *at = line_at(r, sink, line, from + i + l);

            zero_sides(at, line);
            out[l] = at + line->before;
        }
        st = strip(r, needed, i, lines, out);
        if (st != SLUICE_OK) {
            return st;
        }
        for (uint32_t l = 0; l < lines; l++) {
            emit(sink, from + i + l, out[l] - line->before);
        }
    }
    return SLUICE_OK;
}

sluice_status resample_run(image_resampler *r, const image_view *needed, const line_sink *sink)
{
    const window_line line = window_of(r);
    uint32_t from;
    uint32_t count;
    uint32_t above;
    sluice_status st = SLUICE_OK;

    visible(r->job.window_y, r->job.window_height, r->job.out_height, &from, &count);
    count = r->empty ? 0 : count;
    above = count > 0 ? (uint32_t)((int64_t)from - r->job.window_y) : 0;
    if (sink->direct == NULL) {
        st = image_buffer_reserve(&r->line, STRIP * line.bytes);
    }
    if (st == SLUICE_OK && !r->copies && count > 0) {
        st = image_buffer_reserve(&r->middle, STRIP * middle_line(r) * sizeof(int16_t));
        if (st == SLUICE_OK) {
            memset(r->middle.data, 0, STRIP * middle_line(r) * sizeof(int16_t));
        }
    }
    if (st != SLUICE_OK) {
        return st;
    }
    emit_zeros(r, sink, &line, 0, above);
    if (r->copies) {
        copy_lines(r, needed, sink, &line, above, count);
    } else if (count > 0) {
        st = resize_lines(r, needed, sink, &line, above, count);
    }
    if (st == SLUICE_OK) {
        emit_zeros(r, sink, &line, above + count, r->job.window_height);
    }
    return st;
}

void resampler_free(image_resampler *r)
{
    sli_free(r->x.first);
    sli_free(r->x.weights);
    sli_free(r->y.first);
    sli_free(r->y.weights);
    image_buffer_free(&r->middle);
    image_buffer_free(&r->line);
    memset(r, 0, sizeof(*r));
}
