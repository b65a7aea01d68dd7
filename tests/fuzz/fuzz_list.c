/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a list: a header, and records that are parsed by it. After "#json FIELDS" and a line
 * break they are JSON lines, of which such records are made.
 */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "fuzz_target.h"
#include "json_lines.h"
#include "list_columns.h"

static void parse_record(const list_columns *columns, list_cursor *cursor)
{
    static uint8_t rows[2][1 << 16];
    bool last = false;

    for (uint32_t i = 0; !last; i++) {
        void *row[SLUICE_MAX_COLUMNS] = {NULL};
        list_field field;
        uint32_t count;

        if (list_next_field(cursor, &field, &last) != SLUICE_OK || i >= columns->count) {
            return;
        }
        if (columns->fields[i].kind == LIST_IMAGE || columns->fields[i].kind == LIST_MASK) {
            char path[100];

            (void)list_copy_field(&field, path, sizeof(path));
            continue;
        }
        if (columns->fields[i].most <= 1000) {
            row[columns->fields[i].column] = rows[0];
        }
        if (columns->fields[i].length >= 0) {
            row[columns->fields[i].length] = rows[1];
        }
        if (list_learn_field(columns, i, &field) == SLUICE_OK &&
            list_write_field(columns, i, &field, row, &count) == SLUICE_OK &&
            columns->fields[i].most > 0 && count > columns->fields[i].most) {
            fuzz_fail("more elements than there is room for");
        }
    }
}

static void parse_records(const list_columns *columns, list_cursor *cursor)
{
    while (columns->count > 0 && list_begin_record(cursor)) {
        const char *before = cursor->at;

        parse_record(columns, cursor);
        if (cursor->at == before) {
            return; /* a record that cannot be parsed */
        }
    }
}

#ifdef SLI_HAVE_JANSSON
static const char mark[] = "#json ";

/* `text` begins after the mark. */
static void parse_json(const char *text, size_t size)
{
    list_columns columns = {.schema = {.image = -1}};
    json_records records = {.text = NULL};
    const char *stop = memchr(text, '\n', size);
    const char *lines = stop != NULL ? stop + 1 : text + size;
    const size_t rest = size - (size_t)(lines - text);
    static json_paths paths;
    char fields[300];
    char others[100];

    snprintf(fields, sizeof(fields), "%.*s", stop != NULL ? (int)(stop - text) : 0, text);
    if (json_lines_columns(fields, lines, rest, &columns, &paths, others, sizeof(others)) ==
            SLUICE_OK &&
        json_lines_convert(lines, rest, &columns, &paths, &records) == SLUICE_OK) {
        list_cursor cursor = {records.text, records.text + records.size, '\t'};
        uint64_t count = 0;

        for (size_t i = 0; i < records.size; i++) {
            count += records.text[i] == '\0';
        }
        if (count > 0) {
            fuzz_fail("a zero byte in a converted list");
        }
        parse_records(&columns, &cursor);
    }
    sli_free(records.text);
    sli_free(records.lines);
    list_columns_free(&columns);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    list_cursor cursor = {text, text + size, size % 2 == 0 ? '\t' : ','};
    list_columns columns = {.schema = {.image = -1}};
    bool last = !list_begin_record(&cursor);

#ifdef SLI_HAVE_JANSSON
    if (size >= sizeof(mark) && memcmp(text, mark, sizeof(mark) - 1) == 0) {
        parse_json(text + sizeof(mark) - 1, size - (sizeof(mark) - 1));
        return 0;
    }
#endif
    while (!last) {
        list_field field;
        char word[128];

        if (list_next_field(&cursor, &field, &last) != SLUICE_OK ||
            list_copy_field(&field, word, sizeof(word)) != SLUICE_OK ||
            list_add_column(&columns, word) != SLUICE_OK) {
            list_columns_free(&columns);
            return 0;
        }
    }
    parse_records(&columns, &cursor);
    list_columns_free(&columns);
    return 0;
}
