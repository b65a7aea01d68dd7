/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_rows.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bytes_int.h"
#include "mindrecord_ints.h"
#include "mindrecord_map.h"
#include "status_int.h"

enum { LENGTH_BYTES = 8, NUMBER_BYTES = 8 };

/* A wanted column: where its value is, before numbers are unpacked. */
typedef struct found_value {
    const mindrecord_column *column; /* NULL: the file has no such column */
    const uint8_t *bytes;            /* of a blob */
    size_t size;
    mindrecord_scalar scalar; /* of a column in the raw row */
    bool is_there;
    uint64_t count; /* of an array */
} found_value;

/* Adds the name of a column to an error. */
static sluice_status name_column(sluice_status status, const char *name)
{
    return sli_fail_quoting(status, "the column %.60s: %.700s", name, sluice_last_error());
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Finds the wanted entries of the raw row. */
static sluice_status find_scalars(const record_part *raw, found_value *found, uint32_t count)
{
    mindrecord_map map;
    sluice_status st = mindrecord_map_begin(raw->bytes, raw->size, &map);

    while (st == SLUICE_OK) {
        const char *key = NULL;
        size_t length = 0;
        mindrecord_scalar value;

        st = mindrecord_map_next(&map, &key, &length, &value);
        for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
            const mindrecord_column *column = found[i].column;

            if (column == NULL || column->blob >= 0 || strlen(column->name) != length ||
                memcmp(column->name, key, length) != 0) {
                continue;
            }
            if (found[i].is_there) {
                st = sli_fail(SLUICE_E_CORRUPT, "a row with two columns %.60s", column->name);
                break;
            }
            found[i].scalar = value;
            found[i].is_there = true;
        }
    }
    return st == SLUICE_END_OF_DATA ? SLUICE_OK : st;
}

/* Splits a blob row of several columns: for each a length, u64 big-endian, and its bytes. */
static sluice_status find_blob(const mindrecord_header *header, const record_part *blob,
                               uint32_t number, const uint8_t **bytes_out, size_t *size_out)
{
    const uint8_t *at = blob->bytes;
    size_t left = blob->size;

    if (header->blob_count == 1) {
        *bytes_out = blob->bytes;
        *size_out = blob->size;
        return SLUICE_OK;
    }
    for (uint32_t i = 0; i < header->blob_count; i++) {
        uint64_t length = 0;

        for (int k = 0; k < LENGTH_BYTES && left >= LENGTH_BYTES; k++) {
            length = length << 8 | at[k];
        }
        if (left < LENGTH_BYTES || length > left - LENGTH_BYTES) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "column %u of %u in the blob row ends after its last byte, %zu", i + 1,
                            header->blob_count, blob->size);
        }
        if (i == number) {
            *bytes_out = at + LENGTH_BYTES;
            *size_out = (size_t)length;
        }
        at += LENGTH_BYTES + length;
        left -= LENGTH_BYTES + (size_t)length;
    }
    return left == 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "%zu bytes follow the columns of a blob row", left);
}

/* Gets the number of elements of an array, and checks its shape. */
static sluice_status count_elements(found_value *found)
{
    const mindrecord_column *column = found->column;
    const size_t width = mindrecord_type_size(column->type);
    uint64_t product = 1;
    bool varies = false;
    sluice_status st = SLUICE_OK;

    if (mindrecord_is_packed(column)) {
        st = mindrecord_ints_count(found->bytes, found->size, &found->count);
    } else if (found->size % width != 0) {
        st = sli_fail(SLUICE_E_CORRUPT, "%zu bytes must be a multiple of %zu, the size of %s",
                      found->size, width, mindrecord_type_name(column->type));
    } else {
        found->count = found->size / width;
    }
    for (uint32_t i = 0; i < column->rank && st == SLUICE_OK; i++) {
        varies = varies || column->shape[i] == 0;
        product *= column->shape[i] > 0 ? column->shape[i] : 1;
        if (product > UINT32_MAX) {
            return sli_fail(SLUICE_E_UNSUPPORTED, "its shape has more than 4294967295 elements");
        }
    }
    if (st == SLUICE_OK && (varies ? found->count % product != 0 : found->count != product)) {
        st = sli_fail(SLUICE_E_CORRUPT, "%" PRIu64 " elements, and its shape has %s%" PRIu64,
                      found->count, varies ? "a multiple of " : "", product);
    }
    return st;
}

/* Finds the bytes of the wanted columns. */
static sluice_status find_values(const mindrecord_header *header, const record_part *parts,
                                 const record_names *wanted, found_value *found)
{
    bool needs_map = false;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < wanted->count && st == SLUICE_OK; i++) {
        const mindrecord_column *column = mindrecord_find_column(header, wanted->names[i]);

        found[i] = (found_value){.column = column};
        needs_map = needs_map || (column != NULL && column->blob < 0);
        if (column == NULL || column->blob < 0) {
            continue;
        }
        st = find_blob(header, &parts[MINDRECORD_BLOB], (uint32_t)column->blob, &found[i].bytes,
                       &found[i].size);
        if (st == SLUICE_OK && column->rank > 0) {
            st = count_elements(&found[i]);
            st = st == SLUICE_OK ? st : name_column(st, column->name);
        }
    }
    return st == SLUICE_OK && needs_map ? find_scalars(&parts[MINDRECORD_RAW], found, wanted->count)
                                        : st;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Writes a number of the raw row. */
