/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_map.h"

#include <math.h>
#include <string.h>

#include "status_int.h"

/* Nested lists and maps, which no column is: they are skipped. */
enum { DEEPEST = 16 };

/* First bytes. */
enum {
    FIX_MAP = 0x80,
    FIX_LIST = 0x90,
    FIX_TEXT = 0xA0,
    NIL = 0xC0,
    UNUSED = 0xC1,
    TRUTH_LAST = 0xC3,
    BINARY_8 = 0xC4,
    EXTENSION_8 = 0xC7,
    FLOAT_32 = 0xCA,
    FLOAT_64 = 0xCB,
    UNSIGNED_8 = 0xCC,
    SIGNED_8 = 0xD0,
    FIX_EXTENSION_1 = 0xD4,
    TEXT_8 = 0xD9,
    TEXT_16 = 0xDA,
    TEXT_32 = 0xDB,
    LIST_16 = 0xDC,
    MAP_16 = 0xDE,
    MAP_32 = 0xDF,
    FIX_NEGATIVE = 0xE0
};

static sluice_status fail_map(const mindrecord_map *map, const char *what)
{
    return sli_fail(SLUICE_E_CORRUPT, "%s at byte %zu of the row's map", what,
                    (size_t)(map->at - map->begin));
}

/* ---- parts ----------------------------------------------------------------------------------- */

static bool has(const mindrecord_map *map, uint64_t size)
{
    return (uint64_t)(map->end - map->at) >= size;
}

/* Gets an unsigned number of 1, 2, 4 or 8 bytes; the caller has checked that they are there. */
static uint64_t get_bytes(mindrecord_map *map, uint32_t size)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < size; i++) {
        number = number << 8 | *map->at++;
    }
    return number;
}

/* Gets a length of 1, 2 or 4 bytes. */
static sluice_status get_length(mindrecord_map *map, uint32_t size, uint64_t *length_out)
{
    if (!has(map, size)) {
        return fail_map(map, "the row ends");
    }
    *length_out = get_bytes(map, size);
    return SLUICE_OK;
}

/* Passes bytes. */
static sluice_status pass_bytes(mindrecord_map *map, uint64_t size)
{
    if (!has(map, size)) {
        return fail_map(map, "the row ends");
    }
    map->at += size;
    return SLUICE_OK;
}

static sluice_status get_text(mindrecord_map *map, uint64_t length, mindrecord_scalar *value)
{
    value->kind = MINDRECORD_CHARACTERS;
    value->text = map->at;
    value->size = (size_t)length;
    return pass_bytes(map, length);
}

/* The lower bits of a double's fraction, which a float's has not. */
enum { FRACTION_MORE = 52 - 23 };

double mindrecord_widen(uint32_t bits)
{
    const uint64_t sign = (uint64_t)(bits >> 31) << 63;
    const uint64_t wide =
        sign | UINT64_C(0x7FF) << 52 | (uint64_t)(bits & 0x7FFFFF) << FRACTION_MORE;
    double number;
    float single;

    memcpy(&single, &bits, sizeof(single));
    if (!isnan(single)) {
        return (double)single;
    }
    memcpy(&number, &wide, sizeof(number));
    return number;
}

uint32_t mindrecord_narrow(double number)
{
    const float single = (float)number;
    uint64_t wide;
    uint32_t bits;

    if (!isnan(number)) {
        memcpy(&bits, &single, sizeof(bits));
        return bits;
    }
    memcpy(&wide, &number, sizeof(wide));
    bits = (uint32_t)(wide >> FRACTION_MORE) & 0x7FFFFF;
    bits = bits != 0 ? bits : UINT32_C(1) << 22; /* else it were infinite */
    return (uint32_t)(wide >> 63) << 31 | UINT32_C(0x7F800000) | bits;
}

/* Gets a number, an integer or a real, after its first byte. */
static sluice_status get_number(mindrecord_map *map, uint8_t first, mindrecord_scalar *value)
{
    const bool is_real = first == FLOAT_32 || first == FLOAT_64;
    const bool is_signed = first >= SIGNED_8;
    const uint32_t size = is_real     ? (first == FLOAT_32 ? 4 : 8)
                          : is_signed ? UINT32_C(1) << (first - SIGNED_8)
                                      : UINT32_C(1) << (first - UNSIGNED_8);
    uint64_t bits;

    if (!has(map, size)) {
        return fail_map(map, "the row ends");
    }
    bits = get_bytes(map, size);
    value->kind = is_real ? MINDRECORD_REAL : MINDRECORD_INTEGER;
    if (first == FLOAT_64) {
        memcpy(&value->real, &bits, sizeof(value->real));
    } else if (first == FLOAT_32) {
        value->real = mindrecord_widen((uint32_t)bits);
    } else if (is_signed) {
        value->integer = (int64_t)(bits << (64 - 8 * size)) >> (64 - 8 * size);
    } else if (bits > INT64_MAX) {
        return fail_map(map, "an integer above 9223372036854775807 ends");
    } else {
        value->integer = (int64_t)bits;
    }
    return SLUICE_OK;
}

/*
 * Gets a value that has no values within, or the beginning of a list or map: *within_out is the
 * number of values that follow.
 */
