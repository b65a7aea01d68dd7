/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of the reports of several runs, of one or two sides that are compared. Reports are
 * the JSON of sluice_report_json(), or objects of `sluice bench --runs` that hold several.
 */
#ifndef RUN_SET_H
#define RUN_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sluice/sluice.h>

enum {
    RUN_SIDES = 2,
    RUN_FACTS = 17, /* facts about runs that can differ */
    RUN_FACT_VALUES =
        4, /* values of a fact that are kept for each side; further ones are counted */
    RUN_MOST_RUNS = 10000,
    RUN_MOST_BENCH = 1000, /* runs of each pipeline in one `sluice bench` */
    RUN_MOST_ROWS = 2048
};

/* One figure: its key in the report, its name in the table. */
typedef struct run_measure {
    const char *key;
    const char *name;
    const char *json; /* its name in the JSON of a comparison */
    double scale;     /* from the report's unit to the one of the name */
    bool more_is_better;
} run_measure;

/* The values of one figure, of a stage or of the whole run. */
typedef struct run_row {
    char *stage; /* NULL: the whole run */
    const run_measure *measure;
    double *values[RUN_SIDES];
    size_t counts[RUN_SIDES];
    size_t capacities[RUN_SIDES];
    size_t last_runs[RUN_SIDES]; /* number of the run that gave the last value, from 1 */
} run_row;

typedef struct run_fact {
    char *values[RUN_SIDES][RUN_FACT_VALUES];
    size_t counts[RUN_SIDES]; /* of different values, also those that are not kept */
} run_fact;

/* Zero is an empty set. The first row is the gate: CPU time a sample of the whole run. */
typedef struct run_set {
    run_row *rows;
    size_t count;
    size_t capacity;
    size_t runs[RUN_SIDES];
    run_fact facts[RUN_FACTS];
} run_set;

extern const char *const run_fact_names[RUN_FACTS];

/* E_UNSUPPORTED: this build of the tool has no jansson, which reads JSON. */
sluice_status run_set_check(void);

/*
 * Adds the reports in a JSON text to a side; errors begin with `name`. side -1: the text must have
 * both sides, as those of `sluice bench --compare` have. E_CORRUPT: it is not a report, is cut
 * short, is of another schema, or is of a run that failed.
 */
sluice_status run_set_add(run_set *set, int side, const char *text, size_t size, const char *name);

/* The same of a file of up to 64 MiB; "-": standard input. E_IO: it cannot be read. */
sluice_status run_set_add_file(run_set *set, int side, const char *path);

void run_set_free(run_set *set);

/* What a comparison of a row gives. */
typedef struct run_result {
    double medians[RUN_SIDES]; /* NaN: the side has no values */
    double ratio;              /* of the medians, B to A; NaN: unknown */
    double spread;             /* of the values of a side, the larger one; NaN: unknown */
    double p;                  /* of the Mann-Whitney test; 1 where a side has no values */
    bool is_judged;            /* there are enough runs to tell a change from noise */
    bool changed;              /* noise does not explain the difference */
} run_result;

/*
 * Compares the sides, row by row. The first row is tested alone; of the others one is `changed` by
 * chance in 5 of 100 comparisons at most. The caller frees the array. E_NO_MEMORY.
 */
sluice_status run_set_judge(run_set *set, run_result **results_out);

/* True if B is slower than A: in CPU time a sample, beyond noise and `gate` percent. */
bool run_is_slower(const run_result *first, double gate);

/* The tables of one side, and of two. */
void run_table_print(run_set *set);
void run_table_pipelines(const char *const pipelines[RUN_SIDES]); /* the lines A: and B: */
void run_table_compare(const run_set *set, const run_result *results, double gate);
void run_table_compare_json(const run_set *set, const run_result *results, double gate);

#endif
