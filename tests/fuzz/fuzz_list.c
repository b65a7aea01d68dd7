/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a list: a header, and records that are parsed by it. */
#include <string.h>

#include "fuzz_target.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    list_cursor cursor = {text, text + size, size % 2 == 0 ? '\t' : ','};
    list_columns columns = {.schema = {.image = -1}};
    bool last = !list_begin_record(&cursor);

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
    while (columns.count > 0 && list_begin_record(&cursor)) {
        const char *before = cursor.at;

        parse_record(&columns, &cursor);
        if (cursor.at == before) {
            break; /* a record that cannot be parsed */
        }
    }
    list_columns_free(&columns);
    return 0;
}
