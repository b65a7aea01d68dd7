/* SPDX-License-Identifier: Apache-2.0 */
#include "resample_axis.h"

#include <math.h>
#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

/* ---- filters --------------------------------------------------------------------------------- */

static double bilinear_weight(double x)
{
    x = fabs(x);
    return x < 1 ? 1 - x : 0;
}

static double bicubic_weight(double x)
{
    const double a = -0.5;

    x = fabs(x);
    if (x < 1) {
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double area_weight(double x)
{
    return x > -0.5 && x <= 0.5 ? 1 : 0;
}

static const struct {
    double (*weight)(double x);
    double support; /* weight(x) is 0 for |x| larger than this */
} filters[FILTERS] = {
    [FILTER_BILINEAR] = {bilinear_weight, 1},
    [FILTER_BICUBIC] = {bicubic_weight, 2},
    [FILTER_AREA] = {area_weight, 0.5},
};

/*
 * An offset larger than the absolute sum of the negative weights: sums plus UP are positive, so
 * truncation rounds down.
 */
enum { UP = 1 << (RESAMPLE_WEIGHT_BITS + 2) };

/* The filter's extent on an axis; lengths are in input pixels. */
typedef struct span {
    double scale;
    double widened; /* factor by which antialiasing widens the filter */
    double support;
} span;

static span span_of(const resample_axis *axis)
{
    span s = {.scale = (double)axis->in / axis->out, .widened = 1};

    if (axis->filter.antialias && s.scale > 1) {
        s.widened = s.scale;
    }
    s.support = filters[axis->filter.filter].support * s.widened;
    return s;
}

/* Returns the inputs [*from, *to) that are within the filter's support for output i. */
static void support_of(const resample_axis *axis, const span *s, uint32_t i, int64_t *from,
                       int64_t *to)
{
    const double center = (i + 0.5) * s->scale;

    *from = center - s->support + 0.5 < 0 ? 0 : (int64_t)(center - s->support + 0.5);
    *to = (int64_t)(center + s->support + 0.5);
    *to = *to > axis->in ? axis->in : *to;
}

/*
 * Computes the weights of output i, not yet normalised, for the inputs [*first, *first + n).
 * Returns n.
 */
static uint32_t weigh_inputs(const resample_axis *axis, const span *s, uint32_t i, int32_t *first,
                             double *weights, double *sum)
{
    const double center = (i + 0.5) * s->scale;
    const double narrowed = 1 / s->widened; /* multiplied by, as in Pillow: a division would round
                                               differently at the edges of area */
    uint32_t n = 0;
    int64_t from;
    int64_t to;

    support_of(axis, s, i, &from, &to);
    *first = (int32_t)from;
    *sum = 0;
    for (int64_t k = from; k < to; k++, n++) {
        weights[n] = filters[axis->filter.filter].weight(((double)k - center + 0.5) * narrowed);
        *sum += weights[n];
    }
    return n;
}

/*
 * Rounds the running sum instead of each weight, so that the weights add up to exactly 2^14 and the
 * error stays small for any number of weights.
 */
static void quantise_weights(const double *weights, uint32_t n, double sum, int16_t *out)
{
    const double factor = (1 << RESAMPLE_WEIGHT_BITS) / sum;
    double running = 0;
    int32_t before = UP;

    for (uint32_t k = 0; k < n; k++) {
        int32_t now;

        running += weights[k];
        now = (int32_t)(running * factor + (UP + 0.5)); /* positive, so the cast rounds down */
        out[k] = (int16_t)(now - before);
        before = now;
    }
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Returns the largest number of inputs of an output, rounded up to an even number. */
static uint32_t most_taps(const resample_axis *axis, const span *s)
{
    int64_t most = 1;

    for (uint32_t i = axis->from; i < axis->from + axis->count; i++) {
        int64_t from;
        int64_t to;

        support_of(axis, s, i, &from, &to);
        most = to - from > most ? to - from : most;
    }
    return (uint32_t)(most + most % 2);
}

static sluice_status reserve_weights(resample_axis *axis, size_t weights)
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
    memset(axis->weights, 0, weights * sizeof(*axis->weights));
    return SLUICE_OK;
}

/* Reserves weights of single precision, as zeros. */
static sluice_status reserve_floats(resample_axis *axis)
{
    const size_t count = (size_t)axis->count * axis->taps;
    float *grown = axis->is_wide
                       ? sli_grow(axis->floats, &axis->float_capacity, count, sizeof(*grown))
                       : axis->floats;

    if (axis->is_wide && grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "weights of a resize to %u", axis->out);
    }
    axis->floats = grown;
    for (size_t i = 0; i < count && axis->is_wide; i++) {
        grown[i] = 0;
    }
    return SLUICE_OK;
}

/* Stores the weights of output i. */
static void store_weights(resample_axis *axis, uint32_t i, const double *weights, uint32_t n,
                          double sum)
{
    const size_t at = (size_t)i * axis->taps;

    if (!axis->is_wide) {
        quantise_weights(weights, n, sum, axis->weights + at);
        return;
    }
    for (uint32_t k = 0; k < n; k++) {
        axis->floats[at + k] = (float)(weights[k] / sum);
    }
}

/*
 * Nearest: each output has one input, whose position is accumulated by addition. The rounding error
 * of the sum is far smaller than the half step at its end.
 */
static sluice_status prepare_nearest(resample_axis *axis)
{
    const double scale = (double)axis->in / axis->out;
    double at = scale * 0.5;
    sluice_status st;

    axis->taps = 2;
    st = reserve_weights(axis, (size_t)axis->count * axis->taps);
    for (uint32_t i = 0; i < axis->from + axis->count && st == SLUICE_OK; i++) {
        if (i >= axis->from) {
            axis->first[i - axis->from] = (int32_t)at;
            axis->weights[(size_t)(i - axis->from) * axis->taps] = 1 << RESAMPLE_WEIGHT_BITS;
        }
        at += scale;
    }
    return st;
}

static sluice_status prepare_filtered(resample_axis *axis)
{
    const span s = span_of(axis);
    double stack_weights[256];
    double *weights = stack_weights;
    sluice_status st;

    axis->taps = most_taps(axis, &s);
    st = reserve_weights(axis, (size_t)axis->count * axis->taps);
    if (st == SLUICE_OK) {
        st = reserve_floats(axis);
    }
    if (st == SLUICE_OK && axis->taps > 256) {
        weights = sli_calloc(axis->taps, sizeof(*weights));
        st = weights != NULL ? SLUICE_OK
                             : sli_fail(SLUICE_E_NO_MEMORY, "weights of a resize to %u", axis->out);
    }
    for (uint32_t i = 0; i < axis->count && st == SLUICE_OK; i++) {
        double sum;
        uint32_t n = weigh_inputs(axis, &s, axis->from + i, &axis->first[i], weights, &sum);

        store_weights(axis, i, weights, n, sum);
    }
    if (weights != stack_weights) {
        sli_free(weights);
    }
    return st;
}

sluice_status resample_axis_prepare(resample_axis *axis, const resize_filter *filter, uint32_t in,
                                    uint32_t out, uint32_t from, uint32_t count)
{
    sluice_status st;

    if (axis->in == in && axis->out == out && axis->from == from && axis->count == count &&
        axis->filter.filter == filter->filter && axis->filter.antialias == filter->antialias) {
        return SLUICE_OK;
    }
    axis->filter = *filter;
    axis->in = in;
    axis->out = out;
    axis->from = from;
    axis->count = count;
    st = filter->filter == FILTER_NEAREST ? prepare_nearest(axis) : prepare_filtered(axis);
    if (st != SLUICE_OK) {
        axis->in = 0; /* invalidates the cached weights */
    }
    return st;
}

void resample_axis_span(const resample_axis *axis, uint32_t *from, uint32_t *to)
{
    int64_t last = (int64_t)axis->first[axis->count - 1] + axis->taps;

    *from = (uint32_t)axis->first[0];
    *to = last < axis->in ? (uint32_t)last : axis->in;
}

void resample_axis_free(resample_axis *axis)
{
    sli_free(axis->first);
    sli_free(axis->weights);
    sli_free(axis->floats);
    memset(axis, 0, sizeof(*axis));
}
