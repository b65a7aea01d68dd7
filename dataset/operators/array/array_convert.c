/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of all conversions of numbers between types of columns. Loops over blocks of one type,
 * which compilers vectorise. u64 and f64 have values that the types between do not hold. */
#include <math.h>
#include <string.h>

#include "array_values.h"
#include "float16_int.h"

enum { BLOCK = 256 };

/* Numbers between two types: i64 has all integers but those of u64, f32 all floats but those of
 * f64. */
typedef struct number_block {
    int64_t integers[BLOCK];
    float reals[BLOCK];
} number_block;

/* ---- integers -------------------------------------------------------------------------------- */

#define EACH_INTEGER(X)                                                                            \
    X(SLUICE_U8, uint8_t)                                                                          \
    X(SLUICE_I8, int8_t)                                                                           \
    X(SLUICE_I16, int16_t)                                                                         \
    X(SLUICE_U16, uint16_t)                                                                        \
    X(SLUICE_I32, int32_t)                                                                         \
    X(SLUICE_U32, uint32_t)                                                                        \
    X(SLUICE_I64, int64_t)

static void load_integers(sluice_dtype from, const void *in, size_t first, size_t count,
                          int64_t *block)
{
    switch (from) {
#define LOAD(name, type)                                                                           \
    case name:                                                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            block[i] = ((const type *)in)[first + i];                                              \
        }                                                                                          \
        break;
        EACH_INTEGER(LOAD)
#undef LOAD
    default:
        break;
    }
}

/* Returns false if `to` cannot represent one of the numbers. */
static bool store_integers(sluice_dtype to, void *out, size_t first, size_t count,
                           const int64_t *block)
{
    int64_t lost = 0;

    switch (to) {
#define STORE(name, type)                                                                          \
    case name:                                                                                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            const type value = (type)block[i];                                                     \
                                                                                                   \
            lost |= (int64_t)value ^ block[i];                                                     \
            ((type *)out)[first + i] = value;                                                      \
        }                                                                                          \
        break;
        EACH_INTEGER(STORE)
#undef STORE
    default:
        break;
    }
    return lost == 0;
}

/* ---- floats ---------------------------------------------------------------------------------- */

static void load_reals(sluice_dtype from, const void *in, size_t first, size_t count, float *block)
{
    const uint16_t *halves = (const uint16_t *)in + first;

    if (from == SLUICE_F32) {
        memcpy(block, (const float *)in + first, count * sizeof(*block));
        return;
    }
    for (size_t i = 0; i < count && from == SLUICE_F16; i++) {
        block[i] = sli_f32_of_f16(halves[i]);
    }
    for (size_t i = 0; i < count && from == SLUICE_BF16; i++) {
        block[i] = sli_f32_of_bf16(halves[i]);
    }
}

/* True if the bits of a float have the exponent of infinities and NaN. */
static inline uint32_t is_special(uint32_t bits)
{
    return (bits & 0x7F800000) == 0x7F800000;
}

/* Returns false if one of the numbers is finite, and rounds to an infinity. */
static bool store_reals(sluice_dtype to, void *out, size_t first, size_t count, const float *block)
{
    uint16_t *halves = (uint16_t *)out + first;
    uint32_t lost = 0;

    if (to == SLUICE_F32) {
        memcpy((float *)out + first, block, count * sizeof(*block));
        return true;
    }
    for (size_t i = 0; i < count && to == SLUICE_F16; i++) {
        halves[i] = sli_f16_of_f32(block[i]);
        lost |= (uint32_t)((halves[i] & 0x7C00) == 0x7C00) & !is_special(sli_f32_bits(block[i]));
    }
    for (size_t i = 0; i < count && to == SLUICE_BF16; i++) {
        halves[i] = sli_bf16_of_f32(block[i]);
        lost |= (uint32_t)((halves[i] & 0x7F80) == 0x7F80) & !is_special(sli_f32_bits(block[i]));
    }
    return lost == 0;
}

/* ---- by way of i64 and f32 ------------------------------------------------------------------- */

static void round_integers(const int64_t *integers, size_t count, float *reals)
{
    for (size_t i = 0; i < count; i++) {
        reals[i] = (float)integers[i];
    }
}

/* Returns false if one of the numbers is NaN, or beyond i64. */
static bool truncate_reals(const float *reals, size_t count, int64_t *integers)
{
    bool fits = true;

    for (size_t i = 0; i < count; i++) {
        const bool is_within = reals[i] >= -0x1p63F && reals[i] < 0x1p63F;

        fits = fits && is_within;
        integers[i] = is_within ? (int64_t)reals[i] : 0;
    }
    return fits;
}

/* Converts between all types but u64 and f64. */
static bool convert_usual(sluice_dtype from, const void *in, sluice_dtype to, void *out,
                          size_t first, size_t count)
{
    number_block block;

    if (array_is_integer(from)) {
        load_integers(from, in, first, count, block.integers);
        if (array_is_integer(to)) {
            return store_integers(to, out, first, count, block.integers);
        }
        round_integers(block.integers, count, block.reals);
        return store_reals(to, out, first, count, block.reals);
    }
    load_reals(from, in, first, count, block.reals);
    return array_is_integer(to) ? truncate_reals(block.reals, count, block.integers) &&
                                      store_integers(to, out, first, count, block.integers)
                                : store_reals(to, out, first, count, block.reals);
}

