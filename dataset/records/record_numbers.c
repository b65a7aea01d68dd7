/* SPDX-License-Identifier: Apache-2.0 */
#include "record_numbers.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "status_int.h"

/* An element while it is converted: an integer, of which one above INT64_MAX is a u64, or real. */
typedef struct number {
    bool is_real;
    bool is_large; /* `integer` is a uint64_t above INT64_MAX */
    int64_t integer;
    double real;
} number;

sluice_status record_numbers_count(const record_value *value, sluice_dtype dtype,
                                   uint64_t *count_out)
{
    const size_t size = sluice_dtype_size(dtype);

    *count_out = value->count;
    if (value->kind == RECORD_NUMBERS) {
        return SLUICE_OK;
    }
    if (value->kind == RECORD_BYTES && value->count == 1 && value->size % size == 0) {
        *count_out = value->size / size;
        return SLUICE_OK;
    }
    if (value->kind == RECORD_BYTES && value->count != 1) {
        return value->count == 0
                   ? SLUICE_OK
                   : sli_fail(SLUICE_E_CORRUPT, "it has %llu byte strings, and must have one",
                              (unsigned long long)value->count);
    }
    return value->kind == RECORD_BYTES
               ? sli_fail(SLUICE_E_CORRUPT,
                          "its %zu bytes must be a whole number of %s values of %zu bytes each",
                          value->size, sluice_dtype_name(dtype), size)
               : sli_fail(SLUICE_E_CORRUPT, "it is a text, not numbers; text[N] reads it");
}

static bool is_real_type(sluice_dtype dtype)
{
    return dtype == SLUICE_F32 || dtype == SLUICE_F64;
}

/* Reads an integer of any size; machines are little-endian, as files are. */
static int64_t read_integer(const uint8_t *from, sluice_dtype dtype)
{
    int64_t wide = 0;

    memcpy(&wide, from, sluice_dtype_size(dtype));
    switch (dtype) {
    case SLUICE_I8:
        return (int8_t)wide;
    case SLUICE_I16:
        return (int16_t)wide;
    case SLUICE_I32:
        return (int32_t)wide;
    default:
        return wide;
    }
}

static number read_number(const uint8_t *from, sluice_dtype dtype)
{
    number it = {.is_real = is_real_type(dtype)};
    float narrow;

    if (dtype == SLUICE_F64) {
        memcpy(&it.real, from, sizeof(it.real));
    } else if (dtype == SLUICE_F32) {
        memcpy(&narrow, from, sizeof(narrow));
        it.real = (double)narrow;
    } else {
        it.integer = read_integer(from, dtype);
        it.is_large = dtype == SLUICE_U64 && it.integer < 0;
    }
    return it;
}

/* Makes a whole real number an integer. False: it is none, or is too large for one. */
static bool make_integer(number *it)
{
    if (!it->is_real) {
        return true;
    }
    it->is_real = false;
    if (!(it->real >= -0x1p63 && it->real < 0x1p64) || it->real != floor(it->real)) {
        return false;
    }
    it->is_large = it->real >= 0x1p63;
    it->integer = it->is_large ? (int64_t)(uint64_t)it->real : (int64_t)it->real;
    return true;
}

/* True if an integer is in the range of an integer type. */
static bool is_in_range(const number *it, sluice_dtype dtype)
{
    const unsigned bits = 8 * (unsigned)sluice_dtype_size(dtype);

    switch (dtype) {
    case SLUICE_U64:
        return it->is_large || it->integer >= 0;
    case SLUICE_U8:
    case SLUICE_U16:
    case SLUICE_U32:
        return !it->is_large && it->integer >= 0 && it->integer >> bits == 0;
    case SLUICE_I64:
        return !it->is_large;
    default:
        return !it->is_large && it->integer >= -(INT64_C(1) << (bits - 1)) &&
               it->integer < INT64_C(1) << (bits - 1);
    }
}

/* Writes a number as an element. False: it does not fit. */
static bool write_number(number it, sluice_dtype dtype, uint8_t *to)
{
    if (is_real_type(dtype)) {
        const double real = it.is_real    ? it.real
                            : it.is_large ? (double)(uint64_t)it.integer
                                          : (double)it.integer;
        const float narrow = (float)real;

        memcpy(to, dtype == SLUICE_F64 ? (const void *)&real : &narrow, sluice_dtype_size(dtype));
        return dtype == SLUICE_F64 || !isinf(narrow) || isinf(real);
    }
    if (!make_integer(&it) || !is_in_range(&it, dtype)) {
        return false;
    }
    memcpy(to, &it.integer, sluice_dtype_size(dtype));
    return true;
}

static sluice_status bad_number(const uint8_t *from, uint64_t position, sluice_dtype own,
                                sluice_dtype dtype)
{
    const number it = read_number(from, own);

    if (it.is_real) {
        return sli_fail(SLUICE_E_CORRUPT, "number %llu, %.17g, must be one of type %s",
                        (unsigned long long)position + 1, it.real, sluice_dtype_name(dtype));
    }
    return it.is_large ? sli_fail(SLUICE_E_CORRUPT, "number %llu, %llu, must be one of type %s",
                                  (unsigned long long)position + 1, (unsigned long long)it.integer,
                                  sluice_dtype_name(dtype))
                       : sli_fail(SLUICE_E_CORRUPT, "number %llu, %lld, must be one of type %s",
                                  (unsigned long long)position + 1, (long long)it.integer,
                                  sluice_dtype_name(dtype));
}

static bool is_half(sluice_dtype dtype)
{
    return dtype == SLUICE_F16 || dtype == SLUICE_BF16;
}

sluice_status record_numbers_convert(const record_value *value, sluice_dtype dtype, void *to)
{
    const size_t size = sluice_dtype_size(dtype);
    const uint8_t *from = value->data;
    size_t own;

    if (value->kind != RECORD_NUMBERS || value->dtype == dtype) {
        if (to != NULL && value->size > 0) {
            memcpy(to, from, value->size);
        }
        return SLUICE_OK;
    }
    if (is_half(dtype) || is_half(value->dtype)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "its numbers are %s, and are not converted to %s: read them as they are, "
                        "and convert them by the stage cast",
                        sluice_dtype_name(value->dtype), sluice_dtype_name(dtype));
    }
    own = sluice_dtype_size(value->dtype);
    for (uint64_t i = 0; i < value->count; i++) {
        uint8_t element[8];

        if (!write_number(read_number(from + i * own, value->dtype), dtype, element)) {
            return bad_number(from + i * own, i, value->dtype, dtype);
        }
        if (to != NULL) {
            memcpy((uint8_t *)to + i * size, element, size);
        }
    }
    return SLUICE_OK;
}
