/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress of a run, a row a second or a row a pass. Bounded: when it is full, every second row
 * is dropped and the interval doubles; rows hold totals, so that nothing is lost but resolution.
 */
#ifndef SLUICE_RUN_SERIES_H
#define SLUICE_RUN_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RUN_SERIES_ROWS = 600 };

/* Totals since the start. */
typedef struct run_series_row {
    int64_t ns;
    uint64_t batches; /* done */
    double wait_s;    /* steps waited for data */
    int64_t cpu_ns;   /* of the process */
    uint64_t passes;  /* over the data that have ended, also those before the run */
    uint64_t bad;     /* samples that were replaced or zeroed */
} run_series_row;

/* Zero before the first row, which is the start; but for by_pass. */
typedef struct run_series {
    bool by_pass;          /* a row a pass; the first pass keeps its row. Else a row a second */
    int64_t begin_ns;      /* of the first row */
    int64_t interval;      /* between rows: ns, or passes */
    run_series_row before; /* the last two seconds, or passes */
    run_series_row last;
    uint32_t count;
    run_series_row rows[RUN_SERIES_ROWS]; /* (count) */
} run_series;

/* What happened between two rows. */
typedef struct run_series_change {
    double t_s; /* of the second row, since the start */
    double batches_per_s;
    double data_wait_share;
    double cores; /* that the process used */
    double seconds;
} run_series_change;

/* True if the start, or a second, is due in a series of seconds. now_ns: sli_now_ns(). */
bool run_series_is_due(const run_series *series, int64_t now_ns);

/* Adds a row that is due; its time is now. One of a pass that has not ended is only `last`. If its
 * wait is shorter than that of rows before it, these are corrected. */
void run_series_add(run_series *series, run_series_row row, int64_t now_ns);

run_series_change run_series_between(const run_series_row *before, const run_series_row *row);

#endif
