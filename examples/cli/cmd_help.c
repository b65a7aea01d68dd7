/* SPDX-License-Identifier: Apache-2.0 */
/* sluice help: pages of commands and stages, from the one text that the manual is made of. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

void cli_print_page(const cli_command *command)
{
    printf("usage: sluice %s\n\n%s\n", command->synopsis, command->summary);
    if (command->details != NULL) {
        printf("\n%s", command->details);
    }
    if (command->options != NULL) {
        printf("\noptions:\n%s", command->options);
    }
}

static void print_overview(void)
{
    printf("usage: sluice COMMAND [ARGUMENTS]\n\n"
           "Brings datasets to devices: a data channel for accelerators.\n\ncommands:\n");
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        printf("  %-8s %s\n", command->name, command->summary);
    }
    printf("\n`sluice help COMMAND` tells more of one, `sluice help stages` of what pipelines are "
           "made of.\n`sluice --version` tells what was built.\n");
}

/* refused: what to say before the error of a name that no stage has. */
static int print_stages(const char *name, const char *refused)
{
    char *text = NULL;
    sluice_status st = sluice_stage_help(name, &text);

    if (st != SLUICE_OK) {
        cli_error("%s%s", refused, sluice_last_error());
        return st == SLUICE_E_INVALID ? EXIT_WORDS : EXIT_WORLD;
    }
    printf("%s", text);
    sluice_string_free(text);
    return EXIT_DONE;
}

/* A page in the form of man(7): a backslash and a leading point or quote are escaped. */
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

/* The whole manual, docs/man/sluice.1. */
static int print_manual(void)
{
    char *stages = NULL;

    printf(".\\\" SPDX-License-Identifier: Apache-2.0\n"
           ".\\\" Made by `sluice help --man` from the texts of `sluice help`.\n"
           ".TH SLUICE 1 \"\" \"sluice %s\" \"User Commands\"\n"
           ".SH NAME\nsluice \\- bring datasets to devices\n"
           ".SH SYNOPSIS\n.B sluice\n.I COMMAND\n[\\fIARGUMENTS\\fR]\n"
           ".SH EXIT STATUS\n"
           "0 done; 1 the world was wrong (files, device, memory); 2 the words were wrong (unknown "
           "option, text that cannot be parsed, bad value); 130 or 143 after SIGINT or SIGTERM, "
           "once stopped cleanly.\n"
           ".SH COMMANDS\n",
           sluice_version());
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        printf(".SS \"sluice ");
        print_roff(command->synopsis);
        printf("\"\n");
        print_roff(command->summary);
        printf("\n");
        if (command->details != NULL) {
            print_verbatim(command->details);
        }
        if (command->options != NULL) {
            print_verbatim(command->options);
        }
    }
    if (sluice_stage_help(NULL, &stages) != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
        return EXIT_WORLD;
    }
    printf(".SH STAGES\nWhat pipelines are made of: name, arguments with their defaults, what it "
           "does.\n");
    print_verbatim(stages);
    sluice_string_free(stages);
    return EXIT_DONE;
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
    if (strcmp(argv[1], "stages") == 0) {
        return print_stages(argc > 2 ? argv[2] : NULL, "");
    }
    command = cli_find(argv[1]);
    if (command != NULL) {
        cli_print_page(command);
        return EXIT_DONE;
    }
    return print_stages(argv[1], "no command of that name, and "); /* or of a stage */
}
