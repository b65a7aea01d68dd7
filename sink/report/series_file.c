/* SPDX-License-Identifier: Apache-2.0 */
#include "series_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <sluice/status.h>

#include "format_int.h"
#include "log_int.h"
#include "overrides.h"
#include "report_file.h"
#include "text_int.h"

static const char variable[] = "SLUICE_REPORT_SERIES";

static void warn(const char *path, int error)
{
    char why[100] = "?";

    (void)strerror_r(error, why, sizeof(why));
    sli_log(SLUICE_LOG_WARN,
            "environment: %s: %s cannot be written: %s; the run goes on without it", variable, path,
            why);
}

FILE *series_file_open(uint32_t rank, uint32_t world)
{
    const char *value = overrides_value(variable);
    char *path = value != NULL ? report_file_expand(value, rank, world) : NULL;
    FILE *file;

    if (value == NULL) {
        return NULL;
    }
    errno = ENOMEM;
    file = path != NULL ? report_file_open(path) : NULL;
    if (file != NULL && (fputs("t_s,batches,batches_per_s,data_wait_share,cores\n", file) < 0 ||
                         fflush(file) != 0)) {
        const int error = errno;

        (void)fclose(file);
        file = NULL;
        errno = error;
    }
    if (file == NULL) {
        warn(path != NULL ? path : value, errno);
    } else {
        sli_log(SLUICE_LOG_WARN, "environment: a row a second is written to %s=%s", variable, path);
    }
    sluice_string_free(path);
    return file;
}

bool series_file_add(FILE *file, const run_series *series)
{
    const run_series_change change = run_series_between(&series->before, &series->last);
    sli_text row = {0};
    char *text = NULL;
    bool written = true;

    sli_text_add(&row, "%.3f,%" PRIu64 ",%.3f,%.4f,%.3f\n", change.t_s, series->last.batches,
                 change.batches_per_s, change.data_wait_share, change.cores);
    if (sli_text_take(&row, &text) == SLUICE_OK && (fputs(text, file) < 0 || fflush(file) != 0)) {
        warn("the file", errno);
        written = false;
    }
    sluice_string_free(text);
    return written;
}
