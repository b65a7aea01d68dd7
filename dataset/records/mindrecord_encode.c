/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_encode.h"

#include <inttypes.h>
#include <string.h>

#include "bytes_int.h"
#include "mindrecord_ints.h"
#include "mindrecord_map.h"
#include "printable_int.h"
#include "record_numbers.h"
#include "status_int.h"

/* MindSpore's rows without columns of a kind: a map with an id, and four zeros. */
static const char dummy_name[] = "id";
enum { DUMMY_BLOB = 4, BLOB_LENGTH = 8 };

/* ---- checks ---------------------------------------------------------------------------------- */

/* Checks that an array has the shape of its field. */
static sluice_status check_shape(const mindrecord_field *field, const record_value *value)
{
    uint64_t product = 1;

    if (value->rank != field->rank) {
        return sli_fail(SLUICE_E_CORRUPT, "%u dimensions must be %u", value->rank, field->rank);
    }
    for (uint32_t i = 0; i < field->rank; i++) {
        if (field->shape[i] != 0 && value->shape[i] != field->shape[i]) {
            return sli_fail(SLUICE_E_CORRUPT, "dimension %u is %" PRIu64 ", and must be %" PRIu64,
                            i + 1, value->shape[i], field->shape[i]);
        }
        product *= value->shape[i];
    }
    return product == value->count
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "%" PRIu64 " numbers must be %" PRIu64, value->count,
                          product);
}

