/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a tf.train.Example, and as a TFRecord file, as they are and with checksums that are
 * right: what is found lies within them, values have the sizes that their counts say, and columns
 * that are chosen by the file are columns.
 */
#include <stdlib.h>
#include <string.h>

#include <sluice/log.h>

#include "bytes_int.h"
#include "fuzz_file.h"
#include "fuzz_target.h"
#include "record_fields.h"
#include "tfrecord_format.h"

static const record_names names = {4, {"a", "image/encoded", "label", "w"}};

static volatile uint8_t used; /* all bytes are read */

static void check_values(const record_value *values)
{
    uint8_t sum = 0;

    for (uint32_t i = 0; i < names.count; i++) {
        const record_value *value = &values[i];

        if (value->kind == RECORD_NUMBERS &&
            value->size != value->count * sluice_dtype_size(value->dtype)) {
            fuzz_fail("a value of another size than its numbers have");
        }
        for (size_t k = 0; value->count > 0 && k < value->size; k++) {
            sum ^= ((const uint8_t *)value->data)[k];
        }
    }
    used = sum;
}

/* Columns that were chosen can be parsed, and the values of the first record written. */
static void write_row(const char *text, const record_value *values)
{
    static record_fields fields;
    static uint8_t rows[SLUICE_MAX_COLUMNS][8];
    void *row[SLUICE_MAX_COLUMNS] = {NULL};

    if (record_fields_parse(text, "tfrecord", &fields) != SLUICE_OK) {
        fuzz_fail(sluice_last_error());
    }
    for (uint32_t i = 0; i < fields.columns.schema.column_count; i++) {
        row[i] = fields.columns.schema.columns[i].rank == 0 ? rows[i] : NULL;
    }
    for (uint32_t i = 0; i < fields.names.count && i < names.count; i++) {
        record_value own[SLUICE_MAX_COLUMNS];

        for (uint32_t k = 0; k < SLUICE_MAX_COLUMNS; k++) {
            own[k] = values[i];
        }
        (void)record_fields_write(&fields, own, row);
    }
    list_columns_free(&fields.columns);
}

static void read_file(const uint8_t *data, size_t size)
{
    const record_input file = {.path = "x", .fd = fuzz_file(data, size), .size = size};
    record_index index = {.per_record = 1};
    record_value values[SLUICE_MAX_COLUMNS] = {{.kind = RECORD_MISSING}};
    static image_buffer scratch;
    sli_text text = {0};
    bool guessed = false;

    (void)record_tfrecord.scan(&file, &index);
    for (uint64_t i = 0; i < index.count; i++) {
        const record_range range = index.ranges[i];
        const record_part part = {data + range.offset, (size_t)range.size};

        if (range.offset > size || range.size > size - range.offset) {
            fuzz_fail("a record outside of its file");
        }
        if (record_tfrecord.parse(NULL, &part, &names, &scratch, values) == SLUICE_OK) {
            check_values(values);
        }
    }
    if (index.count > 0 && record_tfrecord.choose(&file, &index, &text, &guessed) == SLUICE_OK) {
        write_row(text.data, values);
    }
    sli_text_free(&text);
    record_index_free(&index);
}

/* Makes the checksums of all records right, as far as their lengths are. */
static void seal(uint8_t *bytes, size_t size)
{
    size_t at = 0;

    while (size - at >= TFRECORD_HEAD + TFRECORD_TAIL) {
        const size_t room = size - at - TFRECORD_HEAD - TFRECORD_TAIL;
        uint64_t length = sli_get_u64(bytes + at);

        if (length > room) { /* the last record */
            length = room;
            sli_put_u64(bytes + at, length);
        }
        sli_put_u32(bytes + at + 8, tfrecord_crc(bytes + at, 8));
        at += TFRECORD_HEAD + (size_t)length;
        sli_put_u32(bytes + at, tfrecord_crc(bytes + at - length, (size_t)length));
        at += TFRECORD_TAIL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t around = TFRECORD_HEAD + TFRECORD_TAIL;
    uint8_t *copy = calloc(1, size + around); /* the input, as the data of one record */

    sluice_log_set_level(SLUICE_LOG_OFF); /* features that are left out */
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data, size);
    read_file(copy, size);
    seal(copy, size);
    read_file(copy, size);
    memcpy(copy + TFRECORD_HEAD, data, size);
    sli_put_u64(copy, size);
    seal(copy, size + around);
    read_file(copy, size + around);
    free(copy);
    return 0;
}
