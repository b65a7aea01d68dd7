/* SPDX-License-Identifier: Apache-2.0 */
#include "report_reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a report may hold -------------------------------------------------------------------
 */

/* The value of a key: 's' text, 'n' number not negative, 'r' any number, 'o' object, 'l' list of
 * objects, 'x' list of anything. `most` is the limit for elements of a list. A value may be null
 * unless `required`. */
typedef struct value_rule {
    const char *in; /* key of the object or list that holds it, from the top: "stages.operations" */
    const char *key;
    char type;
    bool required;
    size_t most;
} value_rule;

static const value_rule rules[] = {
    {"", "status", 's', true, 0},
    {"", "error", 's', false, 0},
    {"", "mode", 's', false, 0},
    {"", "mode_reason", 's', false, 0},
    {"", "samples", 'n', false, 0},
    {"", "batches", 'n', false, 0},
    {"", "steps", 'n', false, 0},
    {"", "first_step", 'n', false, 0},
    {"", "seconds", 'n', false, 0},
    {"", "samples_per_s", 'n', false, 0},
    {"", "cpu_s_per_1000_samples", 'n', false, 0},
    {"", "data_wait_share", 'n', false, 0},
    {"", "bytes_read", 'n', false, 0},
    {"", "transport", 's', false, 0},
    {"", "bottleneck", 'o', false, 0},
    {"bottleneck", "stage", 's', false, 0},
    {"bottleneck", "cause", 's', false, 0},
    {"bottleneck", "share", 'n', false, 0},
    {"bottleneck", "why", 's', false, 0},
    {"bottleneck", "advice", 's', false, 0},
    {"", "advice", 'l', false, 64},
    {"advice", "change", 's', true, 0},
    {"advice", "workers", 'n', false, 0},
    {"advice", "rate_low", 'n', false, 0},
    {"advice", "rate_high", 'n', false, 0},
    {"advice", "text", 's', false, 0},
    {"", "time", 'o', false, 0},
    {"time", "wall_s", 'n', false, 0},
    {"time", "open_s", 'n', false, 0},
    {"time", "data_wait_s", 'n', false, 0},
    {"time", "step_s", 'n', false, 0},
    {"time", "device_maps_s", 'n', false, 0},
    {"time", "launch_s", 'n', false, 0},
    {"time", "hooks_s", 'n', false, 0},
    {"time", "checkpoint_s", 'n', false, 0},
    {"time", "validation_s", 'n', false, 0},
    {"time", "agree_s", 'n', false, 0},
    {"time", "other_s", 'r', false, 0},
    {"", "stages", 'l', false, 256},
    {"stages", "name", 's', true, 0},
    {"stages", "samples", 'n', false, 0},
    {"stages", "bytes", 'n', false, 0},
    {"stages", "samples_per_s", 'n', false, 0},
    {"stages", "sustained_samples_per_s", 'n', false, 0},
    {"stages", "busy_share", 'n', false, 0},
    {"stages", "wait_input_share", 'n', false, 0},
    {"stages", "wait_room_share", 'n', false, 0},
    {"stages", "p50_us", 'n', false, 0},
    {"stages", "p99_us", 'n', false, 0},
    {"stages", "max_us", 'n', false, 0},
    {"stages", "workers", 'n', false, 0},
    {"stages", "cpu_us_per_sample", 'n', false, 0},
    {"stages", "cpu_share", 'n', false, 0},
    {"stages", "runqueue_share", 'n', false, 0},
    {"stages", "blocked_share", 'n', false, 0},
    {"stages", "operations", 'l', false, 256},
    {"stages.operations", "name", 's', true, 0},
    {"stages.operations", "us_per_sample", 'n', false, 0},
    {"stages.operations", "share", 'n', false, 0},
    {"stages", "histogram", 'o', false, 0},
    {"stages.histogram", "ns_per_tick", 'n', true, 0},
    {"stages.histogram", "counts", 'x', true, REPORT_BUCKETS},
    {"", "queues", 'l', false, 16},
    {"queues", "name", 's', true, 0},
    {"queues", "capacity", 'n', false, 0},
    {"queues", "mean_depth", 'n', false, 0},
    {"queues", "empty_share", 'n', false, 0},
    {"queues", "full_share", 'n', false, 0},
    {"", "threads", 'l', false, 16384},
    {"threads", "thread", 's', true, 0},
    {"threads", "seconds", 'n', false, 0},
    {"threads", "cpu_s", 'n', false, 0},
    {"threads", "runqueue_s", 'n', false, 0},
    {"threads", "blocked_s", 'n', false, 0},
    {"", "machine", 'o', false, 0},
    {"", "memory", 'o', false, 0},
    {"", "cache", 'o', false, 0},
    {"", "images", 'o', false, 0},
    {"", "errors", 'o', false, 0},
    {"errors", "failed", 'n', false, 0},
    {"errors", "first", 'l', false, 1024},
    {"errors.first", "sample", 'n', false, 0},
    {"errors.first", "name", 's', false, 0},
    {"errors.first", "stage", 's', false, 0},
    {"errors.first", "error", 's', false, 0},
    {"", "placement", 'l', false, 16384},
    {"", "process", 'o', false, 0},
    {"process", "rank", 'n', false, 0},
    {"process", "world", 'n', false, 0},
    {"process", "host", 's', false, 0},
    {"process", "pid", 'n', false, 0},
    {"", "ranks", 'o', false, 0},
    {"ranks", "agree_seconds", 'n', false, 0},
    {"ranks", "waits", 'l', false, 64},
    {"ranks.waits", "rank", 'n', true, 0},
    {"ranks.waits", "seconds", 'n', false, 0},
    {"ranks.waits", "delay", 's', false, 0},
    {"", "merge", 'o', false, 0},
    {"", "environment", 'o', false, 0},
    {"environment", "cpu", 's', false, 0},
    {"environment", "device", 's', false, 0},
    {"environment", "versions", 'o', false, 0},
    {"environment.versions", "sluice", 's', false, 0},
};

