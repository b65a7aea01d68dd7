/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a report of a run, the JSON of sluice_report_json(), of which any byte may be wrong. */
#ifndef SLUICE_REPORT_READER_H
#define SLUICE_REPORT_READER_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include <sluice/sluice.h>

enum {
    REPORT_MOST_BYTES = 16 << 20, /* of a file with one report */
    REPORT_BUCKETS = 320          /* of a histogram */
};

typedef struct saved_report {
    const char *path; /* of the command line; not owned */
    char *text;       /* as it is in the file, without white space at the end */
    json_t *json;     /* an object; keys that Sluice writes have the type that it writes, or null */
} saved_report;

/* Functions that return false or NULL have called sluice_fail(), with a text that begins with the
 * path. */

/*
 * Reads and checks a file. Returns false if it cannot be read, is cut short, is no report, or has
 * another schema, a value of another type or too many elements.
 */
bool report_read(const char *path, saved_report *report_out);

/* The same of a text, which the report owns, or which is freed. */
bool report_parse(const char *path, char *text, saved_report *report_out);

/* Reads a file of up to `most` bytes, "-": standard input. The caller frees the text, which has no
 * zero byte. E_IO: it cannot be read. E_CORRUPT: it is too large, or has a zero byte. */
sluice_status report_read_text(const char *path, size_t most, char **text_out);

/* Parses JSON, in which a key must not be twice. The caller releases it by json_decref(). */
json_t *report_load(const char *path, const char *text, size_t size);

/* Checks the number of the schema alone. */
bool report_check_schema(const char *path, const json_t *json);

/* Checks the schema and all values of a report. */
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
