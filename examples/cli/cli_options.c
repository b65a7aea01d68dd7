/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static char said[1200];

void cli_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof(said), format, args);
    va_end(args);
    fprintf(stderr, "sluice: ");
    cli_print_message(stderr, said);
    fprintf(stderr, "\n");
}

const char *cli_said(void)
{
    return said;
}

bool cli_has_option(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], option) == 0) {
            return true;
        }
        i += strcmp(argv[i], "--arg") == 0 ? 2 : 0;
    }
    return false;
}

bool cli_wants_json(int argc, char **argv)
{
    return cli_has_option(argc, argv, "--json");
}

bool cli_given(const cli_option *options, const char *name)
{
    while (options->name != NULL && strcmp(options->name, name) != 0) {
        options++;
    }
    return options->given;
}

static bool read_integer(const char *text, int64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool read_bytes(const char *text, uint64_t *value)
{
    static const char units[] = "KMGT";
    char *end;
    unsigned long long number;
    const char *unit;
    int shift = 0;

    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *text == '-') {
        return false;
    }
    unit = *end != '\0' ? strchr(units, *end) : NULL;
    if (unit != NULL && *unit != '\0') {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    *value = (uint64_t)number << shift;
    return *end == '\0' && *value >> shift == number;
}

static bool read_value(const cli_option *option, const char *text)
{
    int64_t integer;
    char *end;

    switch (option->type) {
    case OPTION_TEXT:
        *(const char **)option->to = text;
        return true;
    case OPTION_COUNT:
    case OPTION_MAYBE:
        if (!read_integer(text, &integer) || integer < 0) {
            return false;
        }
        *(uint64_t *)option->to = (uint64_t)integer;
        return true;
    case OPTION_INTEGER:
        return read_integer(text, option->to);
    case OPTION_REAL:
        *(double *)option->to = strtod(text, &end);
        return end != text && *end == '\0' && isfinite(*(double *)option->to) &&
               *(double *)option->to >= 0;
    case OPTION_BYTES:
        return read_bytes(text, option->to);
    case OPTION_FLAG:
    case OPTION_PAIR:
        break;
    }
    return false;
}

static const char *must_be(option_type type)
{
    switch (type) {
    case OPTION_COUNT:
    case OPTION_MAYBE:
        return "a whole number, not negative";
    case OPTION_INTEGER:
        return "a whole number";
    case OPTION_REAL:
        return "a number, not negative";
    case OPTION_BYTES:
        return "a number of bytes, such as 512M or 2G";
    default:
        return "a text";
    }
}

bool cli_workers(const char *command, const char *text, uint32_t *workers)
{
    char *end;
    unsigned long value;

    *workers = 0;
    if (strcmp(text, "auto") == 0) {
        return true;
    }
    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || value < 1 || value > 1024) {
        cli_error("%s: --workers %s must be auto, or a number from 1 to 1024", command, text);
        return false;
    }
    *workers = (uint32_t)value;
    return true;
}

bool cli_in_range(const char *command, const char *option, uint64_t value, uint64_t low,
                  uint64_t high)
{
    if (value < low || value > high) {
        cli_error("%s: --%s %" PRIu64 " must be from %" PRIu64 " to %" PRIu64, command, option,
                  value, low, high);
        return false;
    }
    return true;
}

bool cli_choose(const char *command, const char *option, const char *text,
                const char *const *choices, int *chosen)
{
    char all[100] = "";

    for (*chosen = 0; choices[*chosen] != NULL; (*chosen)++) {
        const size_t used = strlen(all);

        if (strcmp(text, choices[*chosen]) == 0) {
            return true;
        }
        snprintf(all + used, sizeof(all) - used, " %s", choices[*chosen]);
    }
    cli_error("%s: --%s %s must be one of%s", command, option, text, all);
    return false;
}

bool cli_no_data(void)
{
    static const char no_data[] = "no valid data in the dataset";

    return strncmp(sluice_last_error(), no_data, strlen(no_data)) == 0;
}