static sluice_status get_value(mindrecord_map *map, mindrecord_scalar *value, uint64_t *within_out)
{
    uint64_t length = 0;
    sluice_status st;
    uint8_t first;

    *value = (mindrecord_scalar){.kind = MINDRECORD_OTHER};
    *within_out = 0;
    if (!has(map, 1)) {
        return fail_map(map, "the row ends");
    }
    first = *map->at++;
    if (first < FIX_MAP || first >= FIX_NEGATIVE) {
        value->kind = MINDRECORD_INTEGER;
        value->integer = (int8_t)first;
        return SLUICE_OK;
    }
    if (first < FIX_TEXT) {
        *within_out = first < FIX_LIST ? 2 * (uint64_t)(first & 15) : (uint64_t)(first & 15);
        return SLUICE_OK;
    }
    if (first < NIL) {
        return get_text(map, first & 31, value);
    }
    if (first == UNUSED) {
        return fail_map(map, "a byte 0xc1 ends");
    }
    if (first <= TRUTH_LAST) {
        return SLUICE_OK;
    }
    if (first >= FLOAT_32 && first < FIX_EXTENSION_1) {
        return get_number(map, first, value);
    }
    if (first >= FIX_EXTENSION_1 && first < TEXT_8) {
        return pass_bytes(map, 1 + (UINT64_C(1) << (first - FIX_EXTENSION_1)));
    }
    if (first >= LIST_16) {
        st = get_length(map, first == LIST_16 || first == MAP_16 ? 2 : 4, &length);
        *within_out = first >= MAP_16 ? 2 * length : length;
        return st;
    }
    if (first >= TEXT_8) {
        st = get_length(map, UINT32_C(1) << (first - TEXT_8), &length);
        return st == SLUICE_OK ? get_text(map, length, value) : st;
    }
    st = get_length(map, UINT32_C(1) << ((first - BINARY_8) % 3), &length);
    length += first >= EXTENSION_8; /* the type of an extension */
    return st == SLUICE_OK ? pass_bytes(map, length) : st;
}

/* Passes the values of a list or map, which were announced. */
static sluice_status pass_values(mindrecord_map *map, uint64_t count)
{
    uint64_t left[DEEPEST];
    uint32_t depth = 1;
    sluice_status st = SLUICE_OK;

    left[0] = count;
    while (depth > 0 && st == SLUICE_OK) {
        mindrecord_scalar value;
        uint64_t within = 0;

        if (left[depth - 1] == 0) {
            depth--;
            continue;
        }
        left[depth - 1]--;
        st = get_value(map, &value, &within);
        if (st == SLUICE_OK && within > 0) {
            if (depth == DEEPEST) {
                return fail_map(map, "more than 16 lists and maps are nested");
            }
            left[depth++] = within;
        }
    }
    return st;
}

/* ---- entries --------------------------------------------------------------------------------- */

sluice_status mindrecord_map_begin(const uint8_t *bytes, size_t size, mindrecord_map *map_out)
{
    mindrecord_map map = {.begin = bytes, .at = bytes, .end = bytes + size};
    const uint8_t first = size > 0 ? bytes[0] : UNUSED;
    uint64_t entries = first & 15;
    sluice_status st = SLUICE_OK;

    if ((first < FIX_MAP || first >= FIX_LIST) && first != MAP_16 && first != MAP_32) {
        return fail_map(&map, "no map begins");
    }
    map.at++;
    if (first >= MAP_16) {
        st = get_length(&map, first == MAP_16 ? 2 : 4, &entries);
    }
    if (st == SLUICE_OK) {
        map.left = (uint32_t)entries;
        *map_out = map;
    }
    return st;
}

sluice_status mindrecord_map_next(mindrecord_map *map, const char **key_out, size_t *length_out,
                                  mindrecord_scalar *value_out)
{
    mindrecord_scalar key;
    uint64_t within = 0;
    sluice_status st;

    if (map->left == 0) {
        return map->at == map->end ? SLUICE_END_OF_DATA
                                   : fail_map(map, "bytes follow the last entry");
    }
    map->left--;
    st = get_value(map, &key, &within);
    if (st == SLUICE_OK && key.kind != MINDRECORD_CHARACTERS) {
        st = fail_map(map, "a name that must be a text ends");
    }
    st = st == SLUICE_OK ? get_value(map, value_out, &within) : st;
    st = st == SLUICE_OK && within > 0 ? pass_values(map, within) : st;
    if (st == SLUICE_OK) {
        *key_out = (const char *)key.text;
        *length_out = key.size;
    }
    return st;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes a first byte, and a number of `size` bytes. */
static size_t put_bytes(uint8_t *to, uint8_t first, uint64_t number, uint32_t size)
{
    to[0] = first;
    for (uint32_t i = 0; i < size; i++) {
        to[1 + i] = (uint8_t)(number >> 8 * (size - 1 - i));
    }
    return 1 + (size_t)size;
}

size_t mindrecord_put_map(uint8_t *to, uint32_t entries)
{
    return entries < 16 ? put_bytes(to, (uint8_t)(FIX_MAP | entries), 0, 0)
                        : put_bytes(to, MAP_32, entries, 4);
}

size_t mindrecord_put_integer(uint8_t *to, int64_t number)
{
    if (number >= -32 && number < 128) {
        return put_bytes(to, (uint8_t)number, 0, 0);
    }
    return number >= INT32_MIN && number <= INT32_MAX
               ? put_bytes(to, SIGNED_8 + 2, (uint64_t)number, 4)
               : put_bytes(to, SIGNED_8 + 3, (uint64_t)number, 8);
}

size_t mindrecord_put_float(uint8_t *to, float number)
{
    uint32_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return put_bytes(to, FLOAT_32, bits, 4);
}

size_t mindrecord_put_double(uint8_t *to, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof(bits));
    return put_bytes(to, FLOAT_64, bits, 8);
}

size_t mindrecord_put_length(uint8_t *to, uint32_t length)
{
    return length < 32      ? put_bytes(to, (uint8_t)(FIX_TEXT | length), 0, 0)
           : length < 65536 ? put_bytes(to, TEXT_16, length, 2)
                            : put_bytes(to, TEXT_32, length, 4);
}
