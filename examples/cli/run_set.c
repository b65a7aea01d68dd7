/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of reports, which report_reader.h reads. */
#include "run_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef SLUICE_TOOL_JANSSON
#include "report_reader.h"

#define MOST_VALUE 1e100 /* of a figure: sums and ratios of it are finite */

enum { MOST_BYTES = 64 << 20 }; /* of a file, which may have the reports of many runs */

static const run_measure run_measures[] = {
    {"cpu_s_per_1000_samples", "CPU us/sample", "cpu_us_per_sample", 1000, false},
    {"samples_per_s", "samples/s", "samples_per_s", 1, true},
    {NULL, NULL, NULL, 0, false},
};

static const run_measure stage_measures[] = {
    {"sustained_samples_per_s", "sustains/s", "sustained_samples_per_s", 1, true},
    {"cpu_us_per_sample", "CPU us/sample", "cpu_us_per_sample", 1, false},
    {"p50_us", "p50 us", "p50_us", 1, false},
    {"p99_us", "p99 us", "p99_us", 1, false},
    {NULL, NULL, NULL, 0, false},
};

/* Names and paths of facts; the first is of the object that holds the runs. */
const char *const run_fact_names[RUN_FACTS] = {
    "pipeline",      "sluice version", "build", "host",    "CPU",    "kernels",
    "cores allowed", "quota",          "cores", "ranks",   "device", "GPU",
    "driver",        "transport",      "mode",  "workers", "digest",
};

static const char *const fact_paths[RUN_FACTS] = {
    "pipeline",
    "environment.versions.sluice",
    "environment.versions.build",
    "process.host",
    "environment.cpu",
    "environment.kernels",
    "environment.cores_allowed",
    "environment.quota",
    "process.cores",
    "process.world",
    "environment.device",
    "environment.gpu",
    "environment.driver",
    "transport",
    "mode",
    "stages.0.workers",
    "digest",
};

/* What is read: for messages, and where figures go. */
typedef struct run_reader {
    run_set *set;
    int side;
    const char *name;     /* of the file */
    const json_t *holder; /* the object that holds the runs; NULL: the report is the whole file */
} run_reader;

sluice_status run_set_check(void)
{
    return SLUICE_OK;
}

/* Makes room for one more element; NULL if memory is short. */
static void *grow(void *array, size_t *capacity, size_t count, size_t size)
{
    const size_t more = *capacity > 0 ? *capacity * 2 : 8;
    void *grown = array;

    if (count == *capacity) {
        grown = realloc(array, more * size);
        *capacity = grown != NULL ? more : *capacity;
    }
    return grown;
}

static sluice_status no_memory(const char *name)
{
    return sluice_fail(SLUICE_E_NO_MEMORY, "%s: memory is short for its figures", name);
}

/* Fails because a value that a report may have cannot be compared. */
static sluice_status fail_value(const run_reader *reader, const char *where, const char *key,
                                const json_t *value, const char *must_be)
{
    char *text = value != NULL
                     ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII)
                     : NULL;
    const sluice_status st =
        sluice_fail(SLUICE_E_CORRUPT, "%s: %s%s is %.60s and must be %s to be compared",
                    reader->name, where, key, text != NULL ? text : "missing", must_be);

    free(text);
    return st;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_row(const run_row *row, const char *stage, const run_measure *measure)
{
    return row->measure == measure &&
           (stage == NULL ? row->stage == NULL
                          : row->stage != NULL && strcmp(row->stage, stage) == 0);
}

/* Where a row of a stage goes: after its other rows, or to the end. */
static size_t index_of_row(const run_set *set, const char *stage)
{
    size_t index = set->count;

    while (index > 0 && stage != NULL &&
           (set->rows[index - 1].stage == NULL || strcmp(set->rows[index - 1].stage, stage) != 0)) {
        index--;
    }
    return index > 0 ? index : set->count;
}

static sluice_status add_row(const run_reader *reader, const char *stage,
                             const run_measure *measure, run_row **row_out)
{
    run_set *set = reader->set;
    const size_t index = index_of_row(set, stage);
    run_row *grown;
    char *copy = NULL;

    if (set->count == RUN_MOST_ROWS) {
        return sluice_fail(SLUICE_E_CORRUPT,
                           "%s: all reports together must have at most %d "
                           "figures; compare fewer pipelines",
                           reader->name, RUN_MOST_ROWS);
    }
    grown = grow(set->rows, &set->capacity, set->count, sizeof(*grown));
    if (grown == NULL || (stage != NULL && (copy = strdup(stage)) == NULL)) {
        set->rows = grown != NULL ? grown : set->rows;
        return no_memory(reader->name);
    }
    set->rows = grown;
    memmove(&grown[index + 1], &grown[index], (set->count - index) * sizeof(*grown));
    set->count++;
    *row_out = &grown[index];
    **row_out = (run_row){.stage = copy, .measure = measure};
    return SLUICE_OK;
}

