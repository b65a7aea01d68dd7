/* SPDX-License-Identifier: Apache-2.0 */
#include "example_writer.h"

#include <stdbool.h>
#include <string.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "record_numbers.h"
#include "status_int.h"
#include "tfrecord_format.h"

/* Tags of fields 1 to 3 with wire type 2: a message or bytes. */
enum { TAG_1 = 0x0A, TAG_2 = 0x12 };

/* Limit on the bytes of a varint. */
enum { MOST_VARINT = 10 };

void record_bytes_free(record_bytes *bytes)
{
    sli_free(bytes->data);
    *bytes = (record_bytes){NULL, 0, 0};
}

/* Makes room for `size` more bytes. Returns where they begin; NULL: out of memory. */
static uint8_t *add_room(record_bytes *bytes, size_t size)
{
    uint8_t *grown = sli_grow(bytes->data, &bytes->capacity, bytes->size + size, 1);

    if (grown == NULL) {
        sli_fail(SLUICE_E_NO_MEMORY, "a record of %zu bytes", bytes->size + size);
        return NULL;
    }
    bytes->data = grown;
    bytes->size += size;
    return grown + bytes->size - size;
}

static size_t varint_size(uint64_t number)
{
    size_t size = 1;

    for (; number >= 128; number >>= 7) {
        size++;
    }
    return size;
}

static uint8_t *put_varint(uint8_t *to, uint64_t number)
{
    for (; number >= 128; number >>= 7) {
        *to++ = (uint8_t)(number | 128);
    }
    *to++ = (uint8_t)number;
    return to;
}

/* Bytes of a field with a length, and of what it has. */
static size_t field_size(size_t size)
{
    return 1 + varint_size(size) + size;
}

static uint8_t *put_head(uint8_t *to, uint8_t tag, size_t size)
{
    *to++ = tag;
    return put_varint(to, size);
}

static uint8_t *put_bytes(uint8_t *to, const void *bytes, size_t size)
{
    if (size > 0) {
        memcpy(to, bytes, size);
    }
    return to + size;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The field number of the list in a Feature. */
typedef enum feature_list { AS_BYTES = 1, AS_FLOATS = 2, AS_INTS = 3 } feature_list;

static feature_list list_of(const record_value *value)
{
    if (value->kind != RECORD_NUMBERS) {
        return AS_BYTES;
    }
    switch (value->dtype) {
    case SLUICE_F32:
        return AS_FLOATS;
    case SLUICE_F16:
    case SLUICE_BF16:
    case SLUICE_F64:
    case SLUICE_U64:
        return AS_BYTES;
    default:
        return AS_INTS;
    }
}

/* Integer i of a value, of any type but u64. */
static uint64_t integer_at(const record_value *value, uint64_t i)
{
    const size_t size = sluice_dtype_size(value->dtype);
    const record_value one = {.kind = RECORD_NUMBERS,
                              .dtype = value->dtype,
                              .count = 1,
                              .data = (const uint8_t *)value->data + i * size,
                              .size = size};
    int64_t number = 0;

    (void)record_numbers_convert(&one, SLUICE_I64, &number); /* i64 has all of them */
    return (uint64_t)number;
}

/* Bytes of the values in their list; of packed numbers without tag and length. */
static size_t packed_size(const record_value *value)
{
    size_t size = 0;

    if (list_of(value) != AS_INTS) {
        return value->size;
    }
    for (uint64_t i = 0; i < value->count; i++) {
        size += varint_size(integer_at(value, i));
    }
    return size;
}

/* An empty list has no field for its values. No numbers as bytes are a byte string without a byte,
 * which tf.io.FixedLenFeature([], tf.string) needs. */
static bool is_empty_list(const record_value *value)
{
    return value->count == 0 && (list_of(value) != AS_BYTES || value->kind != RECORD_NUMBERS);
}

static size_t list_size(const record_value *value, size_t packed)
{
    return is_empty_list(value) ? 0 : field_size(packed);
}

/* Appends an entry of the map of features: {1: name, 2: Feature{LIST: {1: values}}}. */
static sluice_status add_feature(const char *name, const record_value *value, record_bytes *bytes)
{
    const feature_list as = list_of(value);
    const size_t packed = packed_size(value);
    const size_t list = list_size(value, packed);
    const size_t feature = field_size(list);
    const size_t entry = field_size(strlen(name)) + field_size(feature);
    uint8_t *to = add_room(bytes, field_size(entry));

    if (to == NULL) {
        return SLUICE_E_NO_MEMORY;
    }
    to = put_head(to, TAG_1, entry);
    to = put_head(to, TAG_1, strlen(name));
    to = put_bytes(to, name, strlen(name));
    to = put_head(to, TAG_2, feature);
    to = put_head(to, (uint8_t)(as << 3 | 2), list);
    if (is_empty_list(value)) {
        return SLUICE_OK;
    }
    to = put_head(to, TAG_1, packed);
    if (as != AS_INTS) {
        put_bytes(to, value->data, value->size);
        return SLUICE_OK;
    }
    for (uint64_t i = 0; i < value->count; i++) {
        to = put_varint(to, integer_at(value, i));
    }
    return SLUICE_OK;
}

sluice_status example_append(const record_names *names, const record_value *values,
                             record_bytes *bytes)
{
    const size_t head = 1 + MOST_VARINT;
    const size_t begin = bytes->size;
    size_t size;
    uint8_t length[MOST_VARINT + 1];
    size_t used;
    sluice_status st = add_room(bytes, head) != NULL ? SLUICE_OK : SLUICE_E_NO_MEMORY;

    for (uint32_t i = 0; i < names->count && st == SLUICE_OK; i++) {
        if (values[i].kind == RECORD_MISSING) {
            continue;
        }
        st = values[i].kind != RECORD_NUMBERS && values[i].count > 1
                 ? sli_fail(SLUICE_E_INVALID, "%s has %llu byte strings, and must have one",
                            names->names[i], (unsigned long long)values[i].count)
                 : add_feature(names->names[i], &values[i], bytes);
    }
    if (st != SLUICE_OK) {
        bytes->size = begin;
        return st;
    }
    size = bytes->size - begin - head;
    used = (size_t)(put_head(length, TAG_1, size) - length);
    memmove(bytes->data + begin + used, bytes->data + begin + head, size);
    memcpy(bytes->data + begin, length, used);
    bytes->size = begin + used + size;
    return SLUICE_OK;
}

sluice_status tfrecord_append(const record_names *names, const record_value *values,
                              record_bytes *bytes)
{
    const size_t begin = bytes->size;
    size_t size;
    uint8_t *tail;
    uint8_t *head;
    sluice_status st = add_room(bytes, TFRECORD_HEAD) != NULL ? SLUICE_OK : SLUICE_E_NO_MEMORY;

    if (st == SLUICE_OK) {
        st = example_append(names, values, bytes);
    }
    size = bytes->size - begin - TFRECORD_HEAD;
    tail = st == SLUICE_OK ? add_room(bytes, TFRECORD_TAIL) : NULL;
    if (tail == NULL) {
        bytes->size = begin;
        return st != SLUICE_OK ? st : SLUICE_E_NO_MEMORY;
    }
    head = bytes->data + begin;
    sli_put_u64(head, size);
    sli_put_u32(head + 8, tfrecord_crc(head, 8));
    sli_put_u32(tail, tfrecord_crc(head + TFRECORD_HEAD, size));
    return SLUICE_OK;
}
