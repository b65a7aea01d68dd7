/* SPDX-License-Identifier: Apache-2.0 */
#include "run_series.h"

static const int64_t SECOND_NS = 1000000000;

static int64_t place_of(const run_series *series, const run_series_row *row)
{
    return series->by_pass ? (int64_t)row->passes : row->ns;
}

static void join_rows(run_series *series)
{
    const uint32_t kept = series->by_pass ? 1 : 0; /* the first pass is never joined */

    series->count = kept + (series->count - kept + 1) / 2;
    for (uint32_t i = kept + 1; i < series->count; i++) {
        series->rows[i] = series->rows[2 * (size_t)i - kept];
    }
    series->interval *= 2;
}

bool run_series_is_due(const run_series *series, int64_t now_ns)
{
    return series->count == 0 || now_ns - series->begin_ns - series->last.ns >= SECOND_NS;
}

/* True if a row is further from the last stored one than the interval. */
static bool has_room(const run_series *series, const run_series_row *row)
{
    return series->count == 0 ||
           place_of(series, row) - place_of(series, &series->rows[series->count - 1]) >=
               series->interval;
}

/* Steps that publish their time when they end show that what was counted as waits was none. */
static void lower_waits(run_series *series, double wait_s)
{
    for (uint32_t i = series->count; i > 0 && series->rows[i - 1].wait_s > wait_s; i--) {
        series->rows[i - 1].wait_s = wait_s;
    }
    if (series->last.wait_s > wait_s) {
        series->last.wait_s = wait_s;
    }
}

void run_series_add(run_series *series, run_series_row row, int64_t now_ns)
{
    if (series->count == 0) {
        series->begin_ns = now_ns;
        series->interval = series->by_pass ? 1 : SECOND_NS;
    }
    row.ns = now_ns - series->begin_ns;
    lower_waits(series, row.wait_s);
    series->before = series->last;
    series->last = row;
    if (has_room(series, &row) && series->count == RUN_SERIES_ROWS) {
        join_rows(series);
    }
    if (has_room(series, &row)) {
        series->rows[series->count++] = row;
    }
}

/* A share of a short time may be a little above 1, since the parts are read one after the other. */
static double at_most_one(double share)
{
    return !(share > 0) ? 0 : share > 1 ? 1 : share;
}

run_series_change run_series_between(const run_series_row *before, const run_series_row *row)
{
    const double seconds = (double)(row->ns - before->ns) / 1e9;
    const double per_second = seconds > 0 ? 1 / seconds : 0; /* a clock may go back */
    const double cores = (double)(row->cpu_ns - before->cpu_ns) / 1e9 * per_second;

    return (run_series_change){
        .t_s = (double)row->ns / 1e9,
        .batches_per_s = (double)(row->batches - before->batches) * per_second,
        .data_wait_share = at_most_one((row->wait_s - before->wait_s) * per_second),
        .cores = cores > 0 ? cores : 0,
        .seconds = seconds > 0 ? seconds : 0};
}
