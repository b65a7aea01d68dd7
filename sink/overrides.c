/* SPDX-License-Identifier: Apache-2.0 */
#include "overrides.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log_int.h"
#include "placement_int.h"
#include "status_int.h"
#include "text_int.h"

enum { MOST_SLOTS = 1024 };

/* Runs that end at once in one process write one after another, be it to one file. */
static pthread_mutex_t write_lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL when it is not set, or empty. */
static const char *value_of(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

static sluice_status refuse(const char *name, const char *value, const char *wanted)
{
    return sli_fail(SLUICE_E_INVALID,
                    "environment: %s is \"%.200s\", want %s; correct it, or unset it", name, value,
                    wanted);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Digits, and nothing else but one letter of `units`: 1024, 1024^2, ... times as much. */
static bool read_number(const char *text, const char *units, uint64_t *number_out)
{
    const size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
    const int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;
    unsigned long long number;

    if (digits == 0 || text[digits + (unit != NULL)] != '\0') {
        return false;
    }
    errno = 0;
    number = strtoull(text, NULL, 10);
    *number_out = (uint64_t)number << shift;
    return errno == 0 && *number_out >> shift == number;
}

/* A setting that is a number; 0 is the library's own choice. */
typedef struct number_override {
    const char *name;
    const char *setting; /* what the program calls it */
    const char *units;
    const char *wanted;
    uint64_t most;
} number_override;

static const number_override of_workers = {"SLUICE_WORKERS", "workers", "",
                                           "a number from 0 to 1024 (0: by cores and quota)",
                                           SLI_MAX_WORKERS};
static const number_override of_slots = {
    "SLUICE_SLOTS", "slots", "", "0 (as many as are useful and fit), or 2 to 1024", MOST_SLOTS};
static const number_override of_memory = {
    "SLUICE_MEMORY", "memory_bytes", "KMG",
    "a number of bytes, as 512M (K, M, G; 0: a quarter of what the process may use)", UINT64_MAX};

static void add_used(char *used, const char *name, const char *value)
{
    const size_t length = strlen(used);

    snprintf(used + length, OVERRIDES_USED_SIZE - length, "%s%s=%.40s", length > 0 ? " " : "", name,
             value);
}

/* *number stays where the variable is not set. */
static sluice_status override_number(const number_override *o, uint64_t *number, char *used)
{
    const char *value = value_of(o->name);
    const uint64_t before = *number;
    uint64_t read;

    if (value == NULL) {
        return SLUICE_OK;
    }
    if (!read_number(value, o->units, &read) || read > o->most ||
        (o == &of_slots && read == 1)) { /* one can never do */
        return refuse(o->name, value, o->wanted);
    }
    *number = read;
    add_used(used, o->name, value);
    sli_log(SLUICE_LOG_WARN, "environment: %s=%s in place of %s %llu%s", o->name, value, o->setting,
            (unsigned long long)before, before == 0 ? " (auto)" : "");
    return SLUICE_OK;
}

sluice_status overrides_of_channel(uint32_t *workers, uint32_t *slots, uint64_t *memory_bytes,
                                   char used_out[OVERRIDES_USED_SIZE])
{
    uint64_t numbers[] = {*workers, *slots};
    sluice_status st;

    used_out[0] = '\0';
    st = override_number(&of_workers, &numbers[0], used_out);
    if (st == SLUICE_OK) {
        st = override_number(&of_slots, &numbers[1], used_out);
    }
    if (st == SLUICE_OK) {
        st = override_number(&of_memory, memory_bytes, used_out);
    }
    *workers = (uint32_t)numbers[0];
    *slots = (uint32_t)numbers[1];
    return st;
}

sluice_status overrides_explain(sluice_status st, const char *used)
{
    char why[SLI_ERROR_SIZE];

    if (st != SLUICE_E_INVALID || used[0] == '\0') {
        return st;
    }
    snprintf(why, sizeof(why), "%s", sluice_last_error());
    return sli_fail(st, "%.800s (environment: %s)", why, used);
}

/* ---- the mode -------------------------------------------------------------------------------- */

static bool read_mode(const char *text, sluice_mode *mode_out)
{
    for (int i = SLUICE_MODE_AUTO; i <= SLUICE_MODE_LOOP; i++) {
        if (strcmp(text, sluice_mode_name((sluice_mode)i)) == 0) {
            *mode_out = (sluice_mode)i;
            return true;
        }
    }
    return false;
}

/*
 * Without dataset_sink_mode there is one mode only. The variable is then left alone, not refused: a
 * program may have runs of both kinds, and one environment.
 */
static sluice_status override_mode(sluice_train_config *config)
{
    const char *value = value_of("SLUICE_MODE");
    sluice_mode mode;

    if (value == NULL) {
        return SLUICE_OK;
    }
    if (!read_mode(value, &mode)) {
        return refuse("SLUICE_MODE", value, "one of auto, direct, data, graph, loop");
    }
    if (!config->dataset_sink_mode) {
        sli_log(SLUICE_LOG_WARN,
                "environment: SLUICE_MODE=%s is not used: dataset_sink_mode is off", value);
        return SLUICE_OK;
    }
    sli_log(SLUICE_LOG_WARN, "environment: SLUICE_MODE=%s in place of mode %s", value,
            sluice_mode_name(config->mode));
    config->mode = mode;
    return SLUICE_OK;
}

sluice_status overrides_of_run(sluice_train_config *config, char used_out[OVERRIDES_USED_SIZE])
{
    sluice_status st =
        overrides_of_channel(&config->workers, &config->slots, &config->memory_bytes, used_out);

    return st == SLUICE_OK ? override_mode(config) : st;
}

/* ---- the report ------------------------------------------------------------------------------ */

sluice_status overrides_find_report(char path_out[OVERRIDES_PATH_SIZE])
{
    const char *value = value_of("SLUICE_REPORT");

    path_out[0] = '\0';
    if (value == NULL) {
        return SLUICE_OK;
    }
    if (strlen(value) >= OVERRIDES_PATH_SIZE) {
        return refuse("SLUICE_REPORT", value, "a path of less than 4096 bytes");
    }
    snprintf(path_out, OVERRIDES_PATH_SIZE, "%s", value);
    sli_log(SLUICE_LOG_WARN, "environment: SLUICE_REPORT=%s is where the report goes", value);
    return SLUICE_OK;
}

/* The path with the rank in place of each %r; the caller's, or NULL without memory. */
static char *expand(const char *path, uint32_t rank)
{
    sli_text text = {0};
    char *expanded = NULL;
    const char *mark;

    while ((mark = strstr(path, "%r")) != NULL) {
        sli_text_add(&text, "%.*s%u", (int)(mark - path), path, rank);
        path = mark + 2;
    }
    sli_text_add(&text, "%s", path);
    return sli_text_take(&text, &expanded) == SLUICE_OK ? expanded : NULL;
}

static bool is_json(const char *path)
{
    const size_t length = strlen(path);

    return length >= 5 && strcmp(path + length - 5, ".json") == 0;
}

/* Both end with a line's end. 0, or an errno value. */
static int write_text(const char *path, const char *text)
{
    const size_t length = strlen(text);
    const char *end = length > 0 && text[length - 1] == '\n' ? "" : "\n";
    const bool to_stderr = strcmp(path, "-") == 0;
    FILE *file = to_stderr ? stderr : fopen(path, "we");
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

void overrides_write_report(const char *path, uint32_t rank, const sluice_report *report)
{
    char *expanded = expand(path, rank);
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
