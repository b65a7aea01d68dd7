/* SPDX-License-Identifier: Apache-2.0 */
/* The tool `sluice`: finds the command and runs it. On the library's public headers only. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static sluice_stop *stop_on_signal;
static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    int error = errno;

    caught = number;
    if (stop_on_signal != NULL) {
        sluice_stop_request(stop_on_signal);
    }
    errno = error;
}

void cli_catch_signals(sluice_stop *stop)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    stop_on_signal = stop;
    action.sa_handler = stop != NULL ? on_signal : SIG_DFL;
    action.sa_flags = (int)SA_RESETHAND; /* a second signal ends the program at once */
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

int cli_signal(void)
{
    return caught;
}

int cli_exit_code(sluice_status status)
{
    if (caught != 0) {
        return 128 + caught;
    }
    return status < 0 ? EXIT_WORLD : EXIT_DONE;
}

void cli_json_failure(sluice_status status, const char *error)
{
    printf("{\"schema\":1,\"status\":\"%s\",\"error\":\"", sluice_status_name(status));
    for (const unsigned char *c = (const unsigned char *)error; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            printf("\\%c", *c);
        } else if (*c < 0x20) {
            printf("\\u%04x", *c);
        } else {
            putchar(*c);
        }
    }
    printf("\"}\n");
}

const cli_command *cli_find(const char *name)
{
    for (const cli_command *command = cli_commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    const cli_command *command;

    if (argc < 2 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        char *help[] = {argv[0], NULL};

        cmd_help(1, help);
        return argc < 2 ? EXIT_WORDS : EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sluice %s (%s)\n", sluice_version(), sluice_build_options());
        return EXIT_DONE;
    }
    command = cli_find(argv[1]);
    if (command == NULL) {
        cli_error("no command '%s'; `sluice help` lists them", argv[1]);
        return EXIT_WORDS;
    }
    if (asks_for_help(argc - 1, argv + 1)) {
        cli_print_page(command);
        return EXIT_DONE;
    }
    return command->run(argc - 1, argv + 1);
}
