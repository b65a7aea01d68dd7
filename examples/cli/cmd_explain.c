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
    bool has_sample; /* --sample: what is drawn for it is explained */
    uint64_t sample;
    uint64_t pass;
    uint64_t seed;
    char *described; /* the pipeline with all defaults */
    char *plan;
    char *drawn; /* NULL without --sample */
    sluice_dataset_info info;
} explain;

static int parse(explain *e, int argc, char **argv)
{
    cli_option options[] = {
        CLI_SOURCE_OPTIONS(&e->source),
        {"sample", OPTION_COUNT, &e->sample, "I", NULL, false},
        {"pass", OPTION_COUNT, &e->pass, "P", NULL, false},
        {"seed", OPTION_COUNT, &e->seed, "N", NULL, false},
        {"json", OPTION_FLAG, &e->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int code = cli_parse_source("explain", argc, argv, options, &e->source, NULL);

    if (code == EXIT_DONE && e->source.word == NULL && e->source.file == NULL) {
        cli_error("explain: the pipeline is missing; give one in quotes, or -f FILE; see `sluice "
                  "help stages`");
        code = EXIT_USAGE;
    }
    e->has_sample = cli_given(options, "sample");
    if (code == EXIT_DONE && !e->has_sample &&
        (cli_given(options, "pass") || cli_given(options, "seed"))) {
        cli_error("explain: --pass and --seed are of --sample; add --sample I");
        code = EXIT_USAGE;
    }
    return code;
}

static sluice_status ask(explain *e)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = cli_open_pipeline("explain", &e->source, &dataset);

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
    if (st == SLUICE_OK && e->has_sample) {
        st = sluice_dataset_explain_sample(dataset, e->seed, e->pass, e->sample, &e->drawn);
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
    if (e->drawn != NULL) {
        printf(",\"sample\":");
        cli_json_string(e->drawn);
    }
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
    if (e->drawn != NULL) {
        cli_print_wrapped(stdout, e->drawn, 6);
        return;
    }
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
    sluice_string_free(e.drawn);
    return code;
}
