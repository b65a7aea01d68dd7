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
    return dtype == SLUICE_U8 || dtype == SLUICE_I8 || dtype == SLUICE_I16 || dtype == SLUICE_U16 ||
           dtype == SLUICE_I32 || dtype == SLUICE_U32 || dtype == SLUICE_I64 || dtype == SLUICE_U64;
}

/* Returns element i of an array of an integer type; of u64 at most INT64_MAX. */
static inline int64_t array_integer(sluice_dtype dtype, const void *array, size_t i)
{
    switch (dtype) {
    case SLUICE_U8:
        return ((const uint8_t *)array)[i];
    case SLUICE_I8:
        return ((const int8_t *)array)[i];
    case SLUICE_I16:
        return ((const int16_t *)array)[i];
    case SLUICE_U16:
        return ((const uint16_t *)array)[i];
    case SLUICE_I32:
        return ((const int32_t *)array)[i];
    case SLUICE_U32:
        return ((const uint32_t *)array)[i];
    case SLUICE_U64:
        return ((const uint64_t *)array)[i] > INT64_MAX ? INT64_MAX
                                                        : (int64_t)((const uint64_t *)array)[i];
    default:
        return ((const int64_t *)array)[i];
    }
}

/* Writes element i of an array of any type as text, for messages. */
void array_print(sluice_dtype dtype, const void *array, size_t i, char *text, size_t size);

/*
 * Writes the vector (classes) of a class number, with label smoothing: 1 - smoothing + smoothing /
 * classes at its class, smoothing / classes elsewhere. E_CORRUPT: it is not in [0, classes).
 */
sluice_status array_one_hot(const sluice_column *type, const void *number, uint64_t classes,
                            double smoothing, float *vector);

/*
 * Converts numbers to another type, by the rule of docs/guide/pipelines.md: integers exactly, or to
 * the nearest float (integers and f64 to f16 and bf16 by way of f32), floats to the nearest float,
 * ties to even, or truncated to integers. NaN and infinities stay as they are in floats. Returns
 * count, or the index of the first number that `to` cannot represent: an integer out of range, NaN
 * or an infinity as an integer, a finite number that rounds to an infinity.
 */
size_t array_convert(sluice_dtype from, const void *in, sluice_dtype to, void *out, size_t count);

/* Stores a number as any type. False: the type cannot represent it; an integer type takes whole
 * numbers only. */
bool array_store_real(sluice_dtype dtype, void *array, size_t i, double value);

#endif
