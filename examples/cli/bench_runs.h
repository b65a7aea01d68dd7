/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of `sluice bench --runs`: their reports, and what is printed of them. */
#ifndef BENCH_RUNS_H
#define BENCH_RUNS_H

#include "cli.h"
#include "run_set.h"

typedef struct bench_runs {
    bool is_on;          /* --runs or --compare was given */
    uint64_t count;      /* runs of each pipeline */
    cli_source compared; /* the pipeline of --compare; word NULL without it */
    int side;            /* of the current run: 0, or 1 for the compared pipeline */
    uint64_t round;      /* of the current run, from 0 */
    char *texts[RUN_SIDES][RUN_MOST_BENCH]; /* the reports as JSON */
    size_t kept[RUN_SIDES];
} bench_runs;

/* Number of pipelines that are run: 1 or 2. */
int bench_runs_sides(const bench_runs *runs);

/* Says on stderr which run begins. */
void bench_runs_begin(bench_runs *runs);

/* Keeps the report of the run that ended. */
sluice_status bench_runs_keep(bench_runs *runs, const sluice_report *report);

/*
 * Prints the table, or the object of --json, of the reports that were kept: of the complete runs,
 * if the last one was stopped or has failed. `source` is of the first pipeline, `status` and
 * `error` are of the last run; `error` is NULL unless it has failed. Without --json it returns
 * SLUICE_STOPPED if the first run was stopped.
 */
sluice_status bench_runs_print(const bench_runs *runs, const cli_source *source,
                               sluice_status status, const char *error, bool json);

void bench_runs_free(bench_runs *runs);

#endif
