/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a MindRecord file, all columns of its rows, and as parts of a row. */
#include <unistd.h>

#include "fuzz_file.h"
#include "fuzz_target.h"
#include "mindrecord_ints.h"
#include "mindrecord_map.h"
#include "mindrecord_rows.h"

enum { MOST_ROWS = 64, MOST_ROW = 1 << 16, MOST_NUMBERS = 1 << 16 };

static image_buffer bytes;
static image_buffer scratch;

/* Adds up all bytes, so that a sanitizer sees those that are not there. */
static void touch(const record_value *value)
{
    volatile uint8_t sum = 0;

    for (size_t i = 0; i < value->size; i++) {
        sum = (uint8_t)(sum + ((const uint8_t *)value->data)[i]);
    }
}

static void read_row(int fd, const mindrecord_header *header, const record_range *ranges)
{
    record_names wanted = {0};
    record_part parts[MINDRECORD_RANGES];
    record_value values[SLUICE_MAX_COLUMNS];
    size_t at = 0;

    if (ranges[0].size > MOST_ROW || ranges[1].size > MOST_ROW) {
        return;
    }
    if (image_buffer_reserve(&bytes, (size_t)(ranges[0].size + ranges[1].size)) != SLUICE_OK) {
        return;
    }
    for (int i = 0; i < MINDRECORD_RANGES; i++) {
        const size_t size = (size_t)ranges[i].size;

        if (pread(fd, bytes.data + at, size, (off_t)ranges[i].offset) != (ssize_t)size) {
            fuzz_fail("a row outside of the file");
        }
        parts[i] = (record_part){bytes.data + at, size};
        at += size;
    }
    for (uint32_t i = 0; i < header->column_count && i < SLUICE_MAX_COLUMNS; i++) {
        wanted.names[wanted.count++] = header->columns[i].name;
    }
    if (mindrecord_parse(header, parts, &wanted, &scratch, values) != SLUICE_OK) {
        return;
    }
    for (uint32_t i = 0; i < wanted.count; i++) {
        touch(&values[i]);
    }
}

static void read_parts(const uint8_t *data, size_t size)
{
    static uint8_t numbers[8 * MOST_NUMBERS];
    mindrecord_map map;
    uint64_t count = 0;
    sluice_status st = mindrecord_map_begin(data, size, &map);

    while (st == SLUICE_OK) {
        mindrecord_scalar value = {0};
        const char *key = NULL;
        size_t length = 0;

        st = mindrecord_map_next(&map, &key, &length, &value);
        if (st == SLUICE_OK && value.kind == MINDRECORD_CHARACTERS) {
            touch(&(record_value){.data = value.text, .size = value.size});
        }
    }
    if (mindrecord_ints_count(data, size, &count) == SLUICE_OK && count <= MOST_NUMBERS) {
        (void)mindrecord_ints_unpack(data, 4, numbers);
        if (mindrecord_ints_unpack(data, 8, numbers) != SLUICE_OK) {
            fuzz_fail("an int64 that is none");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = fuzz_file(data, size);
    record_index index = {.per_record = MINDRECORD_RANGES};
    mindrecord_header header;

    read_parts(data, size);
    if (mindrecord_header_read(fd, size, &header) != SLUICE_OK) {
        return 0;
    }
    if (mindrecord_scan(fd, &header, &index) == SLUICE_OK) {
        for (uint64_t i = 0; i < index.count && i < MOST_ROWS; i++) {
            read_row(fd, &header, &index.ranges[i * MINDRECORD_RANGES]);
        }
    }
    record_index_free(&index);
    mindrecord_header_free(&header);
    return 0;
}
