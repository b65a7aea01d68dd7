/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a JSON object as the columns of a list: an object becomes a record of a list in TSV
 * with all fields in quotes, which is then checked and read as any record. A column has the value
 * of a key, or at a path of keys, a.b.c; in lists the numbers of elements, from 0, are keys: a.0.c.
 */
#ifndef SLUICE_JSON_FIELDS_H
#define SLUICE_JSON_FIELDS_H

#include "list_columns.h"
#include "text_int.h"

/* Room for a path of keys. */
enum { JSON_PATH_SIZE = 128 };

/* Limit on the bytes of an object; it bounds the memory of its values. jansson limits the depth. */
enum { JSON_OBJECT_MOST = 1 << 20 };

/* Where the value of each column is. */
typedef struct json_paths {
    char paths[SLUICE_MAX_COLUMNS][JSON_PATH_SIZE];
} json_paths;

struct json_t; /* of jansson */

/* E_UNSUPPORTED: the build has no jansson. */
sluice_status json_fields_check(void);

/* Adds a column by its declaration in the header of a list. path NULL: its name. Returns the errors
 * of list_add_column(). */
sluice_status json_fields_add_column(list_columns *columns, const char *declaration,
                                     const char *path, json_paths *paths);

/* Parses an object, which the caller releases; the errors call the text `what`. E_CORRUPT: it is
 * too large, or is not an object. */
sluice_status json_fields_parse(const char *text, size_t size, const char *what,
                                struct json_t **object_out);

/* Appends an object as a record without a line break. E_CORRUPT: it is not an object, lacks a
 * value, or has one of another kind than its column; the error begins with the path. */
sluice_status json_fields_convert(const char *text, size_t size, const char *what,
                                  const list_columns *columns, const json_paths *paths,
                                  sli_text *record);

#endif
