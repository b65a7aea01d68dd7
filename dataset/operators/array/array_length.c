/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pad and truncate stages: the number of rows, the first dimension, of a plain column. The
 * first argument is a column's name, which never begins with a digit.
 */
#include <ctype.h>
#include <string.h>

#include "array_ops.h"
#include "array_values.h"
#include "box_rows.h"
#include "stage.h"
#include "status_int.h"

/* The arguments of both begin with these. */
typedef struct length_args {
    const char *column;
    uint64_t to;
} length_args;

typedef struct pad_args {
    length_args common;
    double value;
} pad_args;

static const char *length_column(const void *args)
{
    return ((const length_args *)args)->column;
}

/*
 * Finds the column, and assigns a new buffer to it. *length_out: the buffer of its length; -1: it
 * is not ragged.
 */
static sluice_status find_column(const char *stage, const length_args *args, stage_schema *schema,
                                 sluice_column **column_out, int *length_out)
{
    const int at = schema_find(schema, args->column);

    if (isdigit((unsigned char)args->column[0])) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s %s: the name of a column must come first, as in `%s tokens to=512`; "
                        "pad_image is for images",
                        stage, args->column, stage);
    }
    *length_out = at >= 0 ? schema_length_buffer(schema, (uint32_t)at) : -1;
    if (at >= 0 && schema->columns[at].dtype != SLUICE_ENCODED && schema->columns[at].rank == 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s is one number, and must be an array", stage,
                        args->column);
    }
    if (at >= 0 && schema->infos[at].role == ROLE_TIED && schema_owner(schema, (uint32_t)at) < 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s belongs to boxes or points that were dropped; put %s before that",
                        stage, args->column, stage);
    }
    return schema_array_column(schema, stage, args->column, column_out);
}

/* ---- pad ------------------------------------------------------------------------------------- */

static sluice_status pad_infer(const void *opaque, stage_schema *schema)
{
    const pad_args *args = opaque;
    sluice_column *column;
    uint64_t element;
    int length = -1;
    const sluice_status st = find_column("pad", &args->common, schema, &column, &length);

    if (st != SLUICE_OK) {
        return st;
    }
    if (!array_store_real(column->dtype, &element, 0, args->value)) {
        return sli_fail(SLUICE_E_INVALID,
                        "pad: value=%g cannot be represented as %s, the type of %s", args->value,
                        sluice_dtype_name(column->dtype), column->name);
    }
    if (length < 0 && args->common.to < column->shape[0]) {
        return sli_fail(SLUICE_E_INVALID, "pad: %s has %llu rows, more than to=%llu; truncate it",
                        column->name, (unsigned long long)column->shape[0],
                        (unsigned long long)args->common.to);
    }
    column->shape[0] = args->common.to;
    return SLUICE_OK;
}

static sluice_status pad_rows(const void *opaque, const sluice_column *from_type, const void *from,
                              const sluice_column *to_type, void *to, uint64_t *rows)
{
    const pad_args *args = opaque;
    const size_t element = sluice_dtype_size(to_type->dtype);
    const size_t bytes = box_rows_bytes(to_type);
    uint8_t *end = (uint8_t *)to + (size_t)args->common.to * bytes;
    uint64_t value;

    if (*rows > args->common.to) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "%s has %llu rows, more than to=%llu; put `truncate %s to=%llu` before it",
                        from_type->name, (unsigned long long)*rows,
                        (unsigned long long)args->common.to, from_type->name,
                        (unsigned long long)args->common.to);
    }
    memcpy(to, from, (size_t)*rows * bytes);
    (void)array_store_real(to_type->dtype, &value, 0, args->value);
    for (uint8_t *at = (uint8_t *)to + (size_t)*rows * bytes; at < end; at += element) {
        memcpy(at, &value, element);
    }
    return SLUICE_OK;
}

/* ---- truncate -------------------------------------------------------------------------------- */