/*
 * Rounds to five digits. Times of one bin of a histogram differ by less, with the measured
 * frequency of the clock of each run, and would count as different values.
 */
static double round_value(double value)
{
    char text[32];

    snprintf(text, sizeof(text), "%.4e", value);
    return strtod(text, NULL) + 0.0; /* -0 is 0 */
}

static sluice_status add_value(const run_reader *reader, const char *stage,
                               const run_measure *measure, double value)
{
    run_set *set = reader->set;
    const int side = reader->side;
    const size_t run = set->runs[side] + 1;
    run_row *row = NULL;
    double *grown;
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < set->count && row == NULL; i++) {
        row = is_row(&set->rows[i], stage, measure) ? &set->rows[i] : NULL;
    }
    st = row == NULL ? add_row(reader, stage, measure, &row) : SLUICE_OK;
    if (st != SLUICE_OK) {
        return st;
    }
    if (row->last_runs[side] == run) {
        return sluice_fail(SLUICE_E_CORRUPT,
                           "%s: the report has two stages of the name %.60s; "
                           "names must differ",
                           reader->name, stage != NULL ? stage : "");
    }
    grown = grow(row->values[side], &row->capacities[side], row->counts[side], sizeof(*grown));
    if (grown == NULL) {
        return no_memory(reader->name);
    }
    row->values[side] = grown;
    grown[row->counts[side]++] = round_value(value * measure->scale);
    row->last_runs[side] = run;
    return SLUICE_OK;
}

/* Adds the figures of an object: of a stage, or of the run, which must have all of them. */
static sluice_status add_values(const run_reader *reader, const json_t *object, const char *stage,
                                const run_measure *measures)
{
    sluice_status st = SLUICE_OK;

    for (const run_measure *measure = measures; measure->key != NULL && st == SLUICE_OK;
         measure++) {
        const json_t *member = json_object_get(object, measure->key);

        if (stage != NULL && (member == NULL || json_is_null(member))) {
            continue; /* not measured */
        }
        st = json_is_number(member) && json_number_value(member) <= MOST_VALUE
                 ? add_value(reader, stage, measure, json_number_value(member))
                 : fail_value(reader, stage != NULL ? "of a stage " : "", measure->key, member,
                              "a number from 0 to 1e+100");
    }
    return st;
}

static sluice_status add_stages(const run_reader *reader, const json_t *report)
{
    const json_t *stages = report_get(report, "stages");
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; i < json_array_size(stages) && st == SLUICE_OK; i++) {
        const json_t *stage = json_array_get(stages, i);

        st = add_values(reader, stage, report_string(stage, "name"), stage_measures);
    }
    return st;
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Returns the value at a path, a.b.0.c; NULL if it is missing. */
static const json_t *at_path(const json_t *value, const char *path)
{
    while (value != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");
        char key[40];

        snprintf(key, sizeof(key), "%.*s", (int)length, path);
        value = json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10))
                                     : json_object_get(value, key);
        path += length + (path[length] == '.');
    }
    return value;
}

static sluice_status add_fact(const run_reader *reader, size_t index, const json_t *value)
{
    run_fact *fact = &reader->set->facts[index];
    const size_t count = fact->counts[reader->side];
    char *text = json_is_number(value)
                     ? json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(6))
                     : strdup(json_is_string(value) ? json_string_value(value) : "unknown");

    if (text == NULL) {
        return no_memory(reader->name);
    }
    for (size_t i = 0; i < count && i < RUN_FACT_VALUES; i++) {
        if (strcmp(fact->values[reader->side][i], text) == 0) {
            free(text);
            return SLUICE_OK;
        }
    }
    if (count < RUN_FACT_VALUES) {
        fact->values[reader->side][count] = text;
    } else {
        free(text);
    }
    fact->counts[reader->side]++;
    return SLUICE_OK;
}

/* The pipeline's text is beside the runs of `sluice bench`. */
static const json_t *find_fact(const run_reader *reader, const json_t *report, size_t index)
{
    const bool is_compared = reader->side == 1;
    const json_t *own = is_compared ? json_object_get(reader->holder, "compared_pipeline") : NULL;

    if (index > 0) {
        return at_path(report, fact_paths[index]);
    }
    return own != NULL ? own : json_object_get(reader->holder, "pipeline");
}

/* ---- reports --------------------------------------------------------------------------------- */

