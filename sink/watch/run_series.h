/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a run, once a second. Bounded: a full series drops every second row and doubles
 * its interval. */
#ifndef SLUICE_RUN_SERIES_H
#define SLUICE_RUN_SERIES_H

#include <stddef.h>
#include <stdint.h>

enum { RUN_SERIES_ROWS = 600 };

/* Totals since the start, so that rows are joined by leaving one out. */
typedef struct run_series_row {
    int64_t ns;
    uint64_t batches;
} run_series_row;

/* Zero before the first poll. Row 0 is the start. */
typedef struct run_series {
    int64_t begin_ns; /* 0: not polled yet */
    int64_t interval_ns;
    uint32_t count;
    run_series_row rows[RUN_SERIES_ROWS]; /* (count) */
} run_series;

/* Adds a row if it is time to. batches: that are done. */
void run_series_poll(run_series *series, uint64_t batches, int64_t now_ns);

#endif