static sluice_status truncate_infer(const void *opaque, stage_schema *schema)
{
    const length_args *args = opaque;
    const int at = schema_find(schema, args->column);
    const uint32_t ragged = at >= 0 ? schema->infos[at].rows : 0;
    sluice_column *column;
    int length = -1;
    int length_column_at;
    sluice_status st;

    if (at >= 0 && schema->infos[at].role == ROLE_TIED) {
        return sli_fail(SLUICE_E_INVALID,
                        "truncate: %s has one row for each box or point; bound these in the source",
                        args->column);
    }
    st = find_column("truncate", args, schema, &column, &length);
    if (st != SLUICE_OK) {
        return st;
    }
    length_column_at = length >= 0 ? schema_find_buffer(schema, (uint32_t)length) : -1;
    if (length >= 0 && length_column_at < 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "truncate: the column of the length of %s was changed or dropped by an "
                        "earlier stage; put truncate before it",
                        args->column);
    }
    if (length_column_at >= 0) {
        schema->infos[length_column_at].buffer = schema->buffer_count++;
        if (schema->infos[at].counted > 0) {
            schema->infos[at].counted = schema->infos[length_column_at].buffer + 1;
        }
        schema->infos[at].rows =
            ragged == (uint32_t)length + 1 ? schema->infos[length_column_at].buffer + 1 : 0;
    }
    column->shape[0] = args->to < column->shape[0] ? args->to : column->shape[0];
    return SLUICE_OK;
}

static sluice_status truncate_rows(const void *opaque, const sluice_column *from_type,
                                   const void *from, const sluice_column *to_type, void *to,
                                   uint64_t *rows)
{
    const length_args *args = opaque;
    const size_t bytes = box_rows_bytes(to_type);

    (void)from_type;
    *rows = *rows < args->to ? *rows : args->to;
    if (to != NULL) {
        memcpy(to, from, (size_t)to_type->shape[0] * bytes);
    }
    return SLUICE_OK;
}

/* ---- the stages ------------------------------------------------------------------------------ */

enum { MOST_ROWS = 1 << 26 };

static const stage_param pad_params[] = {
    PARAM_(length_args, column, PARAM_TEXT, NULL, 0, 0, NULL, "a plain array"),
    PARAM_(length_args, to, PARAM_COUNT, NULL, 1, MOST_ROWS, NULL, "the number of rows"),
    PARAM_(pad_args, value, PARAM_REAL, "0", 0, 0, NULL, "of the elements added"),
};

const stage_def stage_pad = {
    .name = "pad",
    .summary =
        "Adds rows of a value to an array, after its last one; ragged arrays keep NAME_length.",
    .gives = "the column with `to` rows",
    .details = "A ragged column keeps its NAME_length, the number of rows before the padding; "
               "a sample with more than `to` rows is bad. `to` is at most 67 108 864, and not "
               "less than the rows of a column that is not ragged. The column's type must "
               "represent the value.\n"
               "The column has at least one dimension. Images, masks, boxes and points are "
               "refused.",
    .kind = STAGE_ARRAY,
    STAGE_PARAMS(pad_params),
    .args_size = sizeof(pad_args),
    .infer = pad_infer,
    .array =
        &(const array_ops){
            .column = length_column,
            .compute_rows = pad_rows,
        },
};

static const stage_param truncate_params[] = {
    PARAM_(length_args, column, PARAM_TEXT, NULL, 0, 0, NULL, "a plain array"),
    PARAM_(length_args, to, PARAM_COUNT, NULL, 1, MOST_ROWS, NULL, "maximum number of rows"),
};

const stage_def stage_truncate = {
    .name = "truncate",
    .summary = "Keeps the first rows of an array; NAME_length counts those that are left.",
    .gives = "the column with at most `to` rows",
    .details = "Nothing changes if the column has fewer rows. `to` is at most 67 108 864.\n"
               "The column has at least one dimension. Images, masks, boxes, points and "
               "columns with a row for each box are refused.",
    .kind = STAGE_ARRAY,
    STAGE_PARAMS(truncate_params),
    .args_size = sizeof(length_args),
    .infer = truncate_infer,
    .array =
        &(const array_ops){
            .column = length_column,
            .compute_rows = truncate_rows,
        },
};
