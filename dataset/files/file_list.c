/* SPDX-License-Identifier: Apache-2.0 */
#include "file_list.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "alloc_int.h"
#include "format_int.h"
#include "path_stage.h"
#include "status_int.h"
#include "text_int.h"

/*
 * Limit on the number of files of a brace range, and of the whole list; it catches typing errors.
 */
static const uint64_t MAX_FILES = 1000000;

void file_list_free(file_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        sli_free(list->paths[i]);
    }
    sli_free(list->paths);
    for (size_t i = 0; i < list->folder_count; i++) {
        sli_free(list->folders[i]);
    }
    sli_free(list->folders);
    memset(list, 0, sizeof(*list));
}

/* Appends a copy of a path. */
static sluice_status add_path(char ***paths, size_t *count, size_t *capacity, const char *path)
{
    char **grown = sli_grow(*paths, capacity, *count + 1, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of files");
    }
    *paths = grown;
    grown[*count] = sli_strdup(path);
    if (grown[*count] == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of files");
    }
    ++*count;
    return SLUICE_OK;
}

sluice_status file_list_add(file_list *list, const char *path)
{
    if (list->count >= MAX_FILES) {
        return sli_fail(SLUICE_E_INVALID, "%s: more than %llu files", list->kind->source,
                        (unsigned long long)MAX_FILES);
    }
    return add_path(&list->paths, &list->count, &list->capacity, path);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_from(file_list *list, size_t first)
{
    if (list->count > first) {
        qsort(list->paths + first, list->count - first, sizeof(*list->paths), compare_paths);
    }
}

/* ---- existing files ------------------------------------------------------------------------- */

/* Adds the files in a folder that have the extension. */
static sluice_status add_folder(file_list *list, const char *folder)
{
    const size_t first = list->count;
    DIR *entries = opendir(folder);
    struct dirent *entry;
    char hint[400];
    sluice_status st = SLUICE_OK;

    if (entries == NULL) {
        return sli_fail_errno(SLUICE_E_IO, errno, "%s: cannot list %s", list->kind->source, folder);
    }
    do {
        errno = 0;
        entry = readdir(entries);
        if (entry == NULL && errno != 0) {
            st = sli_fail_errno(SLUICE_E_IO, errno, "%s: cannot list %s", list->kind->source,
                                folder);
        } else if (entry != NULL && entry->d_name[0] != '.' &&
                   sli_ends_in(entry->d_name, list->kind->extension)) {
            sli_text path = {0};
            char *whole = NULL;

            sli_text_add(&path, "%s/%s", folder, entry->d_name);
            st = sli_text_take(&path, &whole);
            if (st == SLUICE_OK) {
                st = file_list_add(list, whole);
            }
            sli_free(whole);
        }
    } while (st == SLUICE_OK && entry != NULL);
    closedir(entries);
    if (st == SLUICE_OK && list->count == first) {
        st = sli_fail(SLUICE_E_INVALID,
                      "no valid data in the dataset: %s: the folder %s has no *%s in it%s",
                      list->kind->source, folder, list->kind->extension,
                      path_stage_hint(folder, list->kind->source, hint, sizeof(hint)));
    }
    sort_from(list, first);
    return st == SLUICE_OK
               ? add_path(&list->folders, &list->folder_count, &list->folder_capacity, folder)
               : st;
}

/* Adds an existing path: a file, or the files of a folder. */
static sluice_status add_existing(file_list *list, const char *path, bool *exists)
{
    struct stat info;

    *exists = stat(path, &info) == 0;
    if (!*exists) {
        return SLUICE_OK;
    }
    if (S_ISDIR(info.st_mode)) {
        return add_folder(list, path);
    }
    if (!S_ISREG(info.st_mode) && !(list->kind->takes_pipes && S_ISFIFO(info.st_mode))) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "%s: %s is neither a file nor a folder%s",
                        list->kind->source, path, list->kind->takes_pipes ? " nor a fifo" : "");
    }
    return file_list_add(list, path);
}

/* ---- patterns ------------------------------------------------------------------------------- */

static sluice_status no_match(const file_list *list, const char *pattern)
{
    return sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: %s: no file matches %s",
                    list->kind->source, pattern);
}

/* Adds the files that match a wildcard pattern. */
static sluice_status add_matches(file_list *list, const char *pattern)
{
    const size_t first = list->count;
    glob_t found;
    sluice_status st = SLUICE_OK;
    int error = glob(pattern, GLOB_NOSORT, NULL, &found);

    if (error == GLOB_NOMATCH) {
        return no_match(list, pattern);
    }
    if (error != 0) {
        return error == GLOB_NOSPACE
                   ? sli_fail(SLUICE_E_NO_MEMORY, "the files that match %s", pattern)
                   : sli_fail(SLUICE_E_IO, "%s: cannot look for files that match %s",
                              list->kind->source, pattern);
    }
    for (size_t i = 0; i < found.gl_pathc && st == SLUICE_OK; i++) {
        if (!sli_ends_in(found.gl_pathv[i], ".sluice")) { /* skip the index files of shards */
            st = file_list_add(list, found.gl_pathv[i]);
        }
    }
    globfree(&found);
    sort_from(list, first);
    return st == SLUICE_OK && list->count == first ? no_match(list, pattern) : st;
}

