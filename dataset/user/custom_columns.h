/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that user code declares (sluice_column_spec), checked and converted to a schema. */
#ifndef SLUICE_CUSTOM_COLUMNS_H
#define SLUICE_CUSTOM_COLUMNS_H

#include <sluice/custom.h>

#include "stage.h"

/* Size of the name of a source or map, including its terminating zero. */
enum { CUSTOM_NAME_SIZE = 64 };

/* One declared column. */
typedef struct custom_column {
    sluice_column_role role;
    sluice_column spec; /* name, type and shape as declared */
    uint32_t column;    /* index of the column in the schema */
    bool ragged;        /* shape[0] is a maximum; the actual length varies between samples */
    bool varies;        /* height and width vary between samples */
    int length;         /* ragged columns: index of NAME_length in the schema; otherwise -1 */
    int boxes;          /* index of the declared boxes or points that it belongs to; -1: none */
    size_t bytes; /* bytes of the declared shape; 0 if the size varies or the column is encoded */
} custom_column;

typedef struct custom_columns {
    uint32_t count;
    custom_column columns[SLUICE_MAX_COLUMNS];
    stage_schema schema; /* all columns, with NAME_length; its image is the declared one, or -1 */
} custom_columns;

/*
 * Checks and copies `count` entries, which are column_size bytes apart (0: the size in the first
 * version). `owner` is the name of the source or map, for messages. Returns E_INVALID or
 * E_UNSUPPORTED on failure.
 */
sluice_status custom_columns_make(const sluice_column_spec *specs, size_t column_size,
                                  uint32_t count, const char *owner, custom_columns *columns_out);

/* Finds a declared column by name. Returns its index, or -1 if there is no such column. */
int custom_columns_find(const custom_columns *columns, const char *name);

/* Writes the names of the declared columns, comma-separated, truncated to size - 1 bytes. */
void custom_columns_list(const custom_columns *columns, char *text, size_t size);

/* Copies columns, infos and image into a schema that has no columns yet. */
void custom_columns_schema(const custom_columns *columns, stage_schema *schema);

#endif
