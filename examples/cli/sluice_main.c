/* SPDX-License-Identifier: Apache-2.0 */
/* The tool `sluice`: finds the command and runs it. Uses only the library's public headers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

/* Lock-free, since the signal handler uses them; atomic, since any thread may receive the signal.
 */
static sluice_stop *_Atomic stop_on_signal;
static _Atomic int caught;
static _Atomic int64_t caught_ns;

/* A job manager may signal both the process and its group. So a second signal within this time
 * counts as a repetition of the first. */
static const int64_t AGAIN_NS = 500000000;

int64_t cli_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void on_signal(int number)
{
    sluice_stop *stop = stop_on_signal;

    if (caught == 0) {
        caught_ns = cli_now_ns();
        caught = number;
        if (stop != NULL) {
            sluice_stop_request(stop);
        }
    } else if (cli_now_ns() - caught_ns >= AGAIN_NS) {
        signal(number, SIG_DFL);
        raise(number); /* delivered when the handler returns */
    }
}

void cli_catch_signals(sluice_stop *stop)
{
    struct sigaction action;

    stop_on_signal = stop;
    if (stop == NULL) {
        return;
    }
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* What SIGUSR1 prints if the command has no report; empty: it has one. */
static char no_report[128];

/* Asks the runs for their reports so far, or says once that there are none. */
static void on_report_signal(int number)
{
    static atomic_flag is_said = ATOMIC_FLAG_INIT;
    const int error = errno;

    (void)number;
    if (no_report[0] == '\0') {
        sluice_report_request();
    } else if (!atomic_flag_test_and_set(&is_said)) {
        (void)!write(STDERR_FILENO, no_report, strlen(no_report));
    }
    errno = error;
}

static void catch_report_signal(const cli_command *command)
{
    struct sigaction action;

    if (!command->has_report) {
        snprintf(no_report, sizeof(no_report),
                 "sluice: SIGUSR1: %s has no report to print, and goes on\n", command->name);
    }
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_report_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

void cli_leave_signals(void)
{
    stop_on_signal = NULL;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
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
    return status < 0 ? EXIT_RUNTIME : EXIT_DONE;
}

void cli_json_failure(sluice_status status, const char *error)
{
    printf("{\"schema\":1,\"status\":\"%s\",\"error\":", sluice_status_name(status));
    cli_json_string(error);
    printf("}\n");
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
    return cli_has_option(argc, argv, "-h") || cli_has_option(argc, argv, "--help");
}

/* A file opened later must not become standard output by taking its number. */
static void fill_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            /* Opened with the wrong access mode, so that using the descriptor is still an error. */
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
        }
    }
}

/* Closes stdout and returns the exit code, which reports a failed write. */
static int finish(int code)
{
    const bool failed = ferror(stdout) != 0;

    errno = 0;
    if (fclose(stdout) != 0 || failed) {
        cli_error("cannot write to standard output%s%s", errno != 0 ? ": " : "",
                  errno != 0 ? strerror(errno) : "");
        code = code == EXIT_DONE ? EXIT_RUNTIME : code;
    }
    return caught != 0 ? 128 + caught : code;
}

static int run(int argc, char **argv)
{
    const cli_command *command;
    const int loaded = cli_load_plugins(&argc, argv);

    if (loaded != EXIT_DONE) {
        return loaded;
    }
    if (argc < 2) {
        cli_error("the command is missing; `sluice help` lists them");
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        return cmd_help(1, argv);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("sluice %s (%s)\n", sluice_version(), sluice_build_options());
        return EXIT_DONE;
    }
    command = cli_find(argv[1]);
    if (command == NULL) {
        cli_error("no command '%s'; `sluice help` lists them", argv[1]);
        if (cli_wants_json(argc, argv)) {
            cli_json_failure(SLUICE_E_INVALID, cli_said());
        }
        return EXIT_USAGE;
    }
    if (asks_for_help(argc - 1, argv + 1)) {
        cli_print_page(command);
        return EXIT_DONE;
    }
    catch_report_signal(command);
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    fill_standard_files();
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit becomes an error that is reported,
                                 not a signal that ends the process */
    return finish(run(argc, argv));
}
