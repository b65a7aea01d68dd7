/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_format.h"

#include <string.h>

#include "alloc_int.h"
#include "first_records.h"
#include "mindrecord_rows.h"
#include "record_columns.h"
#include "status_int.h"

static sluice_status open_file(record_input *file)
{
    mindrecord_header *header = sli_calloc(1, sizeof(*header));
    sluice_status st;

    if (header == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the header of a MindRecord file");
    }
    st = mindrecord_header_read(file->fd, file->size, header);
    if (st != SLUICE_OK) {
        sli_free(header);
        return st;
    }
    file->state = header;
    return SLUICE_OK;
}

static void close_file(void *state)
{
    if (state != NULL) {
        mindrecord_header_free(state);
        sli_free(state);
    }
}

static sluice_status scan_file(const record_input *file, record_index *index)
{
    return mindrecord_scan(file->fd, file->state, index);
}

static sluice_status parse_row(const void *state, const record_part *parts,
                               const record_names *wanted, image_buffer *scratch,
                               record_value *values_out)
{
    return mindrecord_parse(state, parts, wanted, scratch, values_out);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Notes a value. An array of which another dimension than the first one varies has no rows of one
 * shape, and becomes a list of numbers. */
static void note_value(const mindrecord_column *column, record_value *value,
                       record_columns *columns)
{
    bool varies = false;

    for (uint32_t i = 0; i < column->rank; i++) {
        varies = varies || column->shape[i] == 0;
    }
    if (varies && column->shape[0] != 0) {
        value->rank = 0;
    }
    record_columns_note(columns, column->name, strlen(column->name), value, varies);
}

/* Notes the values of all columns, as many at once as parse_row() takes. */
static sluice_status note_row(const mindrecord_header *header, const record_part *parts,
                              image_buffer *scratch, record_columns *columns)
{
    record_value values[SLUICE_MAX_COLUMNS];
    sluice_status st = SLUICE_OK;

    record_columns_begin(columns);
    for (uint32_t first = 0; first < header->column_count && st == SLUICE_OK;
         first += SLUICE_MAX_COLUMNS) {
        record_names wanted = {0};

        while (wanted.count < SLUICE_MAX_COLUMNS && first + wanted.count < header->column_count) {
            wanted.names[wanted.count] = header->columns[first + wanted.count].name;
            wanted.count++;
        }
        st = parse_row(header, parts, &wanted, scratch, values);
        for (uint32_t i = 0; i < wanted.count && st == SLUICE_OK; i++) {
            note_value(&header->columns[first + i], &values[i], columns);
        }
    }
    return st;
}

/* Chooses columns by the first rows. */
static sluice_status choose_by_rows(const record_input *file, const record_index *index,
                                    sli_text *fields)
{
    first_records first = {.file = file, .index = index};
    image_buffer scratch = {NULL, 0};
    record_columns *columns = NULL;
    sluice_status st = record_columns_create("mindrecord", &columns);

    while (st == SLUICE_OK && (st = first_records_next(&first)) == SLUICE_OK) {
        st = note_row(file->state, first.parts, &scratch, columns);
        st = st == SLUICE_E_CORRUPT && first_records_has_more(&first) ? SLUICE_OK : st;
    }
    st = st == SLUICE_END_OF_DATA ? record_columns_print(columns, fields) : st;
    record_columns_free(columns);
    first_records_free(&first);
    image_buffer_free(&scratch);
    return st;
}

/* Files that Sluice has written say what their columns are. */
static sluice_status choose_fields(const record_input *file, const record_index *index,
                                   sli_text *fields, bool *guessed_out)
{
    const mindrecord_header *header = file->state;
    const size_t length = strlen(MINDRECORD_FIELDS);

    if (strncmp(header->description, MINDRECORD_FIELDS, length) != 0) {
        *guessed_out = true;
        return choose_by_rows(file, index, fields);
    }
    sli_text_add(fields, "%s", header->description + length);
    return SLUICE_OK;
}

const record_format record_mindrecord = {
    .files = {"mindrecord", ".mindrecord", false},
    .ranges = MINDRECORD_RANGES,
    .complete = mindrecord_complete,
    .open = open_file,
    .close = close_file,
    .scan = scan_file,
    .choose = choose_fields,
    .parse = parse_row,
};