/* A range in braces: FROM..TO, both in decimal digits. */
typedef struct brace_range {
    const char *begin; /* the opening brace */
    const char *end;   /* the character after the closing brace */
    uint64_t from;
    uint64_t to;
    int width; /* numbers are padded with zeros to this many digits */
} brace_range;

static sluice_status bad_range(const file_list *list, const char *text, const char *why)
{
    return sli_fail(SLUICE_E_INVALID, "%s: %s: %s; it must be a range such as {000000..000123}",
                    list->kind->source, text, why);
}

/*
 * Parses the decimal digits in [digits, end). False: the text is empty, has other characters, or
 * has more than 18 digits.
 */
static bool parse_digits(const char *digits, const char *end, uint64_t *number)
{
    *number = 0;
    if (digits == end || end - digits > 18) {
        return false;
    }
    for (; digits < end; digits++) {
        if (*digits < '0' || *digits > '9') {
            return false;
        }
        *number = *number * 10 + (uint64_t)(*digits - '0');
    }
    return true;
}

/* Finds the first brace range in a text; range->begin is NULL if there is no range. */
static sluice_status find_range(const file_list *list, const char *text, brace_range *range)
{
    const char *open = strchr(text, '{');
    const char *close = open != NULL ? strchr(open, '}') : NULL;
    const char *dots = open != NULL ? strstr(open, "..") : NULL;
    ptrdiff_t first;
    ptrdiff_t second;

    range->begin = NULL;
    if (open == NULL) {
        return strchr(text, '}') == NULL ? SLUICE_OK : bad_range(list, text, "a '}' has no '{'");
    }
    if (close == NULL) {
        return bad_range(list, text,
                         "a '{' has no '}' (commas separate files, also within braces)");
    }
    if (dots == NULL || dots > close || !parse_digits(open + 1, dots, &range->from) ||
        !parse_digits(dots + 2, close, &range->to)) {
        return bad_range(list, text, "the braces do not hold two numbers with '..' between them");
    }
    if (range->from > range->to) {
        return bad_range(list, text, "the range ends before it begins");
    }
    if (range->to - range->from >= MAX_FILES) {
        return bad_range(list, text, "the range is longer than a million");
    }
    first = dots - (open + 1);
    second = close - (dots + 2);
    range->width = open[1] == '0' || dots[2] == '0' ? (int)(first > second ? first : second) : 0;
    range->begin = open;
    range->end = close + 1;
    return SLUICE_OK;
}

/*
 * Adds a pattern, expanded for each number of its first brace range. depth: maximum number of
 * ranges in the pattern.
 */
static sluice_status add_pattern(file_list *list, const char *text, int depth)
{
    brace_range range;
    bool exists = false;
    sluice_status st = find_range(list, text, &range);

    if (st == SLUICE_OK && range.begin == NULL) {
        st = add_existing(list, text, &exists);
        return st != SLUICE_OK || exists      ? st
               : strpbrk(text, "*?[") != NULL ? add_matches(list, text)
                                              : file_list_add(list, text);
    }
    if (st == SLUICE_OK && depth == 0) {
        st = bad_range(list, text, "too many ranges");
    }
    for (uint64_t i = range.from; st == SLUICE_OK && i <= range.to; i++) {
        sli_text filled = {0};
        char *whole = NULL;

        sli_text_add(&filled, "%.*s%0*llu%s", (int)(range.begin - text), text, range.width,
                     (unsigned long long)i, range.end);
        st = sli_text_take(&filled, &whole);
        if (st == SLUICE_OK) {
            st = add_pattern(list, whole, depth - 1);
        }
        sli_free(whole);
    }
    return st;
}

/* Adds one entry of the comma-separated list. */
static sluice_status add_entry(file_list *list, const char *text)
{
    bool exists = false;
    sluice_status st;

    if (text[0] == '\0') {
        return sli_fail(SLUICE_E_INVALID, "%s: a name in the list of files is empty",
                        list->kind->source);
    }
    if (list->kind->takes_pipes && strncmp(text, "pipe:", 5) == 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s: %s: no commands are run: let the shell do it, as in COMMAND | "
                        "sluice bench '%s - | ...'",
                        list->kind->source, text, list->kind->source);
    }
    if (list->kind->takes_pipes && strcmp(text, "-") == 0) {
        return file_list_add(list, text);
    }
    st = add_existing(list, text, &exists);
    return st == SLUICE_OK && !exists ? add_pattern(list, text, 4) : st;
}

sluice_status file_list_make(const char *text, const file_list_kind *kind, file_list *list_out)
{
    file_list list = {.kind = kind};
    bool exists = false;
    char *copy = sli_strdup(text);
    sluice_status st;

    if (copy == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of files");
    }
    st = add_existing(&list, text, &exists); /* first as one path: a file name may contain commas */
    for (char *entry = copy; st == SLUICE_OK && !exists && entry != NULL;) {
        char *comma = strchr(entry, ',');

        if (comma != NULL) {
            *comma = '\0';
        }
        st = add_entry(&list, entry);
        entry = comma != NULL ? comma + 1 : NULL;
    }
    sli_free(copy);
    if (st != SLUICE_OK) {
        file_list_free(&list);
        return st;
    }
    *list_out = list;
    return SLUICE_OK;
}