static const char *must_be(char type)
{
    switch (type) {
    case 's':
        return "a text";
    case 'n':
        return "a number, not negative";
    case 'r':
        return "a number";
    case 'o':
        return "an object";
    default:
        return "a list";
    }
}

static bool has_type(const json_t *value, char type)
{
    switch (type) {
    case 's':
        return json_is_string(value);
    case 'n':
        return json_is_number(value) && json_number_value(value) >= 0;
    case 'r':
        return json_is_number(value);
    case 'o':
        return json_is_object(value);
    default:
        return json_is_array(value);
    }
}

/* Checks one value of an object; false after sluice_fail(). */
static bool check_value(const char *path, const json_t *object, const value_rule *rule)
{
    const json_t *value = json_object_get(object, rule->key);
    const char *dot = *rule->in != '\0' ? "." : "";

    if (value == NULL || json_is_null(value)) {
        if (rule->required) {
            sluice_fail(SLUICE_E_CORRUPT,
                        "%s: \"%s%s%s\" is missing: the file is not a report of a run", path,
                        rule->in, dot, rule->key);
        }
        return !rule->required;
    }
    if (!has_type(value, rule->type)) {
        sluice_fail(SLUICE_E_CORRUPT, "%s: \"%s%s%s\" must be %s", path, rule->in, dot, rule->key,
                    must_be(rule->type));
        return false;
    }
    if (json_is_array(value) && json_array_size(value) > rule->most) {
        sluice_fail(SLUICE_E_CORRUPT, "%s: \"%s%s%s\" has %zu elements, and must have at most %zu",
                    path, rule->in, dot, rule->key, json_array_size(value), rule->most);
        return false;
    }
    for (size_t i = 0; rule->type == 'l' && i < json_array_size(value); i++) {
        if (!json_is_object(json_array_get(value, i))) {
            sluice_fail(SLUICE_E_CORRUPT, "%s: element %zu of \"%s%s%s\" must be an object", path,
                        i, rule->in, dot, rule->key);
            return false;
        }
    }
    return true;
}

