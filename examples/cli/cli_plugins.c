/* SPDX-License-Identifier: Apache-2.0 */
/* The option --plugin of all commands: loads plugins and removes the option from the command line.
 */
#include <string.h>

#include "cli.h"

static const char option[] = "--plugin";

static int refuse(int argc, char **argv, sluice_status status, const char *text)
{
    cli_error("%s", text);
    if (cli_wants_json(argc, argv)) {
        cli_json_failure(status, cli_said());
    }
    return status == SLUICE_E_INVALID ? EXIT_USAGE : EXIT_RUNTIME;
}

/*
 * Returns the value of the option at argv[*i], and sets *i to the index of its last word. NULL: the
 * word is not the option. "": the option has no value.
 */
static const char *plugin_at(int argc, char **argv, int *i)
{
    const size_t length = strlen(option);
    const char *word = argv[*i];

    if (strncmp(word, option, length) != 0 || (word[length] != '\0' && word[length] != '=')) {
        return NULL;
    }
    if (word[length] == '=') {
        return word + length + 1;
    }
    return *i + 1 < argc ? argv[++*i] : "";
}

int cli_load_plugins(int *argc, char **argv)
{
    sluice_status st = sluice_plugin_load_listed();
    bool ended = false;
    int kept = 1;

    if (st != SLUICE_OK) {
        return refuse(*argc, argv, st, sluice_last_error());
    }
    for (int i = 1; i < *argc; i++) {
        const int first = i;
        const char *path = ended ? NULL : plugin_at(*argc, argv, &i);

        ended = ended || strcmp(argv[first], "--") == 0;
        if (path == NULL) {
            argv[kept++] = argv[i];
            for (int k = 0; !ended && k < 2 && strcmp(argv[first], "--arg") == 0 && i + 1 < *argc;
                 k++) {
                argv[kept++] = argv[++i]; /* the name and the value of an argument */
            }
            continue;
        }
        if (path[0] == '\0') {
            return refuse(*argc, argv, SLUICE_E_INVALID, "--plugin needs a value");
        }
        st = sluice_plugin_load(path);
        if (st != SLUICE_OK) {
            return refuse(*argc, argv, st, sluice_last_error());
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    return EXIT_DONE;
}
