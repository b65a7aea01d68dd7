/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the tool's commands: options, help, exit codes, progress, signals. */
#ifndef SLUICE_CLI_H
#define SLUICE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sluice/sluice.h>

/* Exit codes for success, a runtime failure and an invalid command line. After a signal the exit
 * code is 128 + the signal's number.
 */
enum { EXIT_DONE = 0, EXIT_RUNTIME = 1, EXIT_USAGE = 2 };

/* Types of option values, each with the type of cli_option.to. */
typedef enum option_type {
    OPTION_FLAG,    /* bool, set to true */
    OPTION_TEXT,    /* const char * */
    OPTION_COUNT,   /* uint64_t, not negative */
    OPTION_MAYBE,   /* uint64_t, not negative; unchanged if the option has no value */
    OPTION_INTEGER, /* int64_t */
    OPTION_REAL,    /* double, not negative */
    OPTION_BYTES,   /* uint64_t; the text may have a suffix K, M, G or T */
    OPTION_PAIR     /* cli_args; consumes two words, a name and a value */
} option_type;

enum { CLI_MOST_ARGS = 256 };

/* The arguments of a pipeline, for sluice_dataset_parse_args(). */
typedef struct cli_args {
    const char *names[CLI_MOST_ARGS];
    const char *values[CLI_MOST_ARGS];
    size_t count;
} cli_args;

typedef struct cli_option {
    const char *name; /* without dashes; a single letter has one dash, other names have two */
    option_type type;
    void *to;
    const char *value; /* "N" in help; NULL for flags */
    const char *help;
    bool given; /* set by the parser */
} cli_option;

/*
 * Parses options and up to `most` other words; `--` ends the options. Returns EXIT_DONE, or
 * EXIT_USAGE after printing an error. The array ends with an entry without a name.
 */
int cli_parse(const char *command, int argc, char **argv, cli_option *options, const char **words,
              int most, int *word_count);

/* Parses "auto" as 0, or a number from 1 to 1024; false after printing an error. */
bool cli_workers(const char *command, const char *text, uint32_t *workers);

/* True if an option's value is in [low, high]; false after printing an error. */
bool cli_in_range(const char *command, const char *option, uint64_t value, uint64_t low,
                  uint64_t high);

/* Sets *chosen to the index of the option's value among choices, which end with NULL; false after
 * printing an error that lists the choices. */
bool cli_choose(const char *command, const char *option, const char *text,
                const char *const *choices, int *chosen);

/* A command's source of samples: a word of the command line or -f FILE, and the values of --arg. */
typedef struct cli_source {
    const char *word; /* text of a pipeline, or path of a folder; NULL if not on the command line */
    const char *file; /* path of a file with the pipeline's text; NULL without -f */
    cli_args args;
} cli_source;

/* The options of a cli_source. */
#define CLI_SOURCE_OPTIONS(source)                                                                 \
    {"f", OPTION_TEXT, &(source)->file, "FILE", NULL, false},                                      \
    {                                                                                              \
        "arg", OPTION_PAIR, &(source)->args, "NAME VALUE", NULL, false                             \
    }

/*
 * cli_parse() for a command with a source and, unless `second` is NULL, a second word. A missing
 * word is NULL.
 */
int cli_parse_source(const char *command, int argc, char **argv, cli_option *options,
                     cli_source *source, const char **second);

/* Creates the dataset of a pipeline. E_INVALID for a path of data, with a pipeline that reads it.
 */
sluice_status cli_open_pipeline(const char *command, const cli_source *source,
                                sluice_dataset **dataset_out);

/* Creates the dataset for a command that also accepts a path of data in place of a pipeline. */
sluice_status cli_open_source(const char *command, const cli_source *source,
                              sluice_dataset **dataset_out);

/*
 * Prints the library's last error. Returns EXIT_USAGE for an invalid argument, EXIT_RUNTIME for a
 * failure of the data or of the machine.
 */
int cli_refused(sluice_status status);

/* True if the library's last error is that a pass has no samples. The command line is valid in this
 * case. */
