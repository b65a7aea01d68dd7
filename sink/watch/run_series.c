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

void run_series_poll(run_series *series, uint64_t batches, int64_t now_ns)
{
    if (series->begin_ns == 0) {
        series->begin_ns = now_ns;
        series->interval_ns = SECOND_NS;
    } else if (now_ns - series->begin_ns - series->rows[series->count - 1].ns <
               series->interval_ns) {
        return;
    }
    if (series->count == RUN_SERIES_ROWS) {
        join_rows(series);
    }
    series->rows[series->count++] =
        (run_series_row){.ns = now_ns - series->begin_ns, .batches = batches};
}
