/* SPDX-License-Identifier: Apache-2.0 */
#include "report_reader.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- what a report may hold -------------------------------------------------------------------
 */

/* The value of a key: 's' text, 'n' number not negative, 'r' any number, 'o' object, 'b' true or
 * false, 'l' list of objects, 'x' list of anything. `most` is the limit for elements of a list. A
 * value may be null unless `required`. */
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
    {"stages.histogram", "counts", 'x', true, 320},
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
    case 'b':
        return "true or false";
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
    case 'b':
        return json_is_boolean(value);
    default:
        return json_is_array(value);
    }
}

/* Checks one value of an object; false after printing an error. */
static bool check_value(const char *path, const json_t *object, const value_rule *rule)
{
    const json_t *value = json_object_get(object, rule->key);
    const char *dot = *rule->in != '\0' ? "." : "";

    if (value == NULL || json_is_null(value)) {
        if (rule->required) {
            cli_error("report: %s: \"%s%s%s\" is missing: the file is not a report of a run", path,
                      rule->in, dot, rule->key);
        }
        return !rule->required;
    }
    if (!has_type(value, rule->type)) {
        cli_error("report: %s: \"%s%s%s\" must be %s", path, rule->in, dot, rule->key,
                  must_be(rule->type));
        return false;
    }
    if (json_is_array(value) && json_array_size(value) > rule->most) {
        cli_error("report: %s: \"%s%s%s\" has %zu elements, and must have at most %zu", path,
                  rule->in, dot, rule->key, json_array_size(value), rule->most);
        return false;
    }
    for (size_t i = 0; rule->type == 'l' && i < json_array_size(value); i++) {
        if (!json_is_object(json_array_get(value, i))) {
            cli_error("report: %s: element %zu of \"%s%s%s\" must be an object", path, i, rule->in,
                      dot, rule->key);
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
           json_integer_value(bucket) >= 0 && json_integer_value(bucket) < 320 &&
           json_integer_value(count) >= 0 && json_integer_value(count) <= (json_int_t)1 << 53;
}

static bool check_histograms(const char *path, const json_t *stages)
{
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *histogram = report_get(json_array_get(stages, i), "histogram");
        const json_t *counts = report_get(histogram, "counts");

        for (size_t k = 0; k < json_array_size(counts); k++) {
            if (!is_pair(json_array_get(counts, k))) {
                cli_error("report: %s: element %zu of \"stages.histogram.counts\" must be a bucket "
                          "from 0 to 319 and a count",
                          path, k);
                return false;
            }
        }
    }
    return true;
}

/* ---- the file ---------------------------------------------------------------------------------
 */

/* Returns the text, or NULL after printing an error if a zero byte would end it early. */
static char *without_zeros(const char *path, char *text, size_t length)
{
    if (strlen(text) == length) {
        return text;
    }
    cli_error("report: %s: byte %zu of the file is zero: the file is not a report", path,
              strlen(text));
    free(text);
    return NULL;
}

/* Reads a whole file; NULL after printing an error. Also of a pipe, whose size is not known. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t length = 0;
    size_t got = 1;

    while (file != NULL && got > 0 && length <= REPORT_MOST_BYTES) {
        char *more = realloc(text, length + 65536 + 1);

        if (more == NULL) {
            errno = ENOMEM;
            break;
        }
        text = more;
        got = fread(text + length, 1, 65536, file);
        length += got;
    }
    if (file == NULL || got > 0 || ferror(file)) {
        if (file != NULL && length > REPORT_MOST_BYTES) {
            cli_error("report: %s: the file must have at most %d bytes", path, REPORT_MOST_BYTES);
        } else {
            cli_error("report: %s: cannot read the file: %s", path, strerror(errno));
        }
        free(text);
        text = NULL;
    } else {
        while (length > 0 && memchr(" \t\r\n", text[length - 1], 4) != NULL) {
            length--;
        }
        text[length] = '\0';
        text = without_zeros(path, text, length);
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

/* Says why a text is not JSON. */
static void refuse_text(const char *path, const char *text, const json_error_t *error)
{
    if (*text == '\0') {
        cli_error("report: %s: the file is empty; write a report by `sluice bench --json` or "
                  "SLUICE_REPORT=FILE.json",
                  path);
    } else if (json_error_code(error) == json_error_premature_end_of_input) {
        cli_error("report: %s: the JSON is cut short after byte %d", path, error->position);
    } else {
        cli_error("report: %s: the file is not valid JSON: line %d, column %d: %s; a report is "
                  "written by `sluice bench --json` or SLUICE_REPORT=FILE.json",
                  path, error->line, error->column, error->text);
    }
}

static bool check_schema(const char *path, const json_t *json)
{
    const json_t *schema = json_object_get(json, "schema");

    if (!json_is_object(json) || !json_is_integer(schema)) {
        cli_error("report: %s: \"schema\" is missing: the file is not a report of a run", path);
        return false;
    }
    if (json_integer_value(schema) < 1 || json_integer_value(schema) > 2) {
        cli_error("report: %s: \"schema\" is %" JSON_INTEGER_FORMAT ", and must be 1 or 2: use the "
                  "`sluice report` of the Sluice that wrote the file",
                  path, json_integer_value(schema));
        return false;
    }
    /* Other commands also write "schema" and "status". A command that failed writes these only. */
    if (report_get(json, "stages") == NULL &&
        (json_object_size(json) != 3 || report_string(json, "error") == NULL)) {
        cli_error("report: %s: \"stages\" is missing: the file is not a report of a run", path);
        return false;
    }
    return true;
}

bool report_check(const char *path, const json_t *json)
{
    return check_schema(path, json) && check_object(path, json, "") &&
           check_histograms(path, report_get(json, "stages"));
}

bool report_parse(const char *path, char *text, saved_report *report_out)
{
    saved_report report = {.path = path, .text = text};
    json_error_t error;

    report.json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (report.json == NULL) {
        refuse_text(path, text, &error);
    }
    if (report.json == NULL || !report_check(path, report.json)) {
        report_free(&report);
        return false;
    }
    *report_out = report;
    return true;
}

bool report_read(const char *path, saved_report *report_out)
{
    char *text = read_text(path);

    return text != NULL && report_parse(path, text, report_out);
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

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
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