/* Checks that a text is UTF-8: MindSpore refuses other strings, or changes them. */
static sluice_status check_text(const record_value *value)
{
    const char *text = value->data;
    size_t length;

    if (value->size > UINT32_MAX) {
        return sli_fail(SLUICE_E_UNSUPPORTED, "a text has more than 2^32 - 1 bytes");
    }
    for (size_t i = 0; i < value->size; i += length) {
        char one[5] = "";

        memcpy(one, text + i, value->size - i < 4 ? value->size - i : 4);
        length = sli_utf8_length(one);
        if (length == 0) {
            return sli_fail(
                SLUICE_E_UNSUPPORTED,
                "byte %zu of the text is not valid UTF-8, which strings of MindRecord must be",
                i + 1);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_value(const mindrecord_field *field, const record_value *value)
{
    if (value->kind != field->kind ||
        (field->kind == RECORD_NUMBERS && value->dtype != field->dtype)) {
        return sli_fail(SLUICE_E_CORRUPT, "its value is %s",
                        value->kind == RECORD_MISSING ? "missing" : "of another type");
    }
    if (field->rank > 0 && field->kind == RECORD_NUMBERS) {
        return value->count <= UINT32_MAX
                   ? check_shape(field, value)
                   : sli_fail(SLUICE_E_UNSUPPORTED, "an array has more than 2^32 - 1 elements");
    }
    if (value->count != 1) {
        return sli_fail(SLUICE_E_CORRUPT, "%" PRIu64 " values must be one", value->count);
    }
    return field->kind == RECORD_TEXT ? check_text(value) : SLUICE_OK;
}

static sluice_status check_values(const mindrecord_layout *layout, const record_value *values)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < layout->count && st == SLUICE_OK; i++) {
        st = check_value(&layout->fields[i], &values[i]);
        if (st != SLUICE_OK) {
            return sli_fail_quoting(st, "column %.60s: %.600s", layout->fields[i].name,
                                    sluice_last_error());
        }
    }
    return st;
}

/* ---- the raw row ----------------------------------------------------------------------------- */

/* Writes a number of one element. */
static sluice_status put_number(const mindrecord_column *column, const record_value *value,
                                uint8_t *to, size_t *size_out)
{
    uint8_t bytes[8] = {0};
    const sluice_status st = record_numbers_convert(value, mindrecord_dtype(column->type), bytes);
    const uint64_t bits = sli_get_u64(bytes);
    const uint32_t low = (uint32_t)bits;
    double real;
    float single;

    memcpy(&real, &bits, sizeof(real));
    memcpy(&single, &low, sizeof(single));
    *size_out = column->type == MINDRECORD_INT32     ? mindrecord_put_integer(to, (int32_t)low)
                : column->type == MINDRECORD_INT64   ? mindrecord_put_integer(to, (int64_t)bits)
                : column->type == MINDRECORD_FLOAT32 ? mindrecord_put_float(to, single)
                                                     : mindrecord_put_double(to, real);
    return st;
}

static size_t put_text(uint8_t *to, const void *text, size_t size)
{
    const size_t head = mindrecord_put_length(to, (uint32_t)size);

    if (size > 0) {
        memcpy(to + head, text, size);
    }
    return head + size;
}

/* Upper bound on the size of the raw row. */
static size_t raw_most(const mindrecord_layout *layout, const record_value *values)
{
    size_t most = MINDRECORD_LENGTH_BYTES + (size_t)3 * MINDRECORD_PUT_MOST;

    for (uint32_t i = 0; i < layout->count; i++) {
        if (layout->columns[i].blob < 0) {
            most += strlen(layout->columns[i].name) + (size_t)2 * MINDRECORD_PUT_MOST +
                    (layout->columns[i].type == MINDRECORD_STRING ? values[i].size : 0);
        }
    }
    return most;
}

static sluice_status encode_raw(const mindrecord_layout *layout, const record_value *values,
                                mindrecord_row *row)
{
    const uint32_t columns = layout->count - layout->blob_count;
    sluice_status st = image_buffer_reserve(&row->raw, raw_most(layout, values));
    uint8_t *to = row->raw.data + MINDRECORD_LENGTH_BYTES;

    if (st != SLUICE_OK) {
        return st;
    }
    to += mindrecord_put_map(to, columns > 0 ? columns : 1);
    if (columns == 0) {
        to += put_text(to, dummy_name, strlen(dummy_name));
        to += mindrecord_put_integer(to, 0);
    }
    for (uint32_t i = 0; i < layout->count && st == SLUICE_OK; i++) {
        const mindrecord_column *column = &layout->columns[i];
        size_t size = 0;

        if (column->blob >= 0) {
            continue;
        }
        to += put_text(to, column->name, strlen(column->name));
        if (column->type == MINDRECORD_STRING) {
            size = put_text(to, values[i].data, values[i].size);
        } else {
            st = put_number(column, &values[i], to, &size);
        }
        to += size;
    }
    row->raw_size = (size_t)(to - row->raw.data);
    sli_put_u64(row->raw.data, row->raw_size - MINDRECORD_LENGTH_BYTES);
    return st;
}

/* ---- the blob row ---------------------------------------------------------------------------- */

/* Upper bound on the size of a column in the blob row. */
static uint64_t blob_most(const mindrecord_column *column, const record_value *value)
{
    return mindrecord_is_packed(column) ? mindrecord_ints_most(value->count)
           : column->rank > 0           ? value->count * mindrecord_type_size(column->type)
                                        : value->size;
}

/* Writes the bytes of a column. */
static sluice_status put_blob(const mindrecord_column *column, const record_value *value,
                              mindrecord_row *row, uint8_t *to, size_t *size_out)
{
    const size_t width = mindrecord_type_size(column->type);
    const uint64_t plain = value->count * width;
    sluice_status st = SLUICE_OK;

    if (column->rank == 0) {
        if (value->size > 0) {
            memcpy(to, value->data, value->size);
        }
        *size_out = value->size;
        return SLUICE_OK;
    }
    if (!mindrecord_is_packed(column)) {
        *size_out = (size_t)plain;
        return record_numbers_convert(value, mindrecord_dtype(column->type), to);
    }
    st = image_buffer_reserve(&row->numbers, (size_t)plain + 1);
    if (st == SLUICE_OK) {
        st = record_numbers_convert(value, mindrecord_dtype(column->type), row->numbers.data);
    }
    if (st == SLUICE_OK) {
        *size_out = mindrecord_ints_pack(row->numbers.data, value->count, (uint32_t)width, to);
        row->saved += (int64_t)plain - (int64_t)*size_out;
    }
    return st;
}

static void put_blob_length(uint8_t *to, uint64_t size)
{
    for (int i = 0; i < BLOB_LENGTH; i++) {
        to[i] = (uint8_t)(size >> (56 - 8 * i));
    }
}

static sluice_status encode_blob(const mindrecord_layout *layout, const record_value *values,
                                 mindrecord_row *row)
{
    uint64_t most = MINDRECORD_LENGTH_BYTES + DUMMY_BLOB;
    sluice_status st;
    uint8_t *to;

    for (uint32_t i = 0; i < layout->blob_count; i++) {
        const uint32_t column = layout->blobs[i];

        most += BLOB_LENGTH + blob_most(&layout->columns[column], &values[column]);
    }
    st = image_buffer_reserve(&row->blob, (size_t)most);
    if (st != SLUICE_OK) {
        return st;
    }
    to = row->blob.data + MINDRECORD_LENGTH_BYTES;
    if (layout->blob_count == 0) {
        memset(to, 0, DUMMY_BLOB);
        to += DUMMY_BLOB;
    }
    for (uint32_t i = 0; i < layout->blob_count && st == SLUICE_OK; i++) {
        const uint32_t column = layout->blobs[i];
        uint8_t *const length = to;
        size_t size = 0;

        to += layout->blob_count > 1 ? BLOB_LENGTH : 0;
        st = put_blob(&layout->columns[column], &values[column], row, to, &size);
        if (layout->blob_count > 1) {
            put_blob_length(length, size);
        }
        to += size;
    }
    row->blob_size = (size_t)(to - row->blob.data);
    sli_put_u64(row->blob.data, row->blob_size - MINDRECORD_LENGTH_BYTES);
    return st;
}

sluice_status mindrecord_row_encode(const mindrecord_layout *layout, const record_value *values,
                                    mindrecord_row *row)
{
    sluice_status st = check_values(layout, values);

    for (uint32_t i = 0; i < layout->indexed_count && st == SLUICE_OK; i++) {
        st = record_numbers_convert(&values[layout->indexed[i]], SLUICE_I64, &row->indexed[i]);
    }
    st = st == SLUICE_OK ? encode_raw(layout, values, row) : st;
    return st == SLUICE_OK ? encode_blob(layout, values, row) : st;
}

void mindrecord_row_free(mindrecord_row *row)
{
    image_buffer_free(&row->raw);
    image_buffer_free(&row->blob);
    image_buffer_free(&row->numbers);
}
