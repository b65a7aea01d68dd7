/* SPDX-License-Identifier: Apache-2.0 */
/* sluice help: pages of commands and stages, from the same texts as the manual. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Column in which the texts of options begin. */
enum { OPTION_INDENT = 21 };

void cli_print_page(const cli_command *command)
{
    char *stage = NULL;

    printf("usage: sluice %s\n\n", command->synopsis);
    cli_print_wrapped(stdout, command->summary, 0);
    if (command->details != NULL) {
        printf("\n");
        cli_print_wrapped(stdout, command->details, 0);
    }
    if (command->options != NULL) {
        printf("\noptions:\n");
        cli_print_wrapped(stdout, command->options, OPTION_INDENT);
    }
    if (sluice_stage_help(command->name, &stage) == SLUICE_OK) { /* pack is a stage, too */
        printf("\nthe stage of that name:\n%s", stage);
        sluice_string_free(stage);
    }
}

static void print_overview(void)
{
    printf("usage: sluice COMMAND [ARGUMENTS]\n\n"
           "Brings datasets to devices: a data channel for accelerators.\n\ncommands:\n");
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        char line[200];

        snprintf(line, sizeof(line), "  %-8s %s", command->name, command->summary);
        cli_print_wrapped(stdout, line, 11);
    }
    printf("\n`sluice help COMMAND` describes a command, `sluice help stages` the stages of\n"
           "pipelines; `sluice --version` prints the version and the options of the build.\n"
           "`--` ends the options of a command.\n"
           "With any command, --plugin FILE.so loads stages of your own; repeatable.\n");
}

/* refused: prefix of the error if no stage has that name. */
static int print_stages(const char *name, const char *refused)
{
    char *text = NULL;
    sluice_status st = sluice_stage_help(name, &text);

    if (st != SLUICE_OK) {
        cli_error("%s%s", refused, sluice_last_error());
        return st == SLUICE_E_INVALID ? EXIT_USAGE : EXIT_RUNTIME;
    }
    printf("%s", text);
    sluice_string_free(text);
    return EXIT_DONE;
}

/* Prints text in man(7) format: escapes backslashes, and dots and quotes at the beginning of a
 * line. */
static void print_roff(const char *text)
{
    bool line_start = true;

    for (; *text != '\0'; text++) {
        if (line_start && (*text == '.' || *text == '\'')) {
            printf("\\&");
        }
        if (*text == '\\' || *text == '-') {
            printf("\\%s", *text == '-' ? "-" : "e");
        } else {
            putchar(*text);
        }
        line_start = *text == '\n';
    }
}

static void print_verbatim(const char *text)
{
    printf(".PP\n.nf\n");
    print_roff(text);
    printf(".fi\n");
}

/* Prints paragraphs, separated by empty lines. */
static void print_paragraphs(const char *text)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        char paragraph[2000];

        if (length > 0) {
            snprintf(paragraph, sizeof(paragraph), "%.*s\n", (int)length, text);
            printf(".PP\n");
            print_roff(paragraph);
        }
        text += length + (text[length] == '\n');
    }
}

/* Prints the lines of options as on a help page. */
static void print_options(const char *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL) {
        return;
    }
    cli_print_wrapped(file, options, OPTION_INDENT);
    if (fclose(file) == 0) {
        print_verbatim(text);
    }
    free(text);
}

static const char description[] =
    "sluice runs, explains and packs datasets of images by the library of the same name, which "
    "reads, decodes and augments samples on pinned threads and brings batches to devices.\n"
    "\n"
    "PIPELINE is a text, `source | stage | ...`, in quotes: a stage is its name and its arguments, "
    "positional ones first, then key=value; commas make lists; quotes hold blanks; # begins a "
    "comment. ${NAME} is the value that --arg gives, or else the environment variable; "
    "${NAME:-DEFAULT} is DEFAULT where that is unset or empty. Values are never parsed as text. "
    "Errors in a file of -f begin with FILE:LINE:COLUMN.\n"
    "\n"
    "Results go to standard output; messages, plans and progress go to standard error. With --json "
    "standard output is one JSON object, also after an error. -- ends the options.\n"
    "\n"
    "--plugin FILE, in any command and repeatable, loads a plugin: a shared library with stages of "
    "your own, which pipelines may contain and help describes.\n";

static const char exit_status[] =
    "0 done; 1 a failure of files, device or memory; 2 wrong usage (unknown option, text that "
    "cannot be parsed, bad value); 130 or 143 after SIGINT or SIGTERM, once stopped cleanly. "
    "SIGUSR1 makes bench print the report so far to standard error, and go on; other commands say "
    "once that they have none, and go on. compare exits with 0 if B is not slower, 1 if it is, 2 "
    "after any error.\n";

static const char environment[] =
    "SLUICE_WORKERS, SLUICE_SLOTS, SLUICE_MEMORY, SLUICE_MODE: settings of runs, in place of the "
    "options --workers, --slots, --memory and --mode.\n"
    "\n"
    "SLUICE_CORES: auto, all or a list of CPUs such as 0-7,16. With auto the ranks of a job on one "
    "machine divide its cores; they wait SLUICE_EXCHANGE_MS (5000) for each other, once. "
    "SLUICE_JOB: any text, an id of the job, where the launcher gives its ranks none.\n"
    "\n"
    "SLUICE_REPORT: a path to which the report of a run is written; - is standard error. "
    "SLUICE_REPORT_SERIES: a path of a CSV file that gets a row a second.\n"
    "\n"
    "SLUICE_READAHEAD: off: no readahead, files are read when workers need them.\n"
    "\n"
    "SLUICE_CPU: portable, v3 or v4, the kernels to use at most.\n"
    "\n"
    "SLUICE_LOG: off, error, warn, info or debug, the level of messages (warn).\n"
    "\n"
    "SLUICE_PLUGINS: plugins to load, paths with colons between, as by --plugin.\n"
    "\n"
    "XDG_CACHE_HOME, HOME: where indexes of shards are kept that cannot be written beside them.\n";

