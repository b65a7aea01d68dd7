/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists in JSON lines: each line is an object, and its keys are the columns. The lines are
 * converted to the text of a list, TSV with all fields in quotes, which is then checked and read as
 * any list.
 */
#ifndef SLUICE_JSON_LINES_H
#define SLUICE_JSON_LINES_H

#include "json_fields.h"

/* The text of a list, without a header. A line that cannot be converted is a record that begins
 * with JSON_LINES_BAD, and the reason. */
typedef struct json_records {
    char *text; /* the caller frees both */
    size_t size;
    uint64_t *lines; /* the line of each record in the file, from 1 */
    size_t lines_capacity;
    uint64_t count;
} json_records;

#define JSON_LINES_BAD '!'

/*
 * Adds the columns that `fields` declares, comma-separated header fields of a list, each with =PATH
 * if its key is not its name. With "" these are image and label, as far as the first line has such
 * keys; `others` is then a text of its other keys. E_INVALID: a field is invalid, or the first line
 * has neither. E_UNSUPPORTED: the build has no jansson.
 */
sluice_status json_lines_columns(const char *fields, const char *text, size_t size,
                                 list_columns *columns, json_paths *paths_out, char *others,
                                 size_t others_size);

/* Converts all lines; empty ones are skipped. E_NO_MEMORY, E_UNSUPPORTED. */
sluice_status json_lines_convert(const char *text, size_t size, const list_columns *columns,
                                 const json_paths *paths, json_records *records);

#endif
