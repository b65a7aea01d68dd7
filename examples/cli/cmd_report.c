/* SPDX-License-Identifier: Apache-2.0 */
/* sluice report: reports of runs as a page, and the reports of ranks as one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

#ifdef SLUICE_TOOL_JANSSON

#include "report_merge.h"
#include "report_page.h"
#include "safe_file.h"

/* The most runs that one page shows side by side. */
enum { MOST_RUNS = 16 };

typedef struct report_command {
    bool merges;     /* `report merge` */
    const char *out; /* NULL: standard output */
    const char *words[MERGE_MOST_RANKS];
    int count;
    saved_report *reports; /* (count) */
    json_t *merged;
} report_command;

/* Options and files of the command; EXIT_DONE, or another exit code after printing an error. */
static int parse(report_command *c, int argc, char **argv)
{
    cli_option options[] = {
        {"o", OPTION_TEXT, &c->out, "FILE", NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    int code;

    c->merges = argc > 1 && strcmp(argv[1], "merge") == 0;
    code = cli_parse("report", argc - c->merges, argv + c->merges, options, c->words,
                     MERGE_MOST_RANKS, &c->count);
    if (code != EXIT_DONE) {
        return code;
    }
    if (c->count <= 0) {
        cli_error(
            "report: the report is missing; give %s of `sluice bench --json >RUN.json`, or of "
            "SLUICE_REPORT=RUN.json",
            c->merges ? "the files of the ranks," : "the file");
        return EXIT_USAGE;
    }
    if (!c->merges && c->count > MOST_RUNS) {
        cli_error("report: there are %d reports, and there must be at most %d; `sluice report "
                  "merge` makes one of the reports of ranks",
                  c->count, MOST_RUNS);
        return EXIT_USAGE;
    }
    if (c->out != NULL && strcmp(c->out, "-") == 0) {
        c->out = NULL;
    }
    if (c->out == NULL && isatty(STDOUT_FILENO)) {
        cli_error("report: the output is %s, and standard output is a terminal; write it to a file "
                  "by -o %s",
                  c->merges ? "JSON" : "HTML", c->merges ? "all.json" : "run.html");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

/* stat() of an input; "-": of standard input. */
static bool find_input(const char *word, struct stat *in_out)
{
    return (strcmp(word, "-") == 0 ? fstat(STDIN_FILENO, in_out) : stat(word, in_out)) == 0;
}

/* True if the output would replace an input, or is no file; then an error is printed. */
static bool is_refused(const report_command *c)
{
    struct stat out;
    struct stat in;

    if (c->out == NULL || stat(c->out, &out) != 0) {
        return false;
    }
    if (!S_ISREG(out.st_mode) && !S_ISDIR(out.st_mode)) {
        cli_error("report: -o %s is a device or a pipe, and must be a file; without -o the output "
                  "goes to standard output",
                  c->out);
        return true;
    }
    for (int i = 0; i < c->count; i++) {
        if (find_input(c->words[i], &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino) {
            cli_error("report: -o %s is also an input, and would be replaced; give another file",
                      c->out);
            return true;
        }
    }
    return false;
}

static void write_contents(FILE *out, const report_command *c)
{
    if (c->merges) {
        (void)json_dumpf(c->merged, out, JSON_COMPACT | JSON_REAL_PRECISION(9)); /* sets ferror() */
        fputc('\n', out);
    } else {
        report_page_write(out, c->reports, (size_t)c->count);
    }
}

/* Writes the output to its file or to standard output. */
static int write_output(const report_command *c)
{
    safe_file file = {0};
    bool written;

    if (c->out == NULL) {
        write_contents(stdout, c);
        return EXIT_DONE; /* a failed write is found when the tool ends */
    }
    written = safe_file_create(&file, c->out);
    if (written) {
        write_contents(file.file, c);
        written = safe_file_close(&file) && safe_file_publish(&file);
    }
    if (!written) {
        cli_error("report: cannot write %s: %s", c->out, strerror(errno));
    }
    safe_file_discard(&file);
    return written ? EXIT_DONE : EXIT_RUNTIME;
}

static int read_reports(report_command *c)
{
    c->reports = calloc(c->count > 0 ? (size_t)c->count : 1, sizeof(*c->reports));
    if (c->reports == NULL) {
        cli_error("report: there is not enough memory");
        return EXIT_RUNTIME;
    }
    for (int i = 0; i < c->count; i++) {
        if (!report_read(c->words[i], &c->reports[i])) {
            cli_error("report: %s", sluice_last_error());
            return EXIT_RUNTIME;
        }
    }
    return EXIT_DONE;
}

/* Merges the reports, and says which ranks are missing and which one is slow. */
static int merge_reports(report_command *c)
{
    c->merged = report_merge(c->reports, (size_t)c->count);
    if (c->merged == NULL) {
        cli_error("report: %s", sluice_last_error());
        return EXIT_RUNTIME;
    }
    cli_print_wrapped(stderr, report_string(report_get(c->merged, "merge"), "text"), 4);
    return EXIT_DONE;
}

int cmd_report(int argc, char **argv)
{
    report_command c = {0};
    int code = parse(&c, argc, argv);

    if (code == EXIT_DONE && is_refused(&c)) {
        code = EXIT_USAGE;
    }
    if (code == EXIT_DONE) {
        code = read_reports(&c);
    }
    if (code == EXIT_DONE && c.merges) {
        code = merge_reports(&c);
    }
    if (code == EXIT_DONE) {
        code = write_output(&c);
    }
    for (int i = 0; i < c.count && c.reports != NULL; i++) {
        report_free(&c.reports[i]);
    }
    free(c.reports);
    json_decref(c.merged);
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
