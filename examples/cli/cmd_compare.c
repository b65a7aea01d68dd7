/* SPDX-License-Identifier: Apache-2.0 */
/* sluice compare: the reports of two sides, and whether the second one is slower. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "run_set.h"

/* Exit codes of this command, as of diff(1) and cmp(1). */
enum { EXIT_SLOWER = 1, EXIT_ERROR = 2 };

enum { MOST_PATH = 4096 };

/* A file of a side. */
typedef struct side_file {
    dev_t device;
    ino_t number;
    int side;
} side_file;

typedef struct comparison {
    run_set set;
    side_file *files; /* (count); those of "-" and of pipes are not kept */
    size_t count;
    size_t capacity;
    double gate;
    bool json;
    sluice_status status; /* of a failure, for JSON */
} comparison;

static int is_report_name(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return entry->d_name[0] != '.' && dot != NULL && strcmp(dot, ".json") == 0;
}

/* Remembers a file of a side. A file counts once: its runs are no evidence a second time. */
static sluice_status keep_file(comparison *c, int side, const char *path, const struct stat *info)
{
    for (size_t i = 0; i < c->count; i++) {
        const side_file *file = &c->files[i];

        if (file->side == side && file->device == info->st_dev && file->number == info->st_ino) {
            return sluice_fail(SLUICE_E_INVALID,
                               "compare: %s is given twice for side %c; give each file once", path,
                               side == 0 ? 'A' : 'B');
        }
    }
    if (c->count == c->capacity) {
        const size_t more = 2 * c->capacity + 8;
        side_file *grown = realloc(c->files, more * sizeof(*grown));

        if (grown == NULL) {
            return sluice_fail(SLUICE_E_NO_MEMORY, "compare: there is not enough memory");
        }
        c->files = grown;
        c->capacity = more;
    }
    c->files[c->count++] = (side_file){info->st_dev, info->st_ino, side};
    return SLUICE_OK;
}

static sluice_status add_file(comparison *c, int side, const char *path)
{
    struct stat info;
    sluice_status st = SLUICE_OK;

    if (strcmp(path, "-") != 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        st = keep_file(c, side, path, &info);
    }
    return st == SLUICE_OK ? run_set_add_file(&c->set, side, path) : st;
}

/* Adds a file of a folder. A pipe there is not waited for. */
static sluice_status add_entry(comparison *c, int side, const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
        return sluice_fail(SLUICE_E_INVALID,
                           "%s is a device or a pipe; files NAME.json of a folder must be reports",
                           path);
    }
    return add_file(c, side, path);
}

/* Adds all files NAME.json of a folder, in the order of their names. */
static sluice_status add_folder(comparison *c, int side, const char *folder)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_report_name, alphasort);
    sluice_status st = SLUICE_OK;

    if (count < 0) {
        return sluice_fail(SLUICE_E_IO, "cannot read folder %s: %s", folder, strerror(errno));
    }
    if (count == 0) {
        st = sluice_fail(SLUICE_E_IO,
                         "folder %s has no file NAME.json; it must have reports of "
                         "`sluice bench --json`",
                         folder);
    }
    for (int i = 0; i < count; i++) {
        char path[MOST_PATH];

        if (st == SLUICE_OK &&
            snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) >= MOST_PATH) {
            st = sluice_fail(SLUICE_E_INVALID, "a path must have at most %d bytes: %.100s...",
                             MOST_PATH - 1, path);
        }
        st = st == SLUICE_OK ? add_entry(c, side, path) : st;
        free(entries[i]);
    }
    free(entries);
    return st;
}

static sluice_status add_path(comparison *c, int side, const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) ? add_folder(c, side, path)
                                                           : add_file(c, side, path);
}

/* Adds what a word names: a file or a folder, or several with commas between. A file whose name has
 * a comma is found by the whole word. */
static sluice_status add_word(comparison *c, int side, const char *word)
{
    sluice_status st = SLUICE_OK;

    if (strchr(word, ',') == NULL || access(word, F_OK) == 0) {
        return add_path(c, side, word);
    }
    for (const char *next = word; next != NULL && st == SLUICE_OK;) {
        const size_t length = strcspn(next, ",");
        char path[MOST_PATH];

        if (length == 0 || length >= sizeof(path)) {
            return sluice_fail(SLUICE_E_INVALID,
                               "compare: a name between commas must have from 1 to %d bytes, in "
                               "'%.200s'",
                               MOST_PATH - 1, word);
        }
        memcpy(path, next, length);
        path[length] = '\0';
        st = add_path(c, side, path);
        next = next[length] == ',' ? next + length + 1 : NULL;
    }
    return st;
}

static sluice_status add_words(comparison *c, const char *const *words, int count)
{
    sluice_status st = run_set_check();

    if (count == 1) { /* a file of `sluice bench --compare` */
        return st == SLUICE_OK ? run_set_add_file(&c->set, -1, words[0]) : st;
    }
    for (int side = 0; side < count && st == SLUICE_OK; side++) {
        st = add_word(c, side, words[side]);
    }
    return st;
}

static int compare(comparison *c, const char *const *words, int count, bool has_gate)
{
    run_result *results = NULL;
    int code = EXIT_DONE;

    c->status = add_words(c, words, count);
    c->status = c->status == SLUICE_OK ? run_set_judge(&c->set, &results) : c->status;
    if (c->status == SLUICE_OK && has_gate && !results[0].is_judged) {
        c->status = sluice_fail(SLUICE_E_INVALID,
                                "compare: --gate cannot judge %zu and %zu runs: noise may explain "
                                "any difference; give 4 a side or more, by `sluice bench --runs`",
                                c->set.runs[0], c->set.runs[1]);
    }
    if (c->status != SLUICE_OK) {
        cli_error("%s", sluice_last_error());
        code = EXIT_ERROR;
    } else {
        (c->json ? run_table_compare_json : run_table_compare)(&c->set, results, c->gate);
        code = run_is_slower(&results[0], c->gate) ? EXIT_SLOWER : EXIT_DONE;
    }
    free(results);
    return code;
}

int cmd_compare(int argc, char **argv)
{
    comparison c = {.json = cli_wants_json(argc, argv), .status = SLUICE_E_INVALID};
    cli_option options[] = {
        {"gate", OPTION_REAL, &c.gate, "PERCENT", NULL, false},
        {"json", OPTION_FLAG, &c.json, NULL, NULL, false},
        {NULL, OPTION_FLAG, NULL, NULL, NULL, false},
    };
    const char *words[RUN_SIDES] = {NULL, NULL};
    int count;
    int code = cli_parse("compare", argc, argv, options, words, RUN_SIDES, &count);

    if (code == EXIT_DONE && count == 0) {
        cli_error("compare: the reports are missing; give two sides, such as `sluice compare "
                  "old.json new.json`");
        code = EXIT_ERROR;
    } else if (code == EXIT_DONE) {
        code = compare(&c, words, count, cli_given(options, "gate"));
    }
    if (c.json && code == EXIT_ERROR) {
        cli_json_failure(c.status, cli_said());
    }
    free(c.files);
    run_set_free(&c.set);
    return code;
}