/* Checks that the report is of a run that ended well and has samples. */
static sluice_status check_run(const run_reader *reader, const json_t *report)
{
    const char *status = report_string(report, "status");
    const char *error = report_string(report, "error");

    if (strncmp(status, "E_", 2) == 0) {
        return sluice_fail(SLUICE_E_CORRUPT,
                           "%s: its run failed with %.30s (%.200s), and its figures cannot be "
                           "compared; leave it out, or repeat the run",
                           reader->name, status, error != NULL ? error : "no text");
    }
    return report_number(report, "samples") >= 1
               ? SLUICE_OK
               : fail_value(reader, "", "samples", json_object_get(report, "samples"),
                            "a number above 0");
}

static sluice_status add_report(const run_reader *reader, const json_t *report)
{
    run_set *set = reader->set;
    sluice_status st;

    if (set->runs[reader->side] == RUN_MOST_RUNS) {
        return sluice_fail(SLUICE_E_CORRUPT, "%s: a side must have at most %d runs", reader->name,
                           RUN_MOST_RUNS);
    }
    st = report_check(reader->name, report) ? check_run(reader, report) : SLUICE_E_CORRUPT;
    st = st == SLUICE_OK ? add_values(reader, report, NULL, run_measures) : st;
    st = st == SLUICE_OK ? add_stages(reader, report) : st;
    for (size_t i = 0; i < RUN_FACTS && st == SLUICE_OK; i++) {
        st = add_fact(reader, i, find_fact(reader, report, i));
    }
    set->runs[reader->side] += st == SLUICE_OK;
    return st;
}

/* Adds the reports of an array in an object of `sluice bench --runs`. */
static sluice_status add_runs(const run_reader *reader, const char *key)
{
    const json_t *runs = json_object_get(reader->holder, key);
    sluice_status st = SLUICE_OK;

    if (json_array_size(runs) == 0) { /* or it is not an array */
        return fail_value(reader, "", key, runs, "an array of reports");
    }
    for (size_t i = 0; i < json_array_size(runs) && st == SLUICE_OK; i++) {
        st = add_report(reader, json_array_get(runs, i));
    }
    return st;
}

static sluice_status add_sides(run_reader *reader, int side)
{
    const bool has_both = json_object_get(reader->holder, "compared_runs") != NULL;
    sluice_status st;

    if (has_both != (side < 0)) {
        return sluice_fail(SLUICE_E_INVALID,
                           has_both ? "%s has both sides, of `sluice bench --compare`, and must be "
                                      "given alone"
                                    : "%s has one side; give two, or a file of `sluice bench "
                                      "--compare --json`, which has both",
                           reader->name);
    }
    reader->side = side < 0 ? 0 : side;
    st = add_runs(reader, "runs");
    if (st == SLUICE_OK && has_both) {
        reader->side = 1;
        st = add_runs(reader, "compared_runs");
    }
    return st;
}

sluice_status run_set_add(run_set *set, int side, const char *text, size_t size, const char *name)
{
    run_reader reader = {.set = set, .side = side, .name = name};
    json_t *root = report_load(name, text, size);
    sluice_status st;

    if (root == NULL) {
        return SLUICE_E_CORRUPT;
    }
    if (json_object_get(root, "runs") != NULL || side < 0) {
        reader.holder = root;
        st = report_check_schema(name, root) ? add_sides(&reader, side) : SLUICE_E_CORRUPT;
    } else {
        st = add_report(&reader, root);
    }
    json_decref(root);
    return st;
}

sluice_status run_set_add_file(run_set *set, int side, const char *path)
{
    char *text;
    sluice_status st = report_read_text(path, MOST_BYTES, &text);

    if (st == SLUICE_OK) {
        st = run_set_add(set, side, text, strlen(text), path);
    }
    free(text);
    return st;
}

#else

const char *const run_fact_names[RUN_FACTS];

sluice_status run_set_check(void)
{
    return sluice_fail(SLUICE_E_UNSUPPORTED,
                       "this build of the tool has no jansson to read reports; install "
                       "libjansson-dev and build again");
}

sluice_status run_set_add(run_set *set, int side, const char *text, size_t size, const char *name)
{
    (void)set, (void)side, (void)text, (void)size, (void)name;
    return run_set_check();
}

sluice_status run_set_add_file(run_set *set, int side, const char *path)
{
    (void)set, (void)side, (void)path;
    return run_set_check();
}

#endif

void run_set_free(run_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->rows[i].stage);
        for (int side = 0; side < RUN_SIDES; side++) {
            free(set->rows[i].values[side]);
        }
    }
    free(set->rows);
    for (size_t i = 0; i < RUN_FACTS; i++) {
        for (int side = 0; side < RUN_SIDES; side++) {
            for (size_t j = 0; j < RUN_FACT_VALUES; j++) {
                free(set->facts[i].values[side][j]);
            }
        }
    }
    *set = (run_set){0};
}
