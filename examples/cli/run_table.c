/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the figures of runs, of one side or of two. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "rank_sum.h"
#include "run_set.h"

static const char side_names[RUN_SIDES] = {'A', 'B'};

/* Prints a number in `width` columns with four digits or more. */
static void print_number(int width, double value)
{
    if (isnan(value)) {
        printf(" %*s", width, "-");
    } else if (value >= 1e10 || (value > 0 && value < 0.001)) {
        printf(" %*.3g", width, value);
    } else {
        printf(" %*.*f", width, value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3, value);
    }
}

/* Prints the name of a stage above its first row. */
static void print_stage(const run_set *set, size_t i)
{
    const char *stage = set->rows[i].stage;
    const char *before = i > 0 ? set->rows[i - 1].stage : NULL;

    if (stage != NULL && (before == NULL || strcmp(stage, before) != 0)) {
        cli_print_name(stage);
        printf("\n");
    }
}

/* ---- facts that differ ----------------------------------------------------------------------- */

static bool has_value(const run_fact *fact, int side, const char *value)
{
    for (size_t i = 0; i < fact->counts[side] && i < RUN_FACT_VALUES; i++) {
        if (strcmp(fact->values[side][i], value) == 0) {
            return true;
        }
    }
    return false;
}

/* True if runs differ in the fact, inside a side or between the sides. */
static bool fact_differs(const run_set *set, const run_fact *fact)
{
    for (int side = 0; side < RUN_SIDES; side++) {
        if (fact->counts[side] > 1) {
            return true;
        }
    }
    return set->runs[1] > 0 && !has_value(fact, 1, fact->values[0][0]);
}

static void add_fact_side(FILE *line, const run_fact *fact, int side)
{
    fprintf(line, " %c", side_names[side]);
    for (size_t i = 0; i < fact->counts[side] && i < RUN_FACT_VALUES; i++) {
        fprintf(line, "%s %s", i > 0 ? "," : "", fact->values[side][i]);
    }
    if (fact->counts[side] > RUN_FACT_VALUES) {
        fprintf(line, " and %zu further", fact->counts[side] - RUN_FACT_VALUES);
    }
}

static void print_differences(const run_set *set)
{
    for (size_t i = 0; i < RUN_FACTS; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *line = fact_differs(set, &set->facts[i]) ? open_memstream(&text, &size) : NULL;

        if (line == NULL) {
            continue;
        }
        fprintf(line, "differs: %s:", run_fact_names[i]);
        for (int side = 0; side < RUN_SIDES && set->runs[side] > 0; side++) {
            fprintf(line, side > 0 ? ";" : "");
            add_fact_side(line, &set->facts[i], side);
        }
        if (fclose(line) == 0) {
            cli_print_wrapped(stdout, text, 4);
        }
        free(text);
    }
}

/* ---- one side -------------------------------------------------------------------------------- */

void run_table_print(run_set *set)
{
    printf("%zu runs\n", set->runs[0]);
    print_differences(set);
    printf("%-24s %11s %11s %11s\n", "", "median", "lowest", "highest");
    for (size_t i = 0; i < set->count; i++) {
        run_row *row = &set->rows[i];
        const double median = rank_sum_median(row->values[0], row->counts[0]); /* and sorts */

        print_stage(set, i);
        printf("  %-22s", row->measure->name);
        print_number(11, median);
        print_number(11, row->values[0][0]);
        print_number(11, row->values[0][row->counts[0] - 1]);
        printf("\n");
    }
}

/* ---- two sides ------------------------------------------------------------------------------- */

/* The word at the end of a row. */
static const char *row_word(const run_row *row, const run_result *result)
{
    if (row->counts[0] == 0 || row->counts[1] == 0) {
        return row->counts[0] > 0 ? "only in A" : "only in B";
    }
    if (!result->is_judged) {
        return "?";
    }
    if (!result->changed || !isfinite(result->ratio)) {
        return "~";
    }
    return (result->ratio > 1) == row->measure->more_is_better ? "faster" : "slower";
}

static void print_row(const run_row *row, const run_result *result)
{
    printf("  %-22s", row->measure->name);
    print_number(11, result->medians[0]);
    print_number(11, result->medians[1]);
    if (!isfinite(result->ratio)) {
        printf(" %8s", "-");
    } else {
        printf(" %8.3f", result->ratio);
    }
    if (result->is_judged) {
        printf(" %7.*f", result->p < 0.01 ? 4 : 3, result->p);
    } else {
        printf(" %7s", "-");
    }
    printf("  %s\n", row_word(row, result));
}

