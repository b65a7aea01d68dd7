/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw row of a MindRecord file: a map of MessagePack, from names of columns to their values.
 * https://github.com/msgpack/msgpack/blob/master/spec.md has the format; numbers are big-endian.
 */
#ifndef SLUICE_MINDRECORD_MAP_H
#define SLUICE_MINDRECORD_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef enum mindrecord_kind {
    MINDRECORD_INTEGER,
    MINDRECORD_REAL,
    MINDRECORD_CHARACTERS,
    MINDRECORD_OTHER /* nil, true, false, byte strings, lists, maps and extensions */
} mindrecord_kind;

/* A value, of which the members of its kind are set. */
typedef struct mindrecord_scalar {
    mindrecord_kind kind;
    int64_t integer;
    double real;
    const uint8_t *text; /* borrowed from the row, without a final zero */
    size_t size;
} mindrecord_scalar;

/* The position in a row, between its entries. */
typedef struct mindrecord_map {
    const uint8_t *begin;
    const uint8_t *at;
    const uint8_t *end;
    uint32_t left; /* entries that follow */
} mindrecord_map;

/* Begins to read a row. E_CORRUPT: it is no map. */
sluice_status mindrecord_map_begin(const uint8_t *bytes, size_t size, mindrecord_map *map_out);

/*
 * Gets the next entry; `key` is borrowed from the row, without a final zero. END_OF_DATA: there are
 * no more. E_CORRUPT: the row is truncated, or corrupt, or bytes follow the last entry; the message
 * has the offset in the row.
 */
sluice_status mindrecord_map_next(mindrecord_map *map, const char **key_out, size_t *length_out,
                                  mindrecord_scalar *value_out);

/* Makes the bits of a float a double, and those of a double the nearest float. NaNs keep their
 * bits, also signalling ones, which a conversion changes. */
double mindrecord_widen(uint32_t bits);
uint32_t mindrecord_narrow(double number);

/* ---- writing --------------------------------------------------------------------------------- */

/* Limit on the bytes that each of these writes. */
enum { MINDRECORD_PUT_MOST = 9 };

/* Write the beginning of a map, an integer, a real, or the beginning of a text; return the number
 * of bytes. */
size_t mindrecord_put_map(uint8_t *to, uint32_t entries);
size_t mindrecord_put_integer(uint8_t *to, int64_t number);
size_t mindrecord_put_float(uint8_t *to, float number);
size_t mindrecord_put_double(uint8_t *to, double number);
size_t mindrecord_put_length(uint8_t *to, uint32_t length);

#endif