static const char examples[] =
    "sluice synth pictures --per-class 100\n"
    "sluice explain \"image_folder pictures/train | decode | resize 48,48 | batch 64\"\n"
    "sluice bench \"image_folder pictures/train | shuffle | decode | random_resized_crop 48 | "
    "batch 64\"\n"
    "sluice bench -f train.pipe --arg DIR \"/data/my pictures\" --json\n"
    "sluice compare old.json new.json\n"
    "sluice pack pictures/train packed && sluice verify packed\n";

/* Prints the whole manual, docs/man/sluice.1. */
static int print_manual(void)
{
    char *stages = NULL;

    printf(".\\\" SPDX-License-Identifier: Apache-2.0\n"
           ".\\\" Made by `sluice help --man` from the texts of `sluice help`.\n"
           ".TH SLUICE 1 \"\" \"sluice %s\" \"User Commands\"\n"
           ".SH NAME\nsluice \\- bring datasets to devices\n"
           ".SH SYNOPSIS\n.B sluice\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n"
           ".SH DESCRIPTION\n",
           sluice_version());
    print_paragraphs(description);
    printf(".SH COMMANDS\n");
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        printf(".SS \"sluice ");
        print_roff(command->synopsis);
        printf("\"\n");
        print_roff(command->summary);
        printf("\n");
        if (command->details != NULL) {
            print_paragraphs(command->details);
        }
        if (command->options != NULL) {
            print_options(command->options);
        }
    }
    if (sluice_stage_help(NULL, &stages) != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
        return EXIT_RUNTIME;
    }
    printf(".SH STAGES\nWhat pipelines are made of: name, arguments with their defaults, what it "
           "does.\n");
    print_verbatim(stages);
    sluice_string_free(stages);
    printf(".SH EXIT STATUS\n");
    print_roff(exit_status);
    printf(".SH ENVIRONMENT\n");
    print_paragraphs(environment);
    printf(".SH EXAMPLES\n");
    print_verbatim(examples);
    return EXIT_DONE;
}

/* Adds a row of the table of names to a file, if the page of a stage has names in other libraries.
 */
static void add_names(const char *stage, const char *page, FILE *rows)
{
    static const char mark[] = "\n    In other libraries: ";
    const char *names = strstr(page, mark);

    if (names == NULL) {
        return;
    }
    names += sizeof(mark) - 1;
    fprintf(rows, "| %.*s | [`%s`](#%s) |\n", (int)strcspn(names, "\n"), names, stage, stage);
}

/* Prints the page of one stage; `name` has `length` bytes. Adds its names to the rows. */
static bool print_stage_section(const char *name, size_t length, FILE *rows)
{
    char word[64];
    char *text = NULL;

    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    if (sluice_stage_help(word, &text) != SLUICE_OK) {
        return false;
    }
    printf("\n### %s\n\n```text\n%s```\n", word, text);
    add_names(word, text, rows);
    sluice_string_free(text);
    return true;
}

/* Prints a section for each heading of the list of stages, and in it the help of each stage, whose
 * name begins a line of the list. Changes the list. */
static bool print_sections(char *stages, FILE *rows)
{
    bool is_complete = true;

    for (char *line = strtok(stages, "\n"); line != NULL && is_complete;
         line = strtok(NULL, "\n")) {
        if (strncmp(line, "== ", 3) == 0) {
            printf("\n## %.*s\n", (int)(strlen(line) - 6), line + 3);
        } else if (*line >= 'a' && *line <= 'z') {
            is_complete = print_stage_section(line, strcspn(line, " "), rows);
        }
    }
    return is_complete;
}

/* Prints docs/guide/stages.md: all stages, and the table of their names in other libraries. */
static int print_markdown(void)
{
    char *stages = NULL;
    char *names = NULL;
    size_t size = 0;
    FILE *rows = open_memstream(&names, &size);
    bool is_complete = rows != NULL && sluice_stage_help(NULL, &stages) == SLUICE_OK;

    printf(
        "# Stages\n\n"
        "What pipelines are made of, as `sluice help STAGE` prints it: name, arguments with their "
        "defaults, what it does.\n"
        "`NAME=DEFAULT` is optional; `[LOW..HIGH]` are the bounds of a number. This page is made "
        "by `sluice help --markdown`.\n");
    is_complete = is_complete && print_sections(stages, rows);
    is_complete = rows != NULL && fclose(rows) == 0 && is_complete;
    if (is_complete) {
        printf("\n## Names in other libraries\n\n"
               "Names in torchvision, DALI and MindSpore, which an error answers with the stage. "
               "What differs is in\n"
               "[Coming from other libraries](coming-from.md).\n\n"
               "| there | here |\n| --- | --- |\n%s",
               names);
    } else {
        cli_error("%s", sluice_last_error());
    }
    free(names);
    sluice_string_free(stages);
    return is_complete ? EXIT_DONE : EXIT_RUNTIME;
}

int cmd_help(int argc, char **argv)
{
    const cli_command *command;

    if (argc < 2) {
        print_overview();
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--man") == 0) {
        return print_manual();
    }
    if (strcmp(argv[1], "--markdown") == 0) {
        return print_markdown();
    }
    if (strcmp(argv[1], "stages") == 0) {
        return print_stages(argc > 2 ? argv[2] : NULL, "");
    }
    command = cli_find(argv[1]);
    if (command != NULL) {
        cli_print_page(command);
        return EXIT_DONE;
    }
    return print_stages(argv[1], "no command of that name, and "); /* or the name of a stage */
}
