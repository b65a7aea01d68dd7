/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that user code declares (sluice_column_spec): checked, and as a schema. */
#ifndef SLUICE_CUSTOM_COLUMNS_H
#define SLUICE_CUSTOM_COLUMNS_H

#include <sluice/custom.h>

#include "stage.h"

/* Size of the name of a source or map, including its terminating zero. */
enum { CUSTOM_NAME_SIZE = 64 };

/* A declared column. */
typedef struct custom_column {
    sluice_column_role role;
    sluice_column spec; /* as declared */
    uint32_t column;    /* index of the column in the schema */
    bool ragged;        /* shape[0] is a maximum */
    bool varies;        /* height and width differ between samples */
    int length;         /* ragged columns: index of NAME_length in the schema; -1: none */
    int boxes;    /* index of the declared column with the boxes that it belongs to; -1: none */
    size_t bytes; /* bytes of the declared shape; 0 if that varies or is encoded */
} custom_column;

typedef struct custom_columns {
    uint32_t count;
    custom_column columns[SLUICE_MAX_COLUMNS];
    stage_schema schema; /* the columns, including NAME_length; image is the declared one, or -1 */
} custom_columns;

/*
 * Checks and copies `count` entries, which are column_size bytes apart (0: the size in the first
 * version). `owner` is the source or map, for messages. E_INVALID, E_UNSUPPORTED.
 */
sluice_status custom_columns_make(const sluice_column_spec *specs, size_t column_size,
                                  uint32_t count, const char *owner, custom_columns *columns_out);

/* Finds a declared column by name; returns its index; -1: there is none. */
int custom_columns_find(const custom_columns *columns, const char *name);

/* Writes the names of the declared columns, comma-separated, truncated to size - 1 bytes. */
void custom_columns_list(const custom_columns *columns, char *text, size_t size);

/* Copies columns, infos and image into a schema that has no columns yet. */
void custom_columns_schema(const custom_columns *columns, stage_schema *schema);

#endif