/* Checks the values of an object at `in`, and of the objects in it. Rules are at most four deep. */
static bool check_object(const char *path, const json_t *object, const char *in)
{
    char inner[100];

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const value_rule *rule = &rules[i];
        const json_t *value = json_object_get(object, rule->key);
        bool fits = true;

        if (strcmp(rule->in, in) != 0) {
            continue;
        }
        if (!check_value(path, object, rule)) {
            return false;
        }
        snprintf(inner, sizeof(inner), "%s%s%s", in, *in != '\0' ? "." : "", rule->key);
        if (rule->type == 'o' && json_is_object(value)) {
            fits = check_object(path, value, inner);
        }
        for (size_t k = 0; rule->type == 'l' && fits && k < json_array_size(value); k++) {
            fits = check_object(path, json_array_get(value, k), inner);
        }
        if (!fits) {
            return false;
        }
    }
    return true;
}

/* Checks a pair [bucket, count] of a histogram. */
static bool is_pair(const json_t *pair)
{
    const json_t *bucket = json_array_get(pair, 0);
    const json_t *count = json_array_get(pair, 1);

    return json_array_size(pair) == 2 && json_is_integer(bucket) && json_is_integer(count) &&
           json_integer_value(bucket) >= 0 && json_integer_value(bucket) < REPORT_BUCKETS &&
           json_integer_value(count) >= 0 && json_integer_value(count) <= (json_int_t)1 << 53;
}

static bool check_histograms(const char *path, const json_t *stages)
{
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *histogram = report_get(json_array_get(stages, i), "histogram");
        const json_t *counts = report_get(histogram, "counts");

        if (histogram != NULL && !(report_number(histogram, "ns_per_tick") > 0)) {
            sluice_fail(SLUICE_E_CORRUPT,
                        "%s: \"stages.histogram.ns_per_tick\" must be a number above 0", path);
            return false;
        }
        for (size_t k = 0; k < json_array_size(counts); k++) {
            if (!is_pair(json_array_get(counts, k))) {
                sluice_fail(SLUICE_E_CORRUPT,
                            "%s: element %zu of \"stages.histogram.counts\" must be a bucket "
                            "from 0 to %d and a count",
                            path, k, REPORT_BUCKETS - 1);
                return false;
            }
        }
    }
    return true;
}

/* ---- the file ---------------------------------------------------------------------------------
 */

/* Reads up to `most` bytes and a few more. *text_out is NULL, or the caller's. Returns the number
 * of bytes; errno is set if a read failed. */
static size_t read_bytes(FILE *file, size_t most, char **text_out)
{
    char *text = NULL;
    size_t length = 0;
    size_t got = 1;

    errno = 0;
    while (got > 0 && length <= most) {
        char *more = realloc(text, length + 65536 + 1);

        if (more == NULL) {
            errno = ENOMEM;
            break;
        }
        text = more;
        got = fread(text + length, 1, 65536, file);
        length += got;
    }
    *text_out = text;
    return length;
}

sluice_status report_read_text(const char *path, size_t most, char **text_out)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    char *text = NULL;
    size_t length = file != NULL ? read_bytes(file, most, &text) : 0;
    const int error = errno;
    const bool failed = file == NULL || text == NULL || ferror(file) || error == ENOMEM;
    sluice_status st = SLUICE_OK;

    if (file != NULL && !is_stdin) {
        fclose(file);
    }
    if (failed) {
        st = sluice_fail(SLUICE_E_IO, "%s: cannot read the file: %s", path, strerror(error));
    } else if (length > most) {
        st = sluice_fail(SLUICE_E_CORRUPT, "%s: the file must have at most %zu bytes", path, most);
    } else {
        while (length > 0 && memchr(" \t\r\n", text[length - 1], 4) != NULL) {
            length--;
        }
        text[length] = '\0';
        if (strlen(text) < length) {
            st = sluice_fail(SLUICE_E_CORRUPT,
                             "%s: byte %zu of the file is zero: the file is not a report", path,
                             strlen(text));
        }
    }
    if (st != SLUICE_OK) {
        free(text);
        text = NULL;
    }
    *text_out = text;
    return st;
}

/* True if the text ends before its JSON does: also inside of null or of a number, where jansson
 * says "invalid token". */