/* The first lines: which side is slower, or that this cannot be told. */
static void print_verdict(const run_set *set, const run_result *first, double gate)
{
    const size_t a = set->runs[0];
    const size_t b = set->runs[1];
    char text[400];
    const double percent = (first->ratio - 1) * 100;

    if (!first->is_judged) {
        snprintf(text, sizeof(text),
                 "not judged: %s cannot tell a change from noise; give 4 runs a side or more (6 "
                 "find a change of about 5 %%), by `sluice bench --runs`",
                 a == 1 && b == 1 ? "one run a side" : "so few runs");
    } else if (!isfinite(first->ratio)) {
        snprintf(text, sizeof(text), "not judged: most runs of A took no CPU time");
    } else if (!first->changed) {
        snprintf(text, sizeof(text),
                 "no difference: noise explains %+.1f %% CPU time a sample (p %.3f, %zu and %zu "
                 "runs, which vary by %.1f %%; about %zu runs a side would find 5 %%)",
                 percent, first->p, a, b, first->spread * 100,
                 rank_sum_needed(first->spread, 0.05));
    } else {
        snprintf(text, sizeof(text),
                 "B is %s than A: %+.1f %% CPU time a sample (p %.4f, %zu and %zu runs)%s",
                 first->ratio > 1 ? "slower" : "faster", percent, first->p, a, b,
                 first->ratio > 1 && !run_is_slower(first, gate) ? ", which the gate allows" : "");
    }
    cli_print_wrapped(stdout, text, 4);
}

void run_table_pipelines(const char *const pipelines[RUN_SIDES])
{
    for (int side = 0; side < RUN_SIDES; side++) {
        char *text = NULL;
        size_t size = 0;
        FILE *line = open_memstream(&text, &size);

        if (line != NULL) {
            fprintf(line, "%c: %s", side_names[side], pipelines[side]);
        }
        if (line != NULL && fclose(line) == 0) {
            cli_print_wrapped(stdout, text, 4);
        }
        free(text);
    }
}

void run_table_compare(const run_set *set, const run_result *results, double gate)
{
    bool is_judged = false;

    print_verdict(set, results, gate);
    print_differences(set);
    printf("%-24s %11s %11s %8s %7s\n", "", "A", "B", "B/A", "p");
    for (size_t i = 0; i < set->count; i++) {
        print_stage(set, i);
        print_row(&set->rows[i], &results[i]);
        is_judged = is_judged || results[i].is_judged;
    }
    if (is_judged) {
        cli_print_wrapped(stdout,
                          "medians; ~: noise explains the difference (Mann-Whitney). Of 100 "
                          "comparisons of equal runs, 5 have another word in the first row, and 5 "
                          "in one of the others",
                          4);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void print_json_number(const char *key, double value)
{
    if (isfinite(value)) {
        printf(",\"%s\":%.9g", key, value);
    } else {
        printf(",\"%s\":null", key);
    }
}

static void print_json_side(const run_fact *fact, int side)
{
    printf(",\"%c\":[", side == 0 ? 'a' : 'b');
    for (size_t i = 0; i < fact->counts[side] && i < RUN_FACT_VALUES; i++) {
        printf("%s", i > 0 ? "," : "");
        cli_json_string(fact->values[side][i]);
    }
    printf("]");
}

static void print_json_differences(const run_set *set)
{
    const char *between = "";

    printf(",\"differs\":[");
    for (size_t i = 0; i < RUN_FACTS; i++) {
        if (fact_differs(set, &set->facts[i])) {
            printf("%s{\"what\":", between);
            cli_json_string(run_fact_names[i]);
            print_json_side(&set->facts[i], 0);
            print_json_side(&set->facts[i], 1);
            printf("}");
            between = ",";
        }
    }
    printf("]");
}

void run_table_compare_json(const run_set *set, const run_result *results, double gate)
{
    printf("{\"schema\":1,\"status\":\"OK\",\"error\":null,\"runs\":[%zu,%zu],\"judged\":%s",
           set->runs[0], set->runs[1], results[0].is_judged ? "true" : "false");
    print_json_number("gate_percent", gate);
    printf(",\"slower\":%s", run_is_slower(&results[0], gate) ? "true" : "false");
    print_json_differences(set);
    printf(",\"rows\":[");
    for (size_t i = 0; i < set->count; i++) {
        const run_row *row = &set->rows[i];

        printf("%s{\"stage\":", i > 0 ? "," : "");
        if (row->stage != NULL) {
            cli_json_string(row->stage);
        } else {
            printf("null");
        }
        printf(",\"measure\":\"%s\"", row->measure->json);
        print_json_number("a", results[i].medians[0]);
        print_json_number("b", results[i].medians[1]);
        print_json_number("ratio", results[i].ratio);
        print_json_number("spread", results[i].spread);
        print_json_number("p", results[i].is_judged ? results[i].p : (double)NAN);
        printf(",\"changed\":%s}", results[i].changed ? "true" : "false");
    }
    printf("]}\n");
}
