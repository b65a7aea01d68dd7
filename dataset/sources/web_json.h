/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of webdataset whose values are in a JSON member of each sample (web_fields.h). */
#ifndef SLUICE_WEB_JSON_H
#define SLUICE_WEB_JSON_H

#include "json_fields.h"

/* One member, such as .json, with all columns that are in it. */
typedef struct web_json {
    list_columns columns;
    json_paths paths;
    uint32_t at[SLUICE_MAX_COLUMNS]; /* index of each of its columns among those of the source */
} web_json;

/* E_UNSUPPORTED: the build has no jansson; E_NO_MEMORY. */
sluice_status web_json_create(web_json **json_out);
void web_json_free(web_json *json);

/*
 * Adds NAME:KIND at a path. Its columns, *count_out of them, begin at index `at` of the source.
 * E_INVALID: the declaration is invalid, or its value would be the path of a file.
 */
sluice_status web_json_add(web_json *json, const char *declaration, const char *path, uint32_t at,
                           uint32_t *count_out);

/* Writes the columns into the schema of the source. */
void web_json_schema(const web_json *json, stage_schema *schema);

/* True if the row of the source has one of the columns. */
bool web_json_is_in(const web_json *json, void *const *row);

/* Writes the values into a row of the source. E_CORRUPT: the text is not an object, or a value is
 * missing or of another kind; the error names the path. */
sluice_status web_json_write(const web_json *json, const char *text, size_t size, void *const *row);

/* Collects the names of classes of a text whose values are all good. Returns the errors of
 * web_json_write(). */
sluice_status web_json_learn(const web_json *json, const char *text, size_t size);

#endif