int cli_refused(sluice_status status)
{
    cli_error("%s", sluice_last_error());
    return status == SLUICE_E_INVALID && !cli_no_data() ? EXIT_USAGE : EXIT_RUNTIME;
}

/* Finds the option that a word --NAME or --NAME=VALUE names, and the length of NAME. Returns NULL
 * if there is no such option.
 */
static cli_option *find_option(const char *word, cli_option *options, size_t *length)
{
    const size_t dashes = strncmp(word, "--", 2) == 0 ? 2 : 1;
    cli_option *option = options;

    *length = strcspn(word + dashes, "=");
    while (option->name != NULL &&
           (strlen(option->name) != *length || (*length == 1) != (dashes == 1) ||
            strncmp(option->name, word + dashes, *length) != 0)) {
        option++;
    }
    *length += dashes;
    return option->name != NULL ? option : NULL;
}

/* Adds --arg NAME VALUE, at argv[*i]. */
static int add_pair(const char *command, int argc, char **argv, int *i, cli_args *args)
{
    if (*i + 2 >= argc || strchr(argv[*i], '=') != NULL) {
        cli_error("%s: --arg must have two words, NAME VALUE", command);
        return EXIT_USAGE;
    }
    if (args->count == CLI_MOST_ARGS) {
        cli_error("%s: there must be at most %d --arg", command, CLI_MOST_ARGS);
        return EXIT_USAGE;
    }
    args->names[args->count] = argv[++*i];
    args->values[args->count++] = argv[++*i];
    return EXIT_DONE;
}

/* Parses the option at argv[*i]; *i becomes the index of its last word. */
static int parse_option(const char *command, int argc, char **argv, int *i, cli_option *options)
{
    const char *word = argv[*i];
    size_t length;
    cli_option *option = find_option(word, options, &length);
    const char *value;

    if (option == NULL) {
        cli_error("%s: unknown option %s; `sluice help %s` lists them", command, word, command);
        return EXIT_USAGE;
    }
    option->given = true;
    if (option->type == OPTION_PAIR) {
        return add_pair(command, argc, argv, i, option->to);
    }
    if (option->type == OPTION_MAYBE && word[length] != '=') {
        return EXIT_DONE;
    }
    if (option->type == OPTION_FLAG) {
        if (word[length] == '=') {
            cli_error("%s: --%s takes no value", command, option->name);
            return EXIT_USAGE;
        }
        *(bool *)option->to = true;
        return EXIT_DONE;
    }
    if (word[length] != '=' && *i + 1 >= argc) {
        cli_error("%s: %s needs a value", command, word);
        return EXIT_USAGE;
    }
    value = word[length] == '=' ? word + length + 1 : argv[++*i];
    if (!read_value(option, value)) {
        cli_error("%s: %.*s %s must be %s", command, (int)length, word, value,
                  must_be(option->type));
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* A word with a single dash is an option only if the command has an option of that letter. */
static bool is_option(const char *word, cli_option *options)
{
    size_t length;

    return strncmp(word, "--", 2) == 0 ||
           (word[0] == '-' && find_option(word, options, &length) != NULL);
}

int cli_parse(const char *command, int argc, char **argv, cli_option *options, const char **words,
              int most, int *word_count)
{
    bool ended = false;

    *word_count = 0;
    for (int i = 1; i < argc; i++) {
        int code = EXIT_DONE;

        if (!ended && strcmp(argv[i], "--") == 0) {
            ended = true;
        } else if (!ended && is_option(argv[i], options)) {
            code = parse_option(command, argc, argv, &i, options);
        } else if (*word_count == most) {
            cli_error(
                "%s: one word too many: '%s'; put a pipeline, or a path with blanks, in quotes",
                command, argv[i]);
            code = EXIT_USAGE;
        } else {
            words[(*word_count)++] = argv[i];
        }
        if (code != EXIT_DONE) {
            return code;
        }
    }
    return EXIT_DONE;
}