/* ---- u64 ------------------------------------------------------------------------------------- */

static bool convert_u64(const uint64_t *in, sluice_dtype to, void *out, size_t first, size_t count)
{
    number_block block;
    bool fits = true;

    for (size_t i = 0; i < count; i++) {
        const uint64_t number = in[first + i];

        fits = fits && number <= INT64_MAX;
        block.integers[i] = number <= INT64_MAX ? (int64_t)number : 0;
        block.reals[i] = (float)number;
    }
    return array_is_integer(to) ? fits && store_integers(to, out, first, count, block.integers)
                                : store_reals(to, out, first, count, block.reals);
}

static bool reals_to_u64(const double *reals, size_t count, uint64_t *out)
{
    bool fits = true;

    for (size_t i = 0; i < count; i++) {
        const bool is_within = reals[i] > -1 && reals[i] < 0x1p64;

        fits = fits && is_within;
        out[i] = is_within && reals[i] > 0 ? (uint64_t)reals[i] : 0;
    }
    return fits;
}

static bool convert_to_u64(sluice_dtype from, const void *in, uint64_t *out, size_t first,
                           size_t count)
{
    number_block block;
    double reals[BLOCK];
    bool fits = true;

    if (array_is_integer(from)) {
        load_integers(from, in, first, count, block.integers);
        for (size_t i = 0; i < count; i++) {
            fits = fits && block.integers[i] >= 0;
            out[first + i] = (uint64_t)block.integers[i];
        }
        return fits;
    }
    load_reals(from, in, first, count, block.reals);
    for (size_t i = 0; i < count; i++) {
        reals[i] = (double)block.reals[i];
    }
    return reals_to_u64(reals, count, out + first);
}

/* ---- f64 ------------------------------------------------------------------------------------- */

static bool convert_f64(const double *in, sluice_dtype to, void *out, size_t first, size_t count)
{
    const double *numbers = in + first;
    number_block block;
    bool fits = true;

    if (to == SLUICE_U64) {
        return reals_to_u64(numbers, count, (uint64_t *)out + first);
    }
    if (array_is_integer(to)) {
        for (size_t i = 0; i < count; i++) {
            const bool is_within = numbers[i] >= -0x1p63 && numbers[i] < 0x1p63;

            fits = fits && is_within;
            block.integers[i] = is_within ? (int64_t)numbers[i] : 0;
        }
        return fits && store_integers(to, out, first, count, block.integers);
    }
    for (size_t i = 0; i < count; i++) {
        block.reals[i] = (float)numbers[i];
        fits = fits && (!isinf(block.reals[i]) || isinf(numbers[i]));
    }
    return fits && store_reals(to, out, first, count, block.reals);
}

static bool convert_to_f64(sluice_dtype from, const void *in, double *out, size_t first,
                           size_t count)
{
    number_block block;

    if (from == SLUICE_U64) {
        for (size_t i = first; i < first + count; i++) {
            out[i] = (double)((const uint64_t *)in)[i];
        }
        return true;
    }
    if (array_is_integer(from)) {
        load_integers(from, in, first, count, block.integers);
        for (size_t i = 0; i < count; i++) {
            out[first + i] = (double)block.integers[i];
        }
        return true;
    }
    load_reals(from, in, first, count, block.reals);
    for (size_t i = 0; i < count; i++) {
        out[first + i] = (double)block.reals[i];
    }
    return true;
}

/* ---- any ------------------------------------------------------------------------------------- */

static bool convert_block(sluice_dtype from, const void *in, sluice_dtype to, void *out,
                          size_t first, size_t count)
{
    const size_t size = sluice_dtype_size(from);

    if (from == to) {
        memcpy((uint8_t *)out + first * size, (const uint8_t *)in + first * size, count * size);
        return true;
    }
    if (to == SLUICE_F64) {
        return convert_to_f64(from, in, out, first, count);
    }
    if (from == SLUICE_F64) {
        return convert_f64(in, to, out, first, count);
    }
    if (from == SLUICE_U64) {
        return convert_u64(in, to, out, first, count);
    }
    return to == SLUICE_U64 ? convert_to_u64(from, in, out, first, count)
                            : convert_usual(from, in, to, out, first, count);
}

size_t array_convert(sluice_dtype from, const void *in, sluice_dtype to, void *out, size_t count)
{
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t now = count - first < BLOCK ? count - first : BLOCK;
        size_t i = first;

        if (convert_block(from, in, to, out, first, now)) {
            continue;
        }
        while (convert_block(from, in, to, out, i, 1)) {
            i++;
        }
        return i;
    }
    return count;
}

bool array_store_real(sluice_dtype dtype, void *array, size_t i, double value)
{
    const float real = (float)value;
    const int64_t integer = value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : 0;

    if (dtype == SLUICE_F64) {
        ((double *)array)[i] = value;
        return true;
    }
    if (dtype == SLUICE_U64) {
        return reals_to_u64(&value, 1, (uint64_t *)array + i) &&
               (double)((uint64_t *)array)[i] == value;
    }
    if (array_is_integer(dtype)) {
        return (double)integer == value && store_integers(dtype, array, i, 1, &integer);
    }
    return (!isinf(real) || isinf(value)) && store_reals(dtype, array, i, 1, &real);
}