static bool is_cut(const char *text, size_t size, const json_error_t *error)
{
    const enum json_error_code code = json_error_code(error);

    return code == json_error_premature_end_of_input ||
           (code == json_error_invalid_syntax && *text == '{' && error->position >= 0 &&
            (size_t)error->position >= size);
}

/* Says why a text is not JSON. */
static void refuse_text(const char *path, const char *text, size_t size, const json_error_t *error)
{
    if (size == 0) {
        sluice_fail(SLUICE_E_CORRUPT,
                    "%s: the file is empty; write a report by `sluice bench --json` or "
                    "SLUICE_REPORT=FILE.json",
                    path);
    } else if (is_cut(text, size, error)) {
        sluice_fail(SLUICE_E_CORRUPT, "%s: the JSON is cut short after byte %zu", path, size);
    } else {
        sluice_fail(SLUICE_E_CORRUPT,
                    "%s: the file is not valid JSON: line %d, column %d: %s; a report is written "
                    "by `sluice bench --json` or SLUICE_REPORT=FILE.json",
                    path, error->line, error->column, error->text);
    }
}

bool report_check_schema(const char *path, const json_t *json)
{
    const json_t *schema = json_object_get(json, "schema");

    if (schema == NULL) { /* also if the JSON is no object */
        sluice_fail(SLUICE_E_CORRUPT,
                    "%s: \"schema\" is missing: the file is not a report of a run", path);
        return false;
    }
    if (!json_is_integer(schema)) {
        sluice_fail(SLUICE_E_CORRUPT,
                    "%s: \"schema\" must be the integer 1: the file is not a report of a run",
                    path);
        return false;
    }
    if (json_integer_value(schema) != 1) {
        sluice_fail(SLUICE_E_CORRUPT,
                    "%s: \"schema\" is %" JSON_INTEGER_FORMAT
                    ", and must be 1: use the Sluice that wrote the file",
                    path, json_integer_value(schema));
        return false;
    }
    return true;
}

/* Other commands also write "schema" and "status". A command that failed writes these only. */
static bool has_stages(const char *path, const json_t *json)
{
    if (json_is_object(json_array_get(report_get(json, "runs"), 0))) {
        sluice_fail(SLUICE_E_INVALID,
                    "%s: the file has the reports of several runs, which `sluice compare` reads; "
                    "this command reads single ones, of `sluice bench --json` without --runs",
                    path);
        return false;
    }
    if (report_get(json, "stages") == NULL &&
        (json_object_size(json) != 3 || report_string(json, "error") == NULL)) {
        sluice_fail(SLUICE_E_CORRUPT,
                    "%s: \"stages\" is missing: the file is not a report of a run", path);
        return false;
    }
    return true;
}

bool report_check(const char *path, const json_t *json)
{
    return report_check_schema(path, json) && has_stages(path, json) &&
           check_object(path, json, "") && check_histograms(path, report_get(json, "stages"));
}

json_t *report_load(const char *path, const char *text, size_t size)
{
    json_error_t error;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);

    if (json == NULL) {
        refuse_text(path, text, size, &error);
    }
    return json;
}

bool report_parse(const char *path, char *text, saved_report *report_out)
{
    saved_report report = {.path = path, .text = text};

    report.json = report_load(path, text, strlen(text));
    if (report.json == NULL || !report_check(path, report.json)) {
        report_free(&report);
        return false;
    }
    *report_out = report;
    return true;
}

bool report_read(const char *path, saved_report *report_out)
{
    char *text;

    return report_read_text(path, REPORT_MOST_BYTES, &text) == SLUICE_OK &&
           report_parse(path, text, report_out);
}

void report_free(saved_report *report)
{
    json_decref(report->json);
    free(report->text);
    memset(report, 0, sizeof(*report));
}

/* ---- values -----------------------------------------------------------------------------------
 */

json_t *report_get(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    return json_is_null(value) ? NULL : value;
}

double report_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) + 0.0 /* -0 is 0 */ : (double)NAN;
}

const char *report_string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

json_t *report_find(const json_t *array, const char *key, const char *text)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *element = json_array_get(array, i);
        const char *value = report_string(element, key);

        if (value != NULL && strcmp(value, text) == 0) {
            return element;
        }
    }
    return NULL;
}
