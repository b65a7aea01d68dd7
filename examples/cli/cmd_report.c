/* SPDX-License-Identifier: Apache-2.0 */
/* sluice report: reports of runs as a page, and the reports of ranks as one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#ifdef SLUICE_TOOL_JSON

#include "report_page.h"
#include "safe_file.h"

/* The most runs that one page shows side by side. */
enum { MOST_RUNS = 16 };

typedef struct report_command {
    const char *out; /* NULL: standard output */
    const char *words[MOST_RUNS];
    int count;
    saved_report reports[MOST_RUNS];
} report_command;

/* Options and files of the command; EXIT_DONE, or another exit code after printing an error. */
static int parse(report_command *c, int argc, char **argv)
{
    cli_option options[] = {
        {"o", OPTION_TEXT, &c->out, "FILE", NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int code = cli_parse("report", argc, argv, options, c->words, MOST_RUNS, &c->count);

    if (code != EXIT_DONE) {
        return code;
    }
    if (c->count == 0) {
        cli_error(
            "report: the report is missing; give the file of `sluice bench --json >RUN.json`, "
            "or of SLUICE_REPORT=RUN.json");
        return EXIT_USAGE;
    }
    if (c->out == NULL && isatty(STDOUT_FILENO)) {
        cli_error("report: the page is HTML, and standard output is a terminal; write it to a file "
                  "by -o run.html");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* True if the output would replace an input; then an error is printed. */
static bool is_input(const report_command *c)
{
    struct stat out;
    struct stat in;

    if (c->out == NULL || stat(c->out, &out) != 0) {
        return false;
    }
    for (int i = 0; i < c->count; i++) {
        if (stat(c->words[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
            cli_error("report: -o %s is also an input, and would be replaced; give another file",
                      c->out);
            return true;
        }
    }
    return false;
}

static void write_page(FILE *out, const report_command *c)
{
    report_page_write(out, c->reports, (size_t)c->count);
}

/* Writes the output to its file or to standard output. */
static int write_output(const report_command *c, void (*write)(FILE *, const report_command *))
{
    safe_file file = {0};
    bool written;

    if (c->out == NULL) {
        write(stdout, c);
        return EXIT_DONE; /* a failed write is found when the tool ends */
    }
    written = safe_file_create(&file, c->out);
    if (written) {
        write(file.file, c);
        written = safe_file_close(&file) && safe_file_publish(&file);
    }
    if (!written) {
        cli_error("report: cannot write %s: %s", c->out, strerror(errno));
    }
    safe_file_discard(&file);
    return written ? EXIT_DONE : EXIT_RUNTIME;
}

int cmd_report(int argc, char **argv)
{
    report_command c = {0};
    int code = parse(&c, argc, argv);

    if (code == EXIT_DONE && is_input(&c)) {
        code = EXIT_USAGE;
    }
    for (int i = 0; i < c.count && code == EXIT_DONE; i++) {
        code = report_read(c.words[i], &c.reports[i]) ? EXIT_DONE : EXIT_RUNTIME;
    }
    if (code == EXIT_DONE) {
        code = write_output(&c, write_page);
    }
    for (int i = 0; i < c.count; i++) {
        report_free(&c.reports[i]);
    }
    return code;
}

#else

int cmd_report(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    cli_error("report: this tool is built without jansson; install libjansson-dev and build again");
    return EXIT_USAGE;
}

#endif
