/* SPDX-License-Identifier: Apache-2.0 */
#include "report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format_int.h"
#include "log_int.h"
#include "overrides.h"
#include "status_int.h"
#include "text_int.h"

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

/* Returns the path with each %r replaced by the rank. Without %r, if several ranks would write the
 * same file, ".RANK" is appended, before the ending .json. The caller frees it; NULL if out of
 * memory. */
static char *expand_rank(const char *path, uint32_t rank, uint32_t world)
{
    const bool appends = world > 1 && strstr(path, "%r") == NULL && strcmp(path, "-") != 0;
    const int stem = (int)strlen(path) - (is_json(path) ? 5 : 0);
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

/* Opens a file for writing. A pipe that no process reads is an error (ENXIO), not a wait. */
static FILE *open_file(const char *path)
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
static int write_text(const char *path, const char *text)
{
    const size_t length = strlen(text);
    const char *end = length > 0 && text[length - 1] == '\n' ? "" : "\n";
    const bool to_stderr = strcmp(path, "-") == 0;
    FILE *file = to_stderr ? stderr : open_file(path);
    int error = 0;

    if (file == NULL) {
        return errno;
    }
    if (fprintf(file, "%s%s", text, end) < 0 || fflush(file) != 0) {
        error = errno;
    }
    if (!to_stderr && fclose(file) != 0 && error == 0) {
        error = errno;
    }
    return error;
}

void report_file_write(const char *path, uint32_t rank, uint32_t world, const sluice_report *report)
{
    char *expanded = expand_rank(path, rank, world);
    char *text = NULL;
    sluice_status st = SLUICE_E_NO_MEMORY;
    int error = ENOMEM;

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
    sluice_string_free(text);
    sluice_string_free(expanded);
}
