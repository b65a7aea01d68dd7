/* SPDX-License-Identifier: Apache-2.0 */
/* sluice explain: prints a pipeline with all defaults, and how it will be run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "described_text.h"

typedef struct explain {
    cli_source source;
    bool json;
    char *described; /* the pipeline with all defaults */
    char *plan;
    sluice_dataset_info info;
} explain;

static int parse(explain *e, int argc, char **argv)
{
    cli_option options[] = {
        CLI_SOURCE_OPTIONS(&e->source),
        {"json", OPTION_FLAG, &e->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int code = cli_parse_source("explain", argc, argv, options, &e->source, NULL);

    if (code == EXIT_DONE && e->source.word == NULL && e->source.file == NULL) {
        cli_error("explain: want a pipeline in quotes, or -f FILE; see `sluice help stages`");
        code = EXIT_USAGE;
    }
    return code;
}

static sluice_status ask(explain *e)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = cli_open_pipeline(&e->source, &dataset);

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

/* Prints one stage per line; does not break a quoted path at its blanks. */
static void print_stage(const char *stage)
{
    if (strpbrk(stage, "'\"") == NULL) {
        cli_print_wrapped(stdout, stage, 8);
        return;
    }
    cli_print_name(stage);
    printf("\n");
}

/* Prints the stages one by one. */
static void print_pipeline(char *text)
{
    while (text != NULL) {
        size_t length;
        const char *next = text_next_stage(text, &length);
        char *rest = next != NULL ? text + length + 1 : NULL; /* "| STAGE" */

        text[length] = '\0';
        print_stage(text);
        printf("%s", rest != NULL ? "  " : "");
        text = rest;
    }
}

static void print_text(const explain *e)
{
    print_pipeline(e->described);
    printf("\n");
    cli_print_wrapped(stdout, e->plan, 4);
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
        print_text(&e);
    }
    sluice_string_free(e.described);
    sluice_string_free(e.plan);
    return code;
}
