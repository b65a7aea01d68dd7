/* SPDX-License-Identifier: Apache-2.0 */
#include "run_series.h"

static const int64_t SECOND_NS = 1000000000;

static void join_rows(run_series *series)
{
    series->count = (series->count + 1) / 2;
    for (uint32_t i = 1; i < series->count; i++) {
        series->rows[i] = series->rows[2 * (size_t)i];
    }
    series->interval_ns *= 2;
}

bool run_series_is_due(const run_series *series, int64_t now_ns)
{
    return series->count == 0 || now_ns - series->begin_ns - series->last.ns >= SECOND_NS;
}

void run_series_add(run_series *series, run_series_row row, int64_t now_ns)
{
    if (series->count == 0) {
        series->begin_ns = now_ns;
        series->interval_ns = SECOND_NS;
    }
    row.ns = now_ns - series->begin_ns;
    series->before = series->last;
    series->last = row;
    if (series->count > 0 && row.ns - series->rows[series->count - 1].ns < series->interval_ns) {
        return;
    }
    if (series->count == RUN_SERIES_ROWS) {
        join_rows(series);
    }
    series->rows[series->count++] = row;
}

/* A share of a short time may be a little above 1, since the parts are read one after the other. */
static double at_most_one(double share)
{
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

run_series_change run_series_between(const run_series_row *before, const run_series_row *row)
{
    const double seconds = (double)(row->ns - before->ns) / 1e9;

    return (run_series_change){.t_s = (double)row->ns / 1e9,
                               .batches_per_s = (double)(row->batches - before->batches) / seconds,
                               .data_wait_share =
                                   at_most_one((row->wait_s - before->wait_s) / seconds),
                               .cores = (double)(row->cpu_ns - before->cpu_ns) / 1e9 / seconds};
}
