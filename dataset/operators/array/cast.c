/* SPDX-License-Identifier: Apache-2.0 */
/* The cast stage: changes the type of a plain column. */
#include <inttypes.h>

#include <sluice/columns.h>

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
        return sli_fail(SLUICE_E_INVALID, "cast: dtype %d is none of batches", (int)args->dtype);
    }
    column->dtype = args->dtype;
    schema->infos[at].rows = rows; /* zeros stay zeros */
    return SLUICE_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Casts one value. False: the new type cannot represent it. */
static bool cast_value(const sluice_column *from_type, const void *from,
                       const sluice_column *to_type, void *to, size_t i)
{
    const bool is_integer = array_is_integer(from_type->dtype);

    if (array_is_integer(to_type->dtype)) {
        int64_t value;

        if (is_integer) {
            value = array_integer(from_type->dtype, from, i);
        } else {
            const float real = array_load_float(from_type->dtype, from, i);

            if (!(real >= -0x1p63F && real < 0x1p63F)) {
                return false; /* NaN is also rejected */
            }
            value = (int64_t)real;
        }
        return array_store_integer(to_type->dtype, to, i, value);
    }
    array_store_float(to_type->dtype, to, i,
                      is_integer ? (float)array_integer(from_type->dtype, from, i)
                                 : array_load_float(from_type->dtype, from, i));
    return true;
}

static sluice_status cast_array(const void *args, const sluice_column *from_type, const void *from,
                                const sluice_column *to_type, void *to)
{
    size_t count = 1;

    (void)args;
    for (uint32_t d = 0; d < from_type->rank; d++) {
        count *= (size_t)from_type->shape[d];
    }
    for (size_t i = 0; i < count; i++) {
        if (!cast_value(from_type, from, to_type, to, i)) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "%s: element %zu: the value cannot be represented as %s",
                            from_type->name, i, sluice_dtype_name(to_type->dtype));
        }
    }
    return SLUICE_OK;
}

/* ---- the stage ------------------------------------------------------------------------------- */

static const stage_param cast_params[] = {
    PARAM_(cast_args, column, PARAM_TEXT, NULL, 0, 0, NULL, "a plain column"),
    PARAM_(cast_args, dtype, PARAM_DTYPE, NULL, 0, 0, NULL,
           "u8, i8, u16, i32, u32, i64, f16, bf16 or f32"),
};

const stage_def stage_cast = {
    .name = "cast",
    .summary = "Changes the type of a plain column.",
    .gives = "the column as dtype, the same shape",
    .kind = STAGE_ARRAY,
    STAGE_PARAMS(cast_params),
    .args_size = sizeof(cast_args),
    .infer = cast_infer,
    .array_column = cast_column,
    .array = cast_array,
};

sluice_status sluice_dataset_cast(sluice_dataset *dataset, const char *column, sluice_dtype dtype)
{
    const cast_args args = {column, dtype};

    if (column == NULL) {
        return dataset_keep(dataset, &stage_cast,
                            sli_fail(SLUICE_E_INVALID, "cast: column is NULL"));
    }
    return dataset_append(dataset, &stage_cast, &args);
}
