/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes values of arrays, whatever their element type. */
#ifndef SLUICE_ARRAY_VALUES_H
#define SLUICE_ARRAY_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

static inline bool array_is_integer(sluice_dtype dtype)
{
    return dtype == SLUICE_U8 || dtype == SLUICE_I8 || dtype == SLUICE_U16 || dtype == SLUICE_I32 ||
           dtype == SLUICE_U32 || dtype == SLUICE_I64;
}

/* Returns element i of an array of an integer type. */
static inline int64_t array_integer(sluice_dtype dtype, const void *array, size_t i)
{
    switch (dtype) {
    case SLUICE_U8:
        return ((const uint8_t *)array)[i];
    case SLUICE_I8:
        return ((const int8_t *)array)[i];
    case SLUICE_U16:
        return ((const uint16_t *)array)[i];
    case SLUICE_I32:
        return ((const int32_t *)array)[i];
    case SLUICE_U32:
        return ((const uint32_t *)array)[i];
    default:
        return ((const int64_t *)array)[i];
    }
}

/*
 * Writes the vector (classes) of a class number, with label smoothing: 1 - smoothing + smoothing /
 * classes at its class, smoothing / classes elsewhere. E_CORRUPT: it is not in [0, classes).
 */
sluice_status array_one_hot(const sluice_column *type, const void *number, uint64_t classes,
                            double smoothing, float *vector);

/* Returns element i of an array of f32, f16 or bf16. */
float array_load_float(sluice_dtype dtype, const void *array, size_t i);

/* Stores a number as f32, f16 or bf16. */
void array_store_float(sluice_dtype dtype, void *array, size_t i, float value);

/* Stores an integer. False: the type cannot represent it. */
bool array_store_integer(sluice_dtype dtype, void *array, size_t i, int64_t value);

/* Stores a number as any type. False: the type is of integers, and cannot represent it. */
bool array_store_real(sluice_dtype dtype, void *array, size_t i, double value);

#endif
