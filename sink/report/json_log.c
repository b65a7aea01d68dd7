/* SPDX-License-Identifier: Apache-2.0 */
/* A ready-made callback that writes a line of JSON for each step and each validation, on rank 0. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sluice/train.h>

#include "alloc_int.h"
#include "callback.h"
#include "status_int.h"
#include "text_int.h"

enum { PATH_SIZE = 4096 };

typedef struct json_log {
    char path[PATH_SIZE];
    FILE *file; /* open during a run; NULL on ranks other than 0, which may share the folder */
    uint64_t validated; /* step of the last validation in the file; UINT64_MAX: none */
} json_log;

static sluice_status fail_io(const json_log *log, const char *what)
{
    return sli_fail_errno(SLUICE_E_IO, errno, "log: cannot %s %s", what, log->path);
}

/* True if a run that begins at `step` keeps this line. Lines in another format are always kept. */
static bool keeps(json_log *log, const char *line, uint64_t step)
{
    uint64_t number;

    if (sscanf(line, "{\"step\":%" SCNu64 ",", &number) == 1) {
        return number < step;
    }
    if (sscanf(line, "{\"validated\":%" SCNu64 ",", &number) != 1) {
        return true;
    }
    log->validated = number <= step ? number : log->validated;
    return number <= step;
}

/* Truncates the file before the first line that a run beginning at `step` will write again, or
 * before an incomplete last line left by a killed process. */
static sluice_status cut(json_log *log, uint64_t step)
{
    char *line = NULL;
    size_t capacity = 0;
    off_t end = 0;
    ssize_t length;

    while (step > 0 && (length = getline(&line, &capacity, log->file)) > 0 &&
           line[length - 1] == '\n' && keeps(log, line, step)) {
        end += length;
    }
    free(line);
    if (ferror(log->file) || ftruncate(fileno(log->file), end) != 0 ||
        fseeko(log->file, end, SEEK_SET) != 0) {
        return fail_io(log, "cut");
    }
    return SLUICE_OK;
}

static sluice_status log_begin(sluice_hook *hook, void *user)
{
    json_log *log = user;
    struct stat info;

    if (hook->rank > 0) {
        return SLUICE_OK;
    }
    log->validated = UINT64_MAX;
    log->file = fopen(log->path, "a+e"); /* creates the file if it is missing */
    if (log->file != NULL && (fstat(fileno(log->file), &info) != 0 || !S_ISREG(info.st_mode))) {
        fclose(log->file);
        log->file = NULL;
        return sli_fail(
            SLUICE_E_IO,
            "log: %s must be a regular file, not a pipe or a folder, since a resumed run "
            "removes the lines after its checkpoint",
            log->path);
    }
    if (log->file != NULL) {
        fclose(log->file);
        log->file = fopen(log->path, "r+e");
    }
    return log->file != NULL ? cut(log, hook->step) : fail_io(log, "open");
}

static void add_values(sli_text *text, const char *name, const char *const *names, uint32_t count,
                       const float *floats, const double *doubles)
{
    sli_text_add(text, ",\"%s\":{", name);
    for (uint32_t i = 0; i < count; i++) {
        sli_text_add(text, i > 0 ? "," : "");
        sli_text_add_json(text, names[i]);
        sli_text_add(text, ":");
        sli_text_add_number(text, floats != NULL ? (double)floats[i] : doubles[i]);
    }
    sli_text_add(text, "}}\n");
}

/* Writes the text to the file and frees it. */
static sluice_status write_out(json_log *log, sli_text *text)
{
    char *lines;
    sluice_status st = sli_text_take(text, &lines);

    if (st != SLUICE_OK) {
        return st;
    }
    if (fputs(lines, log->file) < 0 || fflush(log->file) != 0) {
        st = fail_io(log, "write");
    }
    sluice_string_free(lines);
    return st;
}

static sluice_status log_records(sluice_hook *hook, void *user)
{
    sli_text text = {0};

    if (hook->rank > 0) {
        return SLUICE_OK;
    }
    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *r = sluice_hook_record(hook, i);

        sli_text_add(&text,
                     "{\"step\":%" PRIu64 ",\"epoch\":%" PRIu64 ",\"pass\":%" PRIu64
                     ",\"samples\":%" PRIu32,
                     r->step, r->epoch, r->pass, r->valid_rows);
        add_values(&text, "outputs", hook->output_names, hook->output_count, r->outputs, NULL);
    }
    return write_out(user, &text);
}

static sluice_status log_validation(sluice_hook *hook, void *user)
{
    json_log *log = user;
    sli_text text = {0};

    if (hook->rank > 0 || log->validated == hook->step) { /* a resumed run may validate again */
        return SLUICE_OK;
    }
    log->validated = hook->step;
    sli_text_add(&text, "{\"validated\":%" PRIu64 ",\"samples\":%" PRIu64, hook->step,
                 hook->result_samples);
    add_values(&text, "results", hook->result_names, hook->result_count, NULL, hook->results);
    return write_out(log, &text);
}

static sluice_status log_end(sluice_hook *hook, void *user)
{
    json_log *log = user;
    sluice_status st = SLUICE_OK;

    (void)hook;
    if (log->file != NULL && fclose(log->file) != 0) {
        st = fail_io(log, "write");
    }
    log->file = NULL;
    return st;
}

sluice_status sluice_json_log(const char *path, sluice_callback **callback_out)
{
    const sluice_callback hooks = {.train_begin = log_begin,
                                   .records = log_records,
                                   .validation = log_validation,
                                   .train_end = log_end};
    json_log *log;

    if (path == NULL || callback_out == NULL || strlen(path) >= PATH_SIZE) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_json_log: path or callback_out is NULL, or the path is too long");
    }
    log = sli_calloc(1, sizeof(*log));
    if (log == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "sluice_json_log");
    }
    snprintf(log->path, sizeof(log->path), "%s", path);
    return callback_create(&hooks, log, "sluice_json_log", callback_out);
}
