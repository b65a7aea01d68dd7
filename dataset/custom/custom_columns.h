/* SPDX-License-Identifier: Apache-2.0 */
/* The columns that user code declares (sluice_column_spec), checked, and as a schema. */
#ifndef SLUICE_CUSTOM_COLUMNS_H
#define SLUICE_CUSTOM_COLUMNS_H

#include <sluice/custom.h>

#include "stage.h"

/* Bytes of the name of a source or map, its final zero included. */
enum { CUSTOM_NAME_SIZE = 64 };

/* A declared column. */
typedef struct custom_column {
    sluice_column_role role;
    sluice_column spec; /* as declared */
    uint32_t column;    /* its index in the schema */
    bool ragged;        /* shape[0] is a maximum */
    bool varies;        /* height and width differ between samples */
    int length;         /* of ragged ones: the index of NAME_length in the schema; -1: none */
    int boxes;          /* of what belongs to boxes: the declared column of these; -1: none */
    size_t bytes;       /* at the declared shape; 0 where that varies, and while encoded */
} custom_column;

typedef struct custom_columns {
    uint32_t count;
    custom_column columns[SLUICE_MAX_COLUMNS];
    stage_schema schema; /* the columns with their lengths; image is -1 or the one declared */
} custom_columns;

/*
 * Checks and copies `count` entries, column_size bytes apart (0: as in the first version).
 * `owner` names source or map in errors. E_INVALID, E_UNSUPPORTED.
 */
sluice_status custom_columns_make(const sluice_column_spec *specs, size_t column_size,
                                  uint32_t count, const char *owner, custom_columns *columns_out);

/* The declared column of that name; -1: none. */
int custom_columns_find(const custom_columns *columns, const char *name);

/* Writes the names of declared columns with commas between them, truncated to size - 1 bytes. */
void custom_columns_list(const custom_columns *columns, char *text, size_t size);

/* Copies columns, infos and image to a schema without columns. */
void custom_columns_schema(const custom_columns *columns, stage_schema *schema);

#endif
