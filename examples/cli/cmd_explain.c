/* SPDX-License-Identifier: Apache-2.0 */
/* sluice explain: what a pipeline is when all defaults are written out, and how it will be run. */
#include <inttypes.h>
#include <stdio.h>

#include "cli.h"

typedef struct explain {
    const char *pipeline;
    bool json;
    char *described; /* the pipeline with all defaults */
    char *plan;
    sluice_dataset_info info;
} explain;

static int parse(explain *e, int argc, char **argv)
{
    cli_option options[] = {
        {"json", OPTION_FLAG, &e->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int count;
    int code = cli_parse("explain", argc, argv, options, &e->pipeline, 1, &count);

    if (code == EXIT_DONE && count < 1) {
        cli_error("explain: want a pipeline in quotes; see `sluice help stages`");
        code = EXIT_WORDS;
    }
    return code;
}

static sluice_status ask(explain *e)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse(e->pipeline, &dataset);

    e->info.struct_size = sizeof(e->info);
    if (st == SLUICE_OK) {
        st = sluice_dataset_describe(dataset, &e->described);
    }
    if (st == SLUICE_OK) {
        st = sluice_dataset_explain(dataset, &e->plan);
    }
    if (st == SLUICE_OK) {
        st = sluice_dataset_inspect(dataset, &e->info);
    }
    sluice_dataset_destroy(dataset);
    return st;
}

static void print_json(const explain *e)
{
    printf("{\"schema\":1,\"status\":\"OK\",\"error\":null,\"pipeline\":");
    cli_json_string(e->described);
    printf(",\"plan\":");
    cli_json_string(e->plan);
    printf(",\"source_samples\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"batches\":%" PRIu64
           ",\"batch_size\":%" PRIu32 "}\n",
           e->info.source_samples, e->info.samples, e->info.batches, e->info.batch_size);
}

int cmd_explain(int argc, char **argv)
{
    explain e = {.json = cli_wants_json(argc, argv)};
    sluice_status st = SLUICE_E_INVALID;
    int code = parse(&e, argc, argv);

    if (code == EXIT_DONE) {
        st = ask(&e);
        code = st == SLUICE_OK ? EXIT_DONE : cli_refused(st);
    }
    if (code != EXIT_DONE && e.json) {
        cli_json_failure(st, cli_said());
    } else if (code == EXIT_DONE && e.json) {
        print_json(&e);
    } else if (code == EXIT_DONE) {
        printf("%s\n\n%s", e.described, e.plan);
    }
    sluice_string_free(e.described);
    sluice_string_free(e.plan);
    return code;
}