bool cli_no_data(void);

/* True if the option called `name` was on the command line. */
bool cli_given(const cli_option *options, const char *name);

/* True if this option is on the command line, before `--` and not as an operand of --arg. */
bool cli_has_option(int argc, char **argv, const char *option);

/*
 * Loads the plugins of SLUICE_PLUGINS and of the options --plugin, and removes these options from
 * the command line. Returns EXIT_DONE, or another exit code after printing an error.
 */
int cli_load_plugins(int *argc, char **argv);

/* True if --json is on the command line. Errors in the command line are then printed as JSON, too.
 */
bool cli_wants_json(int argc, char **argv);

/* A command and its help page. */
typedef struct cli_command {
    const char *name;
    const char *synopsis;
    const char *summary;
    const char *details; /* paragraphs of the help page */
    const char *options; /* one option per line, with its description */
    int (*run)(int argc, char **argv);
    bool has_report; /* SIGUSR1 makes it print the report so far; else only that it has none */
} cli_command;

/* All commands; ends with an entry without a name. */
extern const cli_command cli_commands[];

const cli_command *cli_find(const char *name);
void cli_print_page(const cli_command *command);

int cmd_bench(int argc, char **argv);
int cmd_classes(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_synth(int argc, char **argv);
int cmd_topo(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_help(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_pack(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_verify(int argc, char **argv);

/* ---- progress on a terminal ------------------------------------------------------------------ */

typedef struct cli_progress {
    bool is_terminal; /* stderr is a terminal that supports escape sequences */
    double shown;     /* time of the last drawing in seconds */
    bool is_shown;
} cli_progress;

void cli_progress_begin(cli_progress *progress);

/* Reads the monotonic clock. */
int64_t cli_now_ns(void);

/* Draws a progress bar, up to a few times per second: `done` of `all` samples are done, `here` of
 * them by this process in `seconds`. The rate is here / seconds. all is 0 if the number is unknown.
 */
void cli_progress_draw(cli_progress *progress, uint64_t done, uint64_t here, uint64_t all,
                       double seconds);

/* Erases the progress bar. */
void cli_progress_end(cli_progress *progress);

/* Prints an error on stderr: "sluice: ...". */
void cli_error(const char *format, ...) SLUICE_PRINTF(1, 2);

/* The last text printed by cli_error(); "" if it was not called. */
const char *cli_said(void);

/* Length in bytes of the UTF-8 character at s; 0: not UTF-8. */
int cli_utf8_length(const unsigned char *s);

/* True for control characters that a terminal may interpret: C0, DEL, or C1 (two bytes). */
bool cli_is_control(const unsigned char *s, int length);

/* Prints a text as a JSON string, including the quotes. */
void cli_json_string(const char *text);

/* Prints a name on stdout with control characters and bytes that are not UTF-8 escaped. */
void cli_print_name(const char *name);

/*
 * Prints lines, broken at blanks to fit 80 columns; continuation lines are indented by `indent`
 * blanks. Control characters are escaped as by cli_print_name().
 */
void cli_print_wrapped(FILE *file, const char *text, int indent);

/* Prints a message of several lines, wrapped in the same way. A line that begins with four blanks
 * is not broken. */
void cli_print_message(FILE *file, const char *text);

/* Prints {"schema":1,"status":...,"error":...} on stdout, which is the only JSON object of a
 * command that failed. */
void cli_json_failure(sluice_status status, const char *error);

/* Installs handlers: SIGINT and SIGTERM request a stop by this token, and the tool exits with 128 +
 * n once its command has returned. A second signal, half a second later or more, ends the tool at
 * once. Call with NULL before the token is destroyed.
 */
void cli_catch_signals(sluice_stop *stop);

/* Restores the default: SIGINT and SIGTERM end the process. */
void cli_leave_signals(void);

/* The number of the signal that was caught, or 0. */
int cli_signal(void);

/* Returns the exit code for a run's status: EXIT_DONE or EXIT_RUNTIME, or 128 + n after signal n.
 */
int cli_exit_code(sluice_status status);

#endif
