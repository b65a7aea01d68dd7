/* SPDX-License-Identifier: Apache-2.0 */
/* sluice classes: prints the class name of each label. */
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"

typedef struct classes {
    cli_source source;
    bool json;
    sluice_dataset *dataset;
    char **names; /* by label */
    size_t count;
} classes;

static int parse(classes *c, int argc, char **argv)
{
    cli_option options[] = {
        CLI_SOURCE_OPTIONS(&c->source),
        {"json", OPTION_FLAG, &c->json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int code = cli_parse_source("classes", argc, argv, options, &c->source, NULL);

    if (code == EXIT_DONE && c->source.word == NULL && c->source.file == NULL) {
        cli_error("classes: the source is missing; give a folder of images, a pipeline in quotes, "
                  "or -f FILE");
        code = EXIT_USAGE;
    }
    return code;
}

/* Lists the class names of labels 0, 1, ... up to the first label without a class. If there is no
 * name, the status has the reason. */
static sluice_status list_names(classes *c)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK) {
        char **grown = realloc(c->names, (c->count + 1) * sizeof(*grown));

        if (grown == NULL) {
            return sluice_fail(SLUICE_E_NO_MEMORY, "out of memory: the names of the classes");
        }
        c->names = grown;
        st = sluice_dataset_class_name(c->dataset, (int32_t)c->count, &c->names[c->count]);
        c->count += st == SLUICE_OK;
    }
    return st == SLUICE_E_INVALID && c->count > 0 ? SLUICE_OK : st;
}

static void print_names(const classes *c)
{
    if (c->json) {
        printf("{\"schema\":1,\"status\":\"OK\",\"error\":null,\"classes\":[");
    }
    for (size_t label = 0; label < c->count; label++) {
        if (c->json) {
            printf("%s", label > 0 ? "," : "");
            cli_json_string(c->names[label]);
        } else {
            printf("%zu\t", label);
            cli_print_name(c->names[label]);
            printf("\n");
        }
    }
    if (c->json) {
        printf("]}\n");
    }
}

static void free_names(classes *c)
{
    for (size_t label = 0; label < c->count; label++) {
        sluice_string_free(c->names[label]);
    }
    free(c->names);
}

int cmd_classes(int argc, char **argv)
{
    classes c = {.json = cli_wants_json(argc, argv)};
    sluice_status st = SLUICE_E_INVALID;
    int code = parse(&c, argc, argv);

    if (code == EXIT_DONE) {
        st = cli_open_source("classes", &c.source, &c.dataset);
        st = st == SLUICE_OK ? list_names(&c) : st;
        code = st == SLUICE_OK ? EXIT_DONE : cli_refused(st);
    }
    if (code == EXIT_DONE) {
        print_names(&c);
    } else if (c.json) {
        cli_json_failure(st, cli_said());
    }
    free_names(&c);
    sluice_dataset_destroy(c.dataset);
    return code;
}
