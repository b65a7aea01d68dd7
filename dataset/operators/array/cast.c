/* SPDX-License-Identifier: Apache-2.0 */
/* The cast stage: changes the type of a plain column. */
#include "array_ops.h"
#include "array_values.h"
#include "stage.h"
#include "status_int.h"

typedef struct cast_args {
    const char *column;
    sluice_dtype dtype;
} cast_args;

static const char *cast_column(const void *args)
{
    return ((const cast_args *)args)->column;
}

static sluice_status cast_infer(const void *opaque, stage_schema *schema)
{
    const cast_args *args = opaque;
    const int at = schema_find(schema, args->column);
    const uint32_t rows = at >= 0 ? schema->infos[at].rows : 0;
    sluice_column *column;
    const sluice_status st = schema_array_column(schema, "cast", args->column, &column);

    if (st != SLUICE_OK) {
        return st;
    }
    if (sluice_dtype_size(args->dtype) == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "cast: dtype is %d, and must be an element type of batches",
                        (int)args->dtype);
    }
    column->dtype = args->dtype;
    schema->infos[at].rows = rows; /* zeros stay zeros */
    return SLUICE_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static sluice_status cast_array(const void *args, const sluice_column *from_type, const void *from,
                                const sluice_column *to_type, void *to)
{
    size_t count = 1;
    char value[40];
    size_t good;

    (void)args;
    for (uint32_t d = 0; d < from_type->rank; d++) {
        count *= (size_t)from_type->shape[d];
    }
    good = array_convert(from_type->dtype, from, to_type->dtype, to, count);
    if (good == count) {
        return SLUICE_OK;
    }
    array_print(from_type->dtype, from, good, value, sizeof(value));
    return sli_fail(SLUICE_E_CORRUPT, "%s: element %zu: the value %s cannot be represented as %s",
                    from_type->name, good, value, sluice_dtype_name(to_type->dtype));
}

/* ---- the stage ------------------------------------------------------------------------------- */

static const stage_param cast_params[] = {
    PARAM_(cast_args, column, PARAM_TEXT, NULL, 0, 0, NULL, "a plain column"),
    PARAM_(cast_args, dtype, PARAM_DTYPE, NULL, 0, 0, NULL,
           "u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32 or f64"),
};

const stage_def stage_cast = {
    .name = "cast",
    .summary = "Changes the type of a plain column.",
    .gives = "the column as dtype, the same shape",
    .details = "Numbers are rounded to the nearest float, ties to even; integers and f64 to f16 "
               "and bf16 by way of f32. Floats are truncated to integers. NaN and infinities stay "
               "as they are in floats. A value that the type cannot represent makes a bad "
               "sample: an integer out of range, NaN as an integer, 65520 or more as f16, 1e39 as "
               "f32.\n"
               "Images, masks, boxes and points are refused; for images use to_dtype.",
    .kind = STAGE_ARRAY,
    STAGE_PARAMS(cast_params),
    .args_size = sizeof(cast_args),
    .infer = cast_infer,
    .array =
        &(const array_ops){
            .column = cast_column,
            .compute = cast_array,
        },
};
