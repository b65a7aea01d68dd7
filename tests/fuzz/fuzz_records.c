/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_records.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz_file.h"
#include "fuzz_target.h"
#include "record_fields.h"

static volatile uint8_t used; /* all bytes are read */

static void check_value(const record_value *value)
{
    const uint8_t *data = value->data;
    uint64_t count = 1;
    uint8_t sum = 0;

    for (uint32_t i = 0; i < value->rank; i++) {
        count *= value->shape[i];
    }
    if (value->kind == RECORD_NUMBERS &&
        (value->size != value->count * sluice_dtype_size(value->dtype) ||
         (value->rank > 0 && count != value->count))) {
        fuzz_fail("a value of another size than its numbers have");
    }
    for (size_t i = 0; value->kind != RECORD_MISSING && i < value->size; i++) {
        sum ^= data[i];
    }
    used = sum;
}

/* Reads a record from a copy of its bytes, which a sanitizer knows the ends of. */
static void read_record(const record_format *format, const record_input *file, const uint8_t *data,
                        const record_range *ranges, const record_names *names)
{
    static image_buffer scratch;
    record_value values[SLUICE_MAX_COLUMNS];
    record_part parts[RECORD_MOST_RANGES];
    uint8_t *copies[RECORD_MOST_RANGES] = {NULL};
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < format->ranges; i++) {
        if (ranges[i].offset > file->size || ranges[i].size > file->size - ranges[i].offset) {
            fuzz_fail("a record outside of its file");
        }
        copies[i] = malloc((size_t)ranges[i].size + (ranges[i].size == 0));
        if (copies[i] == NULL) {
            abort();
        }
        memcpy(copies[i], data + ranges[i].offset, (size_t)ranges[i].size);
        parts[i] = (record_part){copies[i], (size_t)ranges[i].size};
    }
    if (format->check != NULL) {
        st = format->check(file->state, ranges, parts);
    }
    if (st == SLUICE_OK) {
        st = format->parse(file->state, parts, names, &scratch, values);
    }
    for (uint32_t i = 0; st == SLUICE_OK && i < names->count; i++) {
        check_value(&values[i]);
    }
    for (uint32_t i = 0; i < format->ranges; i++) {
        free(copies[i]);
    }
}

static void check_columns(const record_format *format, const char *text)
{
    static record_fields fields;

    if (record_fields_parse(text, format->files.source, &fields) != SLUICE_OK) {
        fuzz_fail(sluice_last_error());
    }
    list_columns_free(&fields.columns);
}

uint64_t fuzz_records(const record_format *format, const uint8_t *data, size_t size,
                      const record_names *names)
{
    record_input file = {.path = "x", .fd = fuzz_file(data, size), .size = size};
    record_index index = {.per_record = format->ranges};
    sli_text text = {0};
    bool guessed = false;
    uint64_t count;

    if (format->open != NULL && format->open(&file) != SLUICE_OK) {
        return 0;
    }
    (void)format->scan(&file, &index);
    count = index.count;
    for (uint64_t i = 0; i < count; i++) {
        read_record(format, &file, data, &index.ranges[i * format->ranges], names);
    }
    if (count > 0 && format->choose(&file, &index, &text, &guessed) == SLUICE_OK) {
        check_columns(format, text.data);
    }
    sli_text_free(&text);
    record_index_free(&index);
    if (format->close != NULL) {
        format->close(file.state);
    }
    return count;
}
