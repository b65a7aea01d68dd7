/* SPDX-License-Identifier: Apache-2.0 */
#include "bench_runs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int bench_runs_sides(const bench_runs *runs)
{
    return runs->compared.word != NULL ? 2 : 1;
}

/* Whose the current run is, for messages; "" if there is one pipeline. */
static const char *pipeline_name(const bench_runs *runs)
{
    const char *const of[] = {" of the pipeline", " of the compared pipeline"};

    return bench_runs_sides(runs) == 2 ? of[runs->side] : "";
}

void bench_runs_begin(bench_runs *runs)
{
    fprintf(stderr, "run %" PRIu64 " of %" PRIu64 "%s\n", runs->round + 1, runs->count,
            pipeline_name(runs));
}

sluice_status bench_runs_keep(bench_runs *runs, const sluice_report *report)
{
    char **text = &runs->texts[runs->side][runs->kept[runs->side]];
    const sluice_status st = sluice_report_json(report, text);

    runs->kept[runs->side] += st == SLUICE_OK;
    return st;
}

static const char *pipeline_text(const cli_source *source)
{
    return source->file != NULL ? source->file : source->word;
}

static void print_reports(const bench_runs *runs, const char *key, int side)
{
    printf(",\"%s\":[", key);
    for (size_t i = 0; i < runs->kept[side]; i++) {
        printf("%s%s", i > 0 ? "," : "", runs->texts[side][i]);
    }
    printf("]");
}

static void print_json(const bench_runs *runs, const cli_source *source, sluice_status status,
                       const char *error)
{
    printf("{\"schema\":1,\"status\":\"%s\",\"error\":", sluice_status_name(status));
    if (error != NULL) {
        cli_json_string(error);
    } else {
        printf("null");
    }
    printf(",\"pipeline\":");
    cli_json_string(pipeline_text(source));
    print_reports(runs, "runs", 0);
    if (bench_runs_sides(runs) == 2) {
        printf(",\"compared_pipeline\":");
        cli_json_string(runs->compared.word);
        print_reports(runs, "compared_runs", 1);
    }
    printf("}\n");
}

/* Reads the reports again, as `sluice compare` would. */
static sluice_status read_reports(const bench_runs *runs, run_set *set)
{
    sluice_status st = SLUICE_OK;

    for (int side = 0; side < bench_runs_sides(runs); side++) {
        for (size_t i = 0; i < runs->kept[side] && st == SLUICE_OK; i++) {
            const char *text = runs->texts[side][i];

            st = run_set_add(set, side, text, strlen(text), "the report of a run");
        }
    }
    return st;
}

static sluice_status print_table(const bench_runs *runs, const cli_source *source)
{
    run_set set = {0};
    run_result *results = NULL;
    sluice_status st = read_reports(runs, &set);

    if (st == SLUICE_OK && runs->kept[1] == 0) {
        if (bench_runs_sides(runs) == 2) {
            printf("not compared: the compared pipeline has no complete run\n");
        }
        run_table_print(&set);
    } else if (st == SLUICE_OK) {
        st = run_set_judge(&set, &results);
    }
    if (results != NULL) {
        const char *const pipelines[RUN_SIDES] = {pipeline_text(source), runs->compared.word};

        run_table_pipelines(pipelines);
        run_table_compare(&set, results, 0);
    }
    free(results);
    run_set_free(&set);
    return st;
}

sluice_status bench_runs_print(const bench_runs *runs, const cli_source *source,
                               sluice_status status, const char *error, bool json)
{
    const size_t kept = runs->kept[0] + runs->kept[1];

    if (json) {
        print_json(runs, source, status, error);
    }
    if (error != NULL) {
        fprintf(stderr,
                "bench: run %" PRIu64 " of %" PRIu64 "%s failed and ends them all; %zu %s\n",
                runs->round + 1, runs->count, pipeline_name(runs), kept,
                kept == 1 ? "run was complete" : "runs were complete");
    }
    if (json || (error != NULL && kept == 0)) {
        return SLUICE_OK;
    }
    return kept > 0 ? print_table(runs, source)
                    : sluice_fail(SLUICE_STOPPED, "bench: stopped before a run was complete");
}

void bench_runs_free(bench_runs *runs)
{
    for (int side = 0; side < RUN_SIDES; side++) {
        for (size_t i = 0; i < runs->kept[side]; i++) {
            sluice_string_free(runs->texts[side][i]);
        }
        runs->kept[side] = 0;
    }
}
