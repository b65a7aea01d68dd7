/* SPDX-License-Identifier: Apache-2.0 */
/* What a record of a record file holds: values by name, in the types of the file's format. */
#ifndef SLUICE_RECORD_VALUES_H
#define SLUICE_RECORD_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/tensor.h>

typedef enum record_kind {
    RECORD_MISSING, /* the record has no such value */
    RECORD_NUMBERS,
    RECORD_BYTES, /* byte strings, such as a file, or the elements of an array */
    RECORD_TEXT   /* the same, of a format that tells texts from bytes */
} record_kind;

/*
 * A value of a record. The data are borrowed from the record's bytes or from the buffer of its
 * reader, and are valid until the next record is read. Numbers are little-endian; they need not be
 * aligned.
 */
typedef struct record_value {
    record_kind kind;
    sluice_dtype dtype; /* of RECORD_NUMBERS */
    uint64_t count;     /* number of numbers or of byte strings, which may be 0 */
    const void *data;   /* all numbers, or the first byte string */
    size_t size;        /* bytes of `data` */
    uint32_t rank;      /* of RECORD_NUMBERS: dimensions in `shape`; 0: the record has no shape */
    uint64_t shape[SLUICE_MAX_RANK];
} record_value;

/* Returns one byte string as a value. */
static inline record_value record_value_bytes(const void *bytes, size_t size)
{
    return (record_value){.kind = RECORD_BYTES, .count = 1, .data = bytes, .size = size};
}

/* Returns numbers without a shape as a value. */
static inline record_value record_value_numbers(sluice_dtype dtype, uint64_t count,
                                                const void *numbers)
{
    return (record_value){.kind = RECORD_NUMBERS,
                          .dtype = dtype,
                          .count = count,
                          .data = numbers,
                          .size = (size_t)count * sluice_dtype_size(dtype)};
}

/* Names of values, each at most once. */
typedef struct record_names {
    uint32_t count;
    const char *names[SLUICE_MAX_COLUMNS];
} record_names;

#endif
