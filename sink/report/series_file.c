/* SPDX-License-Identifier: Apache-2.0 */
#include "series_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sluice/status.h>

#include "alloc_int.h"
#include "format_int.h"
#include "log_int.h"
#include "overrides.h"
#include "report_file.h"
#include "text_int.h"
#include "write_signals.h"

static const char variable[] = "SLUICE_REPORT_SERIES";

struct series_file {
    FILE *file; /* NULL after a write has failed */
    char *path;
};

static void warn(const char *path, int error)
{
    char why[100] = "?";

    (void)strerror_r(error, why, sizeof(why));
    sli_log(SLUICE_LOG_WARN,
            "environment: %s: %s cannot be written: %s; the run goes on without it", variable, path,
            why);
}

/* Writes a row, which a pipe takes as a whole or not at all. Returns 0 or an errno value. */
static int put_row(FILE *file, const char *row)
{
    write_signals held;
    int error;

    write_signals_hold(&held);
    error = fputs(row, file) < 0 || fflush(file) != 0 ? errno : 0;
    write_signals_release(&held);
    return error;
}

/* True if the report itself goes to this path, and would replace the rows. */
static bool is_report_path(const char *path, uint32_t rank, uint32_t world)
{
    const char *value = overrides_value("SLUICE_REPORT");
    char *report = value != NULL ? report_file_expand(value, rank, world) : NULL;
    const bool is_same = report != NULL && strcmp(report, path) == 0;

    sluice_string_free(report);
    return is_same;
}

static void close_file(series_file *series)
{
    write_signals held;

    if (series->file != NULL) {
        write_signals_hold(&held);
        (void)fclose(series->file); /* each row was flushed */
        write_signals_release(&held);
    }
    series->file = NULL;
}

/* Opens the file without waiting for the reader of a pipe, now and at each row, and writes its
 * header. Returns 0 or an errno value. */
static int open_file(series_file *series)
{
    series->file = report_file_open(series->path);
    if (series->file == NULL || fcntl(fileno(series->file), F_SETFL, O_NONBLOCK) != 0) {
        return errno;
    }
    return put_row(series->file, "t_s,batches,batches_per_s,data_wait_share,cores\n");
}

/* Opens the file at series->path, and says so. False after a warning. */
static bool open_path(series_file *series, uint32_t rank, uint32_t world)
{
    int error;

    if (is_report_path(series->path, rank, world)) {
        sli_log(SLUICE_LOG_WARN,
                "environment: %s and SLUICE_REPORT are both %s; the run writes the report alone; "
                "give the rows a path of their own",
                variable, series->path);
        return false;
    }
    error = open_file(series);
    if (error != 0) {
        warn(series->path, error);
        return false;
    }
    sli_log(SLUICE_LOG_WARN, "environment: a row a second is written to %s=%s", variable,
            series->path);
    return true;
}

series_file *series_file_open(uint32_t rank, uint32_t world)
{
    const char *value = overrides_value(variable);
    series_file *series = value != NULL ? sli_calloc(1, sizeof(*series)) : NULL;

    if (value == NULL) {
        return NULL;
    }
    if (series != NULL) {
        series->path = report_file_expand(value, rank, world);
    }
    if (series == NULL || series->path == NULL) {
        warn(value, ENOMEM);
    } else if (open_path(series, rank, world)) {
        return series;
    }
    series_file_close(series);
    return NULL;
}

void series_file_add(series_file *series, const run_series *rows)
{
    const run_series_change change = run_series_between(&rows->before, &rows->last);
    sli_text row = {0};
    char *text = NULL;
    int error = ENOMEM;

    if (series == NULL || series->file == NULL || rows->last.ns <= 0) {
        return;
    }
    sli_text_add(&row, "%.3f,%" PRIu64 ",%.3f,%.4f,%.3f\n", change.t_s, rows->last.batches,
                 change.batches_per_s, change.data_wait_share, change.cores);
    if (sli_text_take(&row, &text) == SLUICE_OK) {
        error = put_row(series->file, text);
    }
    sluice_string_free(text);
    if (error != 0) {
        warn(series->path, error);
        close_file(series);
    }
}

void series_file_close(series_file *series)
{
    if (series != NULL) {
        close_file(series);
        sluice_string_free(series->path);
        sli_free(series);
    }
}
