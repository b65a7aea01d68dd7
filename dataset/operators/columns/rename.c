/* SPDX-License-Identifier: Apache-2.0 */
/* The rename stage: gives a column another name. */
#include <stdio.h>
#include <string.h>

#include "stage.h"
#include "status_int.h"

typedef struct rename_args {
    const char *column;
    const char *name;
} rename_args;

/*
 * Renames NAME_length with its ragged column, since stages find the length by that name. If
 * NAME_length is renamed alone, the ragged column keeps it (schema_keep_length()). E_INVALID:
 * the new name is too long, or another column has it.
 */
static sluice_status rename_length(const rename_args *args, uint32_t column, stage_schema *schema)
{
    char name[SLUICE_NAME_SIZE + 8];
    int length;
    int other;

    snprintf(name, sizeof(name), "%.31s_length", args->column);
    length = schema_find(schema, name);
    if (length < 0 || schema_length_buffer(schema, column) != (int)schema->infos[length].buffer) {
        return SLUICE_OK;
    }
    snprintf(name, sizeof(name), "%.31s_length", args->name);
    if (strlen(name) >= SLUICE_NAME_SIZE) {
        return sli_fail(SLUICE_E_INVALID,
                        "rename: %s is ragged, and %s is longer than %d bytes; the name must "
                        "have at most %d bytes",
                        args->column, name, SLUICE_NAME_SIZE - 1, SLUICE_NAME_SIZE - 8);
    }
    other = schema_find(schema, name);
    if (other >= 0 && other != length) {
        return sli_fail(SLUICE_E_INVALID,
                        "rename: %s is ragged, and there is a column %s already; rename or drop "
                        "that one first",
                        args->column, name);
    }
    memcpy(schema->columns[length].name, name, strlen(name) + 1);
    return SLUICE_OK;
}

static sluice_status rename_infer(const void *opaque, stage_schema *schema)
{
    const rename_args *args = opaque;
    const int column = schema_find(schema, args->column);
    sluice_status st = schema_check_name(args->name, "rename");

    if (st != SLUICE_OK) {
        return st;
    }
    if (column < 0) {
        return schema_no_column(schema, "rename", args->column);
    }
    if (strcmp(args->column, args->name) != 0 && schema_find(schema, args->name) >= 0) {
        return sli_fail(SLUICE_E_INVALID, "rename: there is a column %s already", args->name);
    }
    st = rename_length(args, (uint32_t)column, schema);
    if (st == SLUICE_OK) {
        schema_keep_length(schema, (uint32_t)column);
        snprintf(schema->columns[column].name, SLUICE_NAME_SIZE, "%s", args->name);
    }
    return st;
}

static const stage_param rename_params[] = {
    PARAM_(rename_args, column, PARAM_TEXT, NULL, 0, 0, NULL, "present name"),
    PARAM_(rename_args, name, PARAM_TEXT, NULL, 0, 0, NULL, "new name"),
};

const stage_def stage_rename = {
    .name = "rename",
    .summary = "Gives a column another name, and NAME_length of a ragged column with it.",
    .gives = "the same columns",
    .details = "The role of the column does not change: the image is still the one that "
               "transforms process. The NAME_length of a ragged column, of boxes or of points "
               "is renamed, too. If NAME_length itself is renamed, it remains the length of "
               "its column.\n"
               "A name has letters, digits and _, no digit first, at most 31 bytes, or 24 if "
               "there is a NAME_length. It must not be that of another column. No bytes are "
               "copied.",
    .kind = STAGE_COLUMNS,
    STAGE_PARAMS(rename_params),
    .args_size = sizeof(rename_args),
    .infer = rename_infer,
};
