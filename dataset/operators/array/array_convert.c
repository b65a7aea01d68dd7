/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of all conversions of numbers between types of columns. Loops over blocks of one type,
 * which compilers vectorise. */
#include <math.h>
#include <string.h>

#include "array_values.h"
#include "float16_int.h"

enum { BLOCK = 256 };

/* Numbers between two types: i64 has all integers, f32 all floats. */
typedef struct number_block {
    int64_t integers[BLOCK];
    float reals[BLOCK];
} number_block;

/* ---- integers -------------------------------------------------------------------------------- */

#define EACH_INTEGER(X)                                                                            \
    X(SLUICE_U8, uint8_t)                                                                          \
    X(SLUICE_I8, int8_t)                                                                           \
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

/* ---- any ------------------------------------------------------------------------------------- */

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

static bool convert_block(sluice_dtype from, const void *in, sluice_dtype to, void *out,
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

    if (array_is_integer(dtype)) {
        return (double)integer == value && store_integers(dtype, array, i, 1, &integer);
    }
    return (!isinf(real) || isinf(value)) && store_reals(dtype, array, i, 1, &real);
}