static sluice_status put_number(const found_value *found, uint8_t *to)
{
    const mindrecord_scalar *scalar = &found->scalar;
    const mindrecord_type type = found->column->type;
    const double real = scalar->kind == MINDRECORD_INTEGER ? (double)scalar->integer : scalar->real;

    if (scalar->kind != MINDRECORD_INTEGER && scalar->kind != MINDRECORD_REAL) {
        return sli_fail(SLUICE_E_CORRUPT, "its value must be a number");
    }
    if (type == MINDRECORD_FLOAT64) {
        uint64_t bits;

        memcpy(&bits, &real, sizeof(bits));
        sli_put_u64(to, bits);
        return SLUICE_OK;
    }
    if (type == MINDRECORD_FLOAT32) {
        if (isfinite(real) && fabs(real) > (double)FLT_MAX) {
            return sli_fail(SLUICE_E_CORRUPT, "its value is beyond float32");
        }
        sli_put_u32(to, mindrecord_narrow(real));
        return SLUICE_OK;
    }
    if (scalar->kind != MINDRECORD_INTEGER) {
        return sli_fail(SLUICE_E_CORRUPT, "its value must be an integer");
    }
    if (type == MINDRECORD_INT64) {
        sli_put_u64(to, (uint64_t)scalar->integer);
        return SLUICE_OK;
    }
    if (scalar->integer < INT32_MIN || scalar->integer > INT32_MAX) {
        return sli_fail(SLUICE_E_CORRUPT, "its value is %" PRId64 ", beyond int32",
                        scalar->integer);
    }
    sli_put_u32(to, (uint32_t)scalar->integer);
    return SLUICE_OK;
}

/* Bytes of the scratch memory that a value needs. */
static size_t scratch_of(const found_value *found)
{
    if (found->column == NULL || mindrecord_type_size(found->column->type) == 0) {
        return 0;
    }
    return found->column->rank == 0 ? NUMBER_BYTES
           : mindrecord_is_packed(found->column)
               ? (size_t)found->count * mindrecord_type_size(found->column->type)
               : 0;
}

/* Sets the value of an array; `to` is where integers are unpacked. */
static sluice_status set_array(const found_value *found, uint8_t *to, record_value *value)
{
    const mindrecord_column *column = found->column;
    const uint32_t width = (uint32_t)mindrecord_type_size(column->type);
    uint64_t known = 1;

    *value = (record_value){.kind = RECORD_NUMBERS,
                            .dtype = mindrecord_dtype(column->type),
                            .count = found->count,
                            .data = mindrecord_is_packed(column) ? to : found->bytes,
                            .size = (size_t)found->count * width,
                            .rank = column->rank};
    for (uint32_t i = 0; i < column->rank; i++) {
        known *= column->shape[i] > 0 ? column->shape[i] : 1;
    }
    for (uint32_t i = 0; i < column->rank; i++) {
        value->shape[i] = column->shape[i] > 0 ? column->shape[i] : found->count / known;
    }
    return mindrecord_is_packed(column) ? mindrecord_ints_unpack(found->bytes, width, to)
                                        : SLUICE_OK;
}

/* Sets a value; numbers are written to the scratch memory at `to`. */
static sluice_status set_value(const found_value *found, uint8_t *to, record_value *value)
{
    const mindrecord_column *column = found->column;

    *value = (record_value){.kind = RECORD_MISSING};
    if (column == NULL || (column->blob < 0 && !found->is_there)) {
        return SLUICE_OK;
    }
    if (column->rank > 0) {
        return set_array(found, to, value);
    }
    if (column->blob >= 0) {
        *value = (record_value){
            .kind = RECORD_BYTES, .count = 1, .data = found->bytes, .size = found->size};
        return SLUICE_OK;
    }
    if (column->type == MINDRECORD_STRING) {
        *value = (record_value){.kind = RECORD_TEXT,
                                .count = 1,
                                .data = found->scalar.text,
                                .size = found->scalar.size};
        return found->scalar.kind == MINDRECORD_CHARACTERS
                   ? SLUICE_OK
                   : sli_fail(SLUICE_E_CORRUPT, "its value must be a text");
    }
    *value = (record_value){.kind = RECORD_NUMBERS,
                            .dtype = mindrecord_dtype(column->type),
                            .count = 1,
                            .data = to,
                            .size = mindrecord_type_size(column->type)};
    return put_number(found, to);
}

sluice_status mindrecord_parse(const mindrecord_header *header, const record_part *parts,
                               const record_names *wanted, image_buffer *scratch,
                               record_value *values_out)
{
    found_value found[SLUICE_MAX_COLUMNS];
    size_t need = 0;
    uint8_t *to;
    sluice_status st = find_values(header, parts, wanted, found);

    for (uint32_t i = 0; i < wanted->count && st == SLUICE_OK; i++) {
        need += scratch_of(&found[i]);
    }
    st = st == SLUICE_OK && need > 0 ? image_buffer_reserve(scratch, need) : st;
    to = scratch->data; /* may be NULL if nothing is needed */
    for (uint32_t i = 0; i < wanted->count && st == SLUICE_OK; i++) {
        const size_t size = scratch_of(&found[i]);

        st = set_value(&found[i], to, &values_out[i]);
        if (st != SLUICE_OK) {
            return name_column(st, found[i].column->name);
        }
        to = size > 0 ? to + size : to;
    }
    return st;
}
