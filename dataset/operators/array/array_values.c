/* SPDX-License-Identifier: Apache-2.0 */
#include "array_values.h"

#include <inttypes.h>

#include "float16_int.h"
#include "status_int.h"

sluice_status array_one_hot(const sluice_column *type, const void *number, uint64_t classes,
                            double smoothing, float *vector)
{
    const int64_t class_number = array_integer(type->dtype, number, 0);
    const double off = smoothing / (double)classes;

    if (class_number < 0 || (uint64_t)class_number >= classes) {
        return sli_fail(SLUICE_E_CORRUPT, "%s is %" PRId64 ", want 0 to %" PRIu64, type->name,
                        class_number, classes - 1);
    }
    for (uint64_t i = 0; i < classes; i++) {
        vector[i] = (float)off;
    }
    vector[class_number] = (float)(1 - smoothing + off);
    return SLUICE_OK;
}

float array_load_float(sluice_dtype dtype, const void *array, size_t i)
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

void array_store_float(sluice_dtype dtype, void *array, size_t i, float value)
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

bool array_store_integer(sluice_dtype dtype, void *array, size_t i, int64_t value)
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

bool array_store_real(sluice_dtype dtype, void *array, size_t i, double value)
{
    if (!array_is_integer(dtype)) {
        array_store_float(dtype, array, i, (float)value);
        return true;
    }
    return value >= -0x1p63 && value < 0x1p63 && (double)(int64_t)value == value &&
           array_store_integer(dtype, array, i, (int64_t)value);
}
