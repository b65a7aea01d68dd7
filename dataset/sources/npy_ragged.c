/* SPDX-License-Identifier: Apache-2.0 */
#include "npy_ragged.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "operators/array/array_values.h"
#include "status_int.h"

/* Limit on the bytes of a sample's rows, as of lists and shards. */
enum { MOST_ROW = 1 << 26 };

/* One entry of the list. */
typedef struct ragged_entry {
    char name[SLUICE_NAME_SIZE];
    char rows[SLUICE_NAME_SIZE]; /* the column whose length counts: `name`, or that after @ */
    uint64_t most;
} ragged_entry;

static sluice_status bad_entry(const char *text)
{
    return sli_fail(SLUICE_E_INVALID,
                    "npy: ragged=%.100s must be NAME[N], or NAME[N]@ROWS, with commas between them",
                    text);
}

/* Copies [from, to) as a name. False: it is empty or too long. */
static bool take_name(const char *from, const char *to, char *name)
{
    const size_t length = (size_t)(to - from);

    if (length == 0 || length >= SLUICE_NAME_SIZE) {
        return false;
    }
    memcpy(name, from, length);
    name[length] = '\0';
    return true;
}

/* Parses the entry that ends at `end`. */
static sluice_status parse_entry(const char *text, const char *end, ragged_entry *entry)
{
    const char *open = memchr(text, '[', (size_t)(end - text));
    char *close = NULL;

    if (open == NULL || !take_name(text, open, entry->name) || open[1] < '1' || open[1] > '9') {
        return bad_entry(text);
    }
    entry->most = strtoull(open + 1, &close, 10);
    if (close >= end || *close != ']' || close - open > 10) {
        return bad_entry(text);
    }
    close++;
    memcpy(entry->rows, entry->name, sizeof(entry->rows));
    return close == end || (*close == '@' && take_name(close + 1, end, entry->rows))
               ? SLUICE_OK
               : bad_entry(text);
}

static sluice_status find_array(npy_arrays *arrays, const char *name, npy_array **array_out)
{
    for (uint32_t i = 0; i < arrays->count; i++) {
        if (strcmp(arrays->arrays[i].column.name, name) == 0) {
            *array_out = &arrays->arrays[i];
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "npy: ragged= needs an array %s, and none has this name; NAME_length has the "
                    "number of rows of each sample",
                    name);
}

/* Reads the number of rows of each sample, and makes the column i32, in memory. */
static sluice_status hold_lengths(npy_array *lengths)
{
    const uint64_t count = lengths->header.shape[0];
    const sluice_dtype dtype = lengths->column.dtype;
    int32_t *held;
    sluice_status st = SLUICE_OK;

    if (lengths->column.rank != 0 || !array_is_integer(dtype)) {
        return sli_fail(SLUICE_E_INVALID, "npy: %s must be one whole number for each sample",
                        lengths->column.name);
    }
    held = sli_calloc((size_t)count + 1, sizeof(*held));
    if (held == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "npy: %s", lengths->column.name);
    }
    for (uint64_t i = 0; i < count && st == SLUICE_OK; i++) {
        uint64_t number = 0;
        int64_t length;

        st = npy_array_read(lengths, i, (uint8_t *)&number);
        length = array_integer(dtype, &number, 0);
        if (st == SLUICE_OK && (length < 0 || length > INT32_MAX)) {
            st = sli_fail(SLUICE_E_CORRUPT,
                          "npy: %s of sample %" PRIu64 " is %" PRId64 ", and must be 0 to %d",
                          lengths->column.name, i, length, INT32_MAX);
        }
        held[i] = (int32_t)length;
    }
    if (st != SLUICE_OK) {
        sli_free(held);
        return st;
    }
    sli_free(lengths->memory);
    lengths->memory = (uint8_t *)held;
    lengths->memory_size = (count + 1) * sizeof(*held);
    lengths->held = lengths->memory;
    lengths->column.dtype = SLUICE_I32;
    lengths->header.row_bytes = sizeof(*held);
    lengths->header.is_swapped = false;
    lengths->counts = true;
    return SLUICE_OK;
}

/* Finds where the rows of each sample begin. */
static sluice_status find_starts(npy_array *array, const npy_array *lengths)
{
    const int32_t *held = (const int32_t *)(const void *)lengths->held;
    const uint64_t count = lengths->header.shape[0];
    uint64_t at = 0;

    array->starts = sli_calloc((size_t)count + 1, sizeof(*array->starts));
    if (array->starts == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "npy: %s", array->column.name);
    }
    for (uint64_t i = 0; i < count; i++) {
        array->starts[i] = at;
        at += (uint64_t)held[i];
    }
    array->starts[count] = at;
    array->samples = count;
    return at == array->header.shape[0]
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT,
                          "npy: %s has %" PRIu64 " rows, and must have %" PRIu64 ", the sum of %s",
                          array->column.name, array->header.shape[0], at, lengths->column.name);
}

/* Checks that the ragged arrays with the same lengths have room for as many rows. */
static sluice_status check_most(const npy_arrays *arrays, const ragged_entry *entry, uint32_t rows)
{
    for (uint32_t i = 0; i < arrays->count; i++) {
        const npy_array *array = &arrays->arrays[i];

        if (array->rows == rows && array->column.shape[0] != entry->most) {
            return sli_fail(SLUICE_E_INVALID,
                            "npy: ragged=%s[%" PRIu64 "] must be %s[%" PRIu64
                            "], with the N of %s, which has as many rows",
                            entry->name, entry->most, entry->name, array->column.shape[0],
                            array->column.name);
        }
    }
    return SLUICE_OK;
}

static sluice_status make_ragged(npy_arrays *arrays, const ragged_entry *entry)
{
    char name[SLUICE_NAME_SIZE + 8];
    npy_array *array = NULL;
    npy_array *lengths = NULL;
    uint32_t rows = 0;
    sluice_status st = find_array(arrays, entry->name, &array);

    snprintf(name, sizeof(name), "%s_length", entry->rows);
    if (st == SLUICE_OK) {
        st = find_array(arrays, name, &lengths);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (array->starts != NULL || array->counts || array == lengths ||
        array->column.rank == SLUICE_MAX_RANK || entry->most > MOST_ROW / array->header.row_bytes) {
        return sli_fail(SLUICE_E_INVALID,
                        "npy: ragged=%s[%" PRIu64 "] must be one array of at most %d dimensions, "
                        "and a sample of %d bytes at most",
                        entry->name, entry->most, SLUICE_MAX_RANK, MOST_ROW);
    }
    rows = (uint32_t)(lengths - arrays->arrays) + 1;
    st = check_most(arrays, entry, rows);
    if (st == SLUICE_OK && !lengths->counts) {
        st = hold_lengths(lengths);
    }
    if (st == SLUICE_OK) {
        st = find_starts(array, lengths);
    }
    if (st == SLUICE_OK) {
        sluice_column *column = &array->column;

        memmove(&column->shape[1], &column->shape[0], column->rank * sizeof(column->shape[0]));
        column->shape[0] = entry->most;
        column->rank++;
        array->rows = rows;
    }
    return st;
}

sluice_status npy_ragged_make(const char *list, npy_arrays *arrays)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && *list != '\0') {
        const char *end = list + strcspn(list, ",");
        ragged_entry entry;

        st = parse_entry(list, end, &entry);
        if (st == SLUICE_OK) {
            st = make_ragged(arrays, &entry);
        }
        list = *end == ',' ? end + 1 : end;
    }
    return st;
}
