/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one_hot stage: converts class numbers to vectors, with the label smoothing of torch's
 * CrossEntropyLoss.
 */
#include <string.h>

#include "array_ops.h"
#include "array_values.h"
#include "stage.h"
#include "status_int.h"

typedef struct one_hot_args {
    const char *column;
    uint64_t classes;
    double smoothing;
} one_hot_args;

static const char *one_hot_column(const void *args)
{
    return ((const one_hot_args *)args)->column;
}

static sluice_status one_hot_infer(const void *opaque, stage_schema *schema)
{
    const one_hot_args *args = opaque;
    const int at = schema_find(schema, args->column);
    const uint32_t rows = at >= 0 ? schema->infos[at].rows : 0;
    const int length = at >= 0 ? schema_length_buffer(schema, (uint32_t)at) : -1;
    sluice_column *column;
    sluice_status st;

    if (at >= 0 && schema->infos[at].role == ROLE_TIED && schema_owner(schema, (uint32_t)at) < 0 &&
        length < 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "one_hot: %s belongs to boxes or points that were dropped; put one_hot "
                        "before that",
                        args->column);
    }
    st = schema_array_column(schema, "one_hot", args->column, &column);
    if (st != SLUICE_OK) {
        return st;
    }
    if (column->rank > 1 || !array_is_integer(column->dtype)) {
        return sli_fail(SLUICE_E_INVALID,
                        "one_hot: %s is %s with %u dimensions, and must be one integer, or an "
                        "array of them with one dimension",
                        column->name, sluice_dtype_name(column->dtype), column->rank);
    }
    schema->infos[at].rows =
        rows == (uint32_t)(length + 1) ? rows : 0; /* rows after the last one are zeros */
    column->dtype = SLUICE_F32;
    column->shape[column->rank++] = args->classes;
    return SLUICE_OK;
}

static sluice_status one_hot_rows(const void *opaque, const sluice_column *from_type,
                                  const void *from, const sluice_column *to_type, void *to,
                                  uint64_t *rows)
{
    const one_hot_args *args = opaque;
    const size_t size = sluice_dtype_size(from_type->dtype);
    float *vectors = to;

    if (from_type->rank == 0) {
        return array_one_hot(from_type, from, args->classes, args->smoothing, vectors);
    }
    for (uint64_t i = 0; i < *rows; i++) {
        const sluice_status st =
            array_one_hot(from_type, (const uint8_t *)from + i * size, args->classes,
                          args->smoothing, vectors + i * args->classes);

        if (st != SLUICE_OK) {
            return sli_fail_quoting(st, "row %llu: %.900s", (unsigned long long)i,
                                    sluice_last_error());
        }
    }
    memset(vectors + *rows * args->classes, 0,
           (size_t)(to_type->shape[0] - *rows) * args->classes * sizeof(*vectors));
    return SLUICE_OK;
}

static const stage_param one_hot_params[] = {
    PARAM_(one_hot_args, column, PARAM_TEXT, NULL, 0, 0, NULL,
           "class numbers, such as label or classes"),
    PARAM_(one_hot_args, classes, PARAM_COUNT, NULL, 1, 1048576, NULL, "number of classes"),
    PARAM_(one_hot_args, smoothing, PARAM_REAL, "0", 0, 1, NULL, "label smoothing"),
};

const stage_def stage_one_hot = {
    .name = "one_hot",
    .summary = "Replaces class numbers by vectors: 1 at the class, 0 elsewhere.",
    .gives = "the column as f32 (classes), or (n, classes) of an array (n)",
    .details = "With label smoothing s the values are 1 - s + s / classes at the class, and s "
               "/ classes elsewhere. The column is a plain scalar of an integer type, or an array "
               "of one dimension, such as the classes of boxes: each number becomes a vector. Rows "
               "after the last box, or after NAME_length of a ragged array, are zeros, also with "
               "smoothing. A class number that is not in [0, classes) makes a bad sample. classes "
               "is at most 1 048 576.",
    .kind = STAGE_ARRAY,
    STAGE_PARAMS(one_hot_params),
    .args_size = sizeof(one_hot_args),
    .infer = one_hot_infer,
    .array =
        &(const array_ops){
            .column = one_hot_column,
            .compute_rows = one_hot_rows,
        },
};
