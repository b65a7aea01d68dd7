/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one_hot stage: converts a class number to a vector, with the label smoothing of torch's
 * CrossEntropyLoss.
 */
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
    sluice_column *column;
    sluice_status st = schema_array_column(schema, "one_hot", args->column, &column);

    if (st != SLUICE_OK) {
        return st;
    }
    if (column->rank != 0 || !array_is_integer(column->dtype)) {
        return sli_fail(SLUICE_E_INVALID,
                        "one_hot: %s is %s with %u dimensions, and must be one integer",
                        column->name, sluice_dtype_name(column->dtype), column->rank);
    }
    column->dtype = SLUICE_F32;
    column->rank = 1;
    column->shape[0] = args->classes;
    return SLUICE_OK;
}

static sluice_status one_hot_array(const void *opaque, const sluice_column *from_type,
                                   const void *from, const sluice_column *to_type, void *to)
{
    const one_hot_args *args = opaque;

    (void)to_type;
    return array_one_hot(from_type, from, args->classes, args->smoothing, to);
}

static const stage_param one_hot_params[] = {
    PARAM_(one_hot_args, column, PARAM_TEXT, NULL, 0, 0, NULL, "a class number, such as label"),
    PARAM_(one_hot_args, classes, PARAM_COUNT, NULL, 1, 1048576, NULL, "number of classes"),
    PARAM_(one_hot_args, smoothing, PARAM_REAL, "0", 0, 1, NULL, "label smoothing"),
};

const stage_def stage_one_hot = {
    .name = "one_hot",
    .summary = "Replaces a class number by a vector: 1 at its class, 0 elsewhere.",
    .gives = "the column as f32 (classes)",
    .details = "With label smoothing s the values are 1 - s + s / classes at the class, and s "
               "/ classes elsewhere. The column is a plain scalar of an integer type. A class "
               "number that is not in [0, classes) makes a bad sample. classes is at most 1 "
               "048 576.",
    .kind = STAGE_ARRAY,
    STAGE_PARAMS(one_hot_params),
    .args_size = sizeof(one_hot_args),
    .infer = one_hot_infer,
    .array =
        &(const array_ops){
            .column = one_hot_column,
            .compute = one_hot_array,
        },
};
