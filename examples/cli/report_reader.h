/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a report of a run, the JSON of sluice_report_json(), of which any byte may be wrong. */
#ifndef SLUICE_REPORT_READER_H
#define SLUICE_REPORT_READER_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* The most bytes of a file. */
enum { REPORT_MOST_BYTES = 16 << 20 };

typedef struct saved_report {
    const char *path; /* of the command line; not owned */
    char *text;       /* as it is in the file, without white space at the end */
    json_t *json;     /* an object; keys that Sluice writes have the type that it writes, or null */
} saved_report;

/*
 * Reads and checks a file. Returns false after printing an error that names it: it cannot be read,
 * is cut short, is no report, has another schema, a value of another type or too many elements.
 */
bool report_read(const char *path, saved_report *report_out);

/* The same of a text, which the report owns, or which is freed. */
bool report_parse(const char *path, char *text, saved_report *report_out);

/* Checks the values of a report. Returns false after printing an error with the path. */
bool report_check(const char *path, const json_t *json);

void report_free(saved_report *report);

/* A member of an object; NULL if it is absent or null, or `object` is NULL. */
json_t *report_get(const json_t *object, const char *key);

/* A number of an object; NAN if it is absent or null. */
double report_number(const json_t *object, const char *key);

/* A text of an object; NULL if it is absent or null. */
const char *report_string(const json_t *object, const char *key);

/* The element of an array of objects whose `key` has this text; NULL: none. */
json_t *report_find(const json_t *array, const char *key, const char *text);

#endif
