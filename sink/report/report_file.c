/* SPDX-License-Identifier: Apache-2.0 */
#include "report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format_int.h"
#include "log_int.h"
#include "overrides.h"
#include "status_int.h"
#include "text_int.h"
#include "write_signals.h"

/* Serializes the writes of runs that end at the same time in one process, since they may share a
 * file.
 */
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

sluice_status report_file_find(char path_out[REPORT_PATH_SIZE])
{
    const char *value = overrides_value("SLUICE_REPORT");

    path_out[0] = '\0';
    if (value == NULL) {
        return SLUICE_OK;
    }
    if (strlen(value) >= REPORT_PATH_SIZE) {
        return overrides_refuse("SLUICE_REPORT", value, "a path of less than 4096 bytes");
    }
    snprintf(path_out, REPORT_PATH_SIZE, "%s", value);
    sli_log(SLUICE_LOG_WARN, "environment: the report is written to SLUICE_REPORT=%s", value);
    return SLUICE_OK;
}

static bool is_json(const char *path)
{
    return sli_ends_in(path, ".json");
}

char *report_file_expand(const char *path, uint32_t rank, uint32_t world)
{
    const bool appends = world > 1 && strstr(path, "%r") == NULL && strcmp(path, "-") != 0;
    const int ending = is_json(path) ? 5 : sli_ends_in(path, ".csv") ? 4 : 0;
    const int stem = (int)strlen(path) - ending;
    sli_text text = {0};
    char *expanded = NULL;
    const char *mark;

    if (appends) {
        sli_text_add(&text, "%.*s.%u", stem, path, rank);
        path += stem;
    }
    while ((mark = strstr(path, "%r")) != NULL) {
        sli_text_add(&text, "%.*s%u", (int)(mark - path), path, rank);
        path = mark + 2;
    }
    sli_text_add(&text, "%s", path);
    return sli_text_take(&text, &expanded) == SLUICE_OK ? expanded : NULL;
}

FILE *report_file_open(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
    FILE *file = fd >= 0 && fcntl(fd, F_SETFL, 0) == 0 ? fdopen(fd, "w") : NULL;
    const int error = errno;

    if (file == NULL && fd >= 0) {
        close(fd);
        errno = error;
    }
    return file;
}

/* Writes the text, terminated by a newline. Returns 0 or an errno value. */
static int print_text(FILE *file, const char *text)
{
    const size_t length = strlen(text);
    const char *end = length > 0 && text[length - 1] == '\n' ? "" : "\n";

    return fprintf(file, "%s%s", text, end) < 0 || fflush(file) != 0 ? errno : 0;
}

/* print_text() into a new file, which is then closed. file NULL: could not be opened. */
static int write_file(FILE *file, const char *text)
{
    int error = file != NULL ? print_text(file, text) : errno;

    if (file != NULL && fclose(file) != 0 && error == 0) {
        error = errno;
    }
    return error;
}

/* True if the path is a regular file, or nothing yet: such a file can be replaced. Pipes, devices
 * and links are written as they are. */
static bool is_replaceable(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 ? S_ISREG(info.st_mode) : errno == ENOENT;
}

/* Why a regular file at `path` could not be made or replaced, an errno value; 0: it can. */
static int refusal_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char folder[REPORT_PATH_SIZE + 16] = ".";
    struct stat info;

    if (lstat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) {
            return EISDIR;
        }
        return access(path, W_OK) == 0 ? 0 : errno;
    }
    if (errno != ENOENT) {
        return errno;
    }
    if (slash != NULL) {
        snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path);
    }
    return access(folder, W_OK | X_OK) == 0 ? 0 : errno;
}

void report_file_check(const char *path, uint32_t rank, uint32_t world)
{
    char *expanded = strcmp(path, "-") != 0 ? report_file_expand(path, rank, world) : NULL;
    const int error = expanded != NULL ? refusal_of(expanded) : 0;

    if (error != 0) {
        char why[100] = "?";

        (void)strerror_r(error, why, sizeof(why));
        sli_log(SLUICE_LOG_WARN,
                "environment: SLUICE_REPORT: %s cannot be written: %s; the run goes on, and will "
                "have no report file",
                expanded, why);
    }
    sluice_string_free(expanded);
}

bool report_file_is_renewable(const char *path, uint32_t rank, uint32_t world)
{
    char *expanded = strcmp(path, "-") != 0 ? report_file_expand(path, rank, world) : NULL;
    const bool renewable = expanded != NULL && is_replaceable(expanded);

    sluice_string_free(expanded);
    return renewable;
}

/*
 * Opens a file beside `path` that has no other user; its permissions are those of a file at `path`.
 * NULL: the folder does not allow it. name_out: its path, if it was opened.
 */
static FILE *open_beside(const char *path, char name_out[REPORT_PATH_SIZE + 64])
{
    struct stat info;
    FILE *file;
    int fd;

    snprintf(name_out, REPORT_PATH_SIZE + 64, "%s.%lld.tmp", path, (long long)getpid());
    (void)unlink(name_out); /* left by a process that was killed */
    fd = open(name_out, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0 && stat(path, &info) == 0) {
        (void)fchmod(fd, info.st_mode & 0777);
    }
    file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL && fd >= 0) {
        close(fd);
        (void)unlink(name_out);
    }
    return file;
}

/*
 * Writes the text to stderr ("-") or to a file. A regular file is replaced when the new one is
 * complete, so a reader, or who looks at it after this process was killed, finds a whole report.
 * Returns 0 or an errno value.
 */
static int write_text(const char *path, const char *text)
{
    char beside[REPORT_PATH_SIZE + 64];
    FILE *file = NULL;
    int error;

    if (strcmp(path, "-") == 0) {
        return print_text(stderr, text);
    }
    if (is_replaceable(path) && (access(path, F_OK) != 0 || access(path, W_OK) == 0)) {
        file = open_beside(path, beside);
    }
    if (file == NULL) {
        return write_file(report_file_open(path), text);
    }
    error = write_file(file, text);
    if (error == 0 && rename(beside, path) != 0) {
        error = errno;
    }
    if (error != 0) {
        (void)unlink(beside);
    }
    return error;
}

void report_file_write(const char *path, uint32_t rank, uint32_t world, const sluice_report *report)
{
    char *expanded = report_file_expand(path, rank, world);
    char *text = NULL;
    write_signals held;
    sluice_status st = SLUICE_E_NO_MEMORY;
    int error = ENOMEM;

    write_signals_hold(&held); /* also for the warning: it may go to the same pipe */
    if (expanded != NULL && report != NULL) {
        st = is_json(expanded) ? sluice_report_json(report, &text)
                               : sluice_report_text(report, &text);
    }
    if (st == SLUICE_OK) {
        pthread_mutex_lock(&write_lock);
        error = write_text(expanded, text);
        pthread_mutex_unlock(&write_lock);
    }
    if (error != 0) {
        char why[100] = "?";

        (void)strerror_r(error, why, sizeof(why));
        sli_log(SLUICE_LOG_WARN, "environment: SLUICE_REPORT: cannot write %s: %s",
                expanded != NULL ? expanded : path, why);
    }
    write_signals_release(&held);
    sluice_string_free(text);
    sluice_string_free(expanded);
}
