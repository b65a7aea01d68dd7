/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the tool share: options, help, exit codes, signals. */
#ifndef SLUICE_CLI_H
#define SLUICE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/sluice.h>

/* Exit codes. After a signal, once stopped cleanly: 128 + its number. */
enum { EXIT_DONE = 0, EXIT_WORLD = 1, EXIT_WORDS = 2 };

/* Types of option values; beside each where it goes. */
typedef enum option_type {
    OPTION_FLAG,    /* bool, set to true */
    OPTION_TEXT,    /* const char * */
    OPTION_COUNT,   /* uint64_t, not negative */
    OPTION_MAYBE,   /* uint64_t, not negative; --name alone leaves it as it is */
    OPTION_INTEGER, /* int64_t */
    OPTION_REAL,    /* double, not negative */
    OPTION_BYTES    /* uint64_t with K, M, G, T */
} option_type;

typedef struct cli_option {
    const char *name; /* without its dashes */
    option_type type;
    void *to;
    const char *value; /* "N" in help; NULL for flags */
    const char *help;
    bool given; /* set by the parser */
} cli_option;

/*
 * Reads options and at most `most` other words. EXIT_DONE, or EXIT_WORDS after saying what is
 * wrong. The array ends with an entry without a name.
 */
int cli_parse(const char *command, int argc, char **argv, cli_option *options, const char **words,
              int most, int *word_count);

/* Reads "auto" as 0, or a number from 1 to 1024; false after saying what is wrong. */
bool cli_workers(const char *command, const char *text, uint32_t *workers);

/* Is the number of an option in a range? false after saying that it is not. */
bool cli_in_range(const char *command, const char *option, uint64_t value, uint64_t low,
                  uint64_t high);

/*
 * Says the library's last error; EXIT_WORDS when that is an argument's fault, EXIT_WORLD when it is
 * the data's or the machine's.
 */
int cli_refused(sluice_status status);

/* Was the option of that name given? */
bool cli_given(const cli_option *options, const char *name);

/* Is --json among the words? To be known before they are read, as reading may fail. */
bool cli_wants_json(int argc, char **argv);

/* A command: its name, what it does, and its page of help. */
typedef struct cli_command {
    const char *name;
    const char *synopsis;
    const char *summary;
    const char *details; /* paragraphs of the page */
    const char *options; /* a line each: "--name VALUE   what it does" */
    int (*run)(int argc, char **argv);
} cli_command;

/* All commands; ends with an entry without a name. */
extern const cli_command cli_commands[];

const cli_command *cli_find(const char *name);
void cli_print_page(const cli_command *command);

int cmd_bench(int argc, char **argv);
int cmd_synth(int argc, char **argv);
int cmd_topo(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_pack(int argc, char **argv);
int cmd_verify(int argc, char **argv);

/* ---- progress on a terminal ------------------------------------------------------------------ */

typedef struct cli_progress {
    bool is_terminal; /* stderr is */
    double shown;     /* seconds; when it was drawn last */
    bool is_shown;
} cli_progress;

void cli_progress_begin(cli_progress *progress);

/* Draws how far it is, a few times a second: `here` of `done` were done in `seconds`, by this run. */
void cli_progress_draw(cli_progress *progress, uint64_t done, uint64_t here, uint64_t all,
                       double seconds);

/* Takes the line away. */
void cli_progress_end(cli_progress *progress);

/* Says an error on stderr, "sluice: ...". */
void cli_error(const char *format, ...) SLUICE_PRINTF(1, 2);

/* What cli_error() said last, "" nothing. */
const char *cli_said(void);

/* Prints a text as JSON, with its quotes. */
void cli_json_string(const char *text);

/* Prints {"schema":1,"status":...,"error":...} on stdout: the one JSON object after a failure. */
void cli_json_failure(sluice_status status, const char *error);

/*
 * From now on SIGINT and SIGTERM ask runs with this token to stop, and the tool ends with 128 + n
 * once its command has returned; a second signal, half a second later or more, ends it at once.
 * NULL: the token is no more.
 */
void cli_catch_signals(sluice_stop *stop);

/* SIGINT and SIGTERM end the process again. */
void cli_leave_signals(void);

/* The signal that was caught, 0 none. */
int cli_signal(void);

/* EXIT_DONE or EXIT_WORLD for a run's status, 128 + n after a signal. */
int cli_exit_code(sluice_status status);

#endif
