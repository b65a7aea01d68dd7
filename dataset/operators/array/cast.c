/* SPDX-License-Identifier: Apache-2.0 */
/* The cast stage: changes the type of a plain column. */
#include <inttypes.h>

#include <sluice/columns.h>

#include "array_values.h"
#include "float16_int.h"
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
    sluice_column *column;
    const sluice_status st = schema_array_column(schema, "cast", args->column, &column);

    if (st != SLUICE_OK) {
        return st;
    }
    if (sluice_dtype_size(args->dtype) == 0) {
        return sli_fail(SLUICE_E_INVALID, "cast: dtype %d is none of batches", (int)args->dtype);
    }
    column->dtype = args->dtype;
    return SLUICE_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static float load_float(sluice_dtype dtype, const void *array, size_t i)
{
    switch (dtype) {
    case SLUICE_F16:
        return sli_f32_of_f16(((const uint16_t *)array)[i]);
    case SLUICE_BF16:
        return sli_f32_of_bf16(((const uint16_t *)array)[i]);
    default:
        return ((const float *)array)[i];
    }
}

static void store_float(sluice_dtype dtype, void *array, size_t i, float value)
{
    switch (dtype) {
    case SLUICE_F16:
        ((uint16_t *)array)[i] = sli_f16_of_f32(value);
        break;
    case SLUICE_BF16:
        ((uint16_t *)array)[i] = sli_bf16_of_f32(value);
        break;
    default:
        ((float *)array)[i] = value;
        break;
    }
}

/* Stores an integer. False: the type cannot represent it. */
static bool store_integer(sluice_dtype dtype, void *array, size_t i, int64_t value)
{
    switch (dtype) {
    case SLUICE_U8:
        ((uint8_t *)array)[i] = (uint8_t)value;
        break;
    case SLUICE_I8:
        ((int8_t *)array)[i] = (int8_t)value;
        break;
    case SLUICE_U16:
        ((uint16_t *)array)[i] = (uint16_t)value;
        break;
    case SLUICE_I32:
        ((int32_t *)array)[i] = (int32_t)value;
        break;
    case SLUICE_U32:
        ((uint32_t *)array)[i] = (uint32_t)value;
        break;
    default:
        ((int64_t *)array)[i] = value;
        break;
    }
    return array_integer(dtype, array, i) == value;
}

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
            const float real = load_float(from_type->dtype, from, i);

            if (!(real >= -0x1p63F && real < 0x1p63F)) {
                return false; /* NaN is also rejected */
            }
            value = (int64_t)real;
        }
        return store_integer(to_type->dtype, to, i, value);
    }
    store_float(to_type->dtype, to, i,
                is_integer ? (float)array_integer(from_type->dtype, from, i)
                           : load_float(from_type->dtype, from, i));
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
