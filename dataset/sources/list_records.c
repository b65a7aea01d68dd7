/* SPDX-License-Identifier: Apache-2.0 */
#include "list_records.h"

#include <limits.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "format_int.h"
#include "log_int.h"
#include "status_int.h"

void list_records_free(list_records *list)
{
    list_lines_free(&list->lines);
    list_columns_free(&list->columns);
    sli_free(list->offsets);
    sli_free(list->json.lines);
    sli_free(list->text);
}

uint64_t list_records_memory(const list_records *list)
{
    uint64_t bytes = list->size + list->capacity * sizeof(*list->offsets) +
                     list->json.lines_capacity * sizeof(*list->json.lines) +
                     list->lines.blocks * sizeof(*list->lines.before);

    for (uint32_t i = 0; i < list->columns.count; i++) {
        bytes += list->columns.fields[i].names != NULL
                     ? vocabulary_memory(list->columns.fields[i].names)
                     : 0;
    }
    return bytes;
}

const vocabulary *list_records_names(const list_records *list)
{
    const vocabulary *names;

    (void)list_columns_names(&list->columns, &names);
    return names;
}

static list_cursor cursor_at(const list_records *list, uint64_t offset)
{
    return (list_cursor){list->text + offset, list->text + list->size, list->separator};
}

list_cursor list_records_at(const list_records *list, uint64_t index)
{
    return cursor_at(list, list->offsets[index]);
}

sluice_status list_records_convert(list_records *list, const char *fields, char *others,
                                   size_t others_size)
{
    json_paths *paths = sli_calloc(1, sizeof(*paths));
    sluice_status st = paths != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "the columns");

    if (st == SLUICE_OK) {
        st = json_lines_columns(fields, list->text, list->size, &list->columns, paths, others,
                                others_size);
    }
    st = st == SLUICE_OK ? schema_check_names(&list->columns.schema, "fields") : st;
    if (st == SLUICE_OK) {
        st = json_lines_convert(list->text, list->size, &list->columns, paths, &list->json);
    }
    if (st == SLUICE_OK) {
        sli_free(list->text);
        list->text = list->json.text;
        list->size = list->json.size;
        list->json.text = NULL;
        list->separator = '\t';
    }
    sli_free(paths);
    return st;
}

/* ---- the header ------------------------------------------------------------------------------ */

/* Returns a field without the blanks around it. */
static list_field trimmed(list_field field)
{
    while (field.length > 0 && (field.text[0] == ' ' || field.text[0] == '\t')) {
        field.text++;
        field.length--;
    }
    while (field.length > 0 &&
           (field.text[field.length - 1] == ' ' || field.text[field.length - 1] == '\t')) {
        field.length--;
    }
    return field;
}

/*
 * Finds whether the first field of a list is that of a header. E_INVALID: it is a comment, or may
 * be a header in another form: in upper case, or with another separator.
 */
static sluice_status judge_first(const list_field *first, char separator, bool *is_header_out)
{
    const list_field field = trimmed(*first);
    char text[80] = "";

    if (field.length > 0 && field.text[0] == '#' && !field.quoted) {
        return sli_fail(SLUICE_E_INVALID,
                        "the first line begins with '#', and a list has no comments: remove the "
                        "line; if it is the path of an image, write ./#");
    }
    *is_header_out = (field.length == 5 && memcmp(field.text, "image", 5) == 0) ||
                     memchr(field.text, ':', field.length) != NULL;
    if (field.length < sizeof(text)) {
        memcpy(text, field.text, field.length);
    }
    if (*is_header_out ||
        (!sli_same_word(text, "image") && !sli_same_begin(text, "image,label", 11) &&
         !sli_same_begin(text, "image;label", 11) && !sli_same_begin(text, "image\tlabel", 11))) {
        return SLUICE_OK;
    }
    return sli_fail(
        SLUICE_E_INVALID,
        "the first line, '%s', may be a header or the path of an image: a header must be "
        "image, label or other columns, in lower case and separated by a %s; if it is "
        "a path, write ./%s",
        text, separator == ',' ? "comma, since the name ends in .csv" : "tab", text);
}

/* True if a field after the first one of a record declares a column, NAME:KIND: it cannot be the
 * label of a list without a header. */
static bool declares_later(list_cursor cursor)
{
    list_field field;
    bool last = false;

    if (list_next_field(&cursor, &field, &last) != SLUICE_OK) {
        return false;
    }
    while (!last && list_next_field(&cursor, &field, &last) == SLUICE_OK) {
        if (memchr(field.text, ':', field.length) != NULL) {
            return true;
        }
    }
    return false;
}

/* E_INVALID: a column follows an image, and the header has none. */
static sluice_status check_image(const list_columns *columns)
{
    for (uint32_t i = 0; i < columns->count && columns->schema.image < 0; i++) {
        const list_kind kind = columns->fields[i].kind;

        if (kind == LIST_MASK || kind == LIST_BOXES || kind == LIST_POINTS) {
            return sli_fail(SLUICE_E_INVALID,
                            "the header has no column image, nor NAME:image, which the %s of "
                            "column %s must follow; numbers need no image, as NAME:f32[N]",
                            kind == LIST_MASK    ? "mask"
                            : kind == LIST_BOXES ? "boxes"
                                                 : "points",
                            columns->schema.columns[columns->fields[i].column].name);
        }
    }
    return SLUICE_OK;
}

/*
 * Parses the first record if it is a header, that is, if its first field declares a column and is
 * not a path, or a later one has a kind. Without a header, the default columns are added. On
 * failure, *at_out is the position of the error.
 */
static sluice_status read_header(list_records *list, list_cursor *cursor, const char **at_out)
{
    const char *const begin = cursor->at;
    const bool declares = declares_later(*cursor);
    uint32_t fields = 0;
    bool last = false;
    bool is_header = false;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && !last) {
        list_field field;
        char text[128];

        *at_out = cursor->at;
        st = list_next_field(cursor, &field, &last);
        if (st == SLUICE_OK && fields++ == 0) {
            st = judge_first(&field, list->separator, &is_header);
            is_header = is_header || declares;
        }
        if (st == SLUICE_OK && is_header) {
            st = list_copy_field(&field, text, sizeof(text));
            st = st == SLUICE_OK ? list_add_column(&list->columns, text) : st;
            st = st == SLUICE_OK ? schema_check_names(&list->columns.schema, "the header") : st;
        }
    }
    *at_out = st == SLUICE_OK ? begin : *at_out;
    st = st == SLUICE_OK && is_header ? check_image(&list->columns) : st;
    if (st == SLUICE_OK && !is_header) {
        cursor->at = begin;
        list_plain_columns(&list->columns, fields);
        st = fields <= 2
                 ? st
                 : sli_fail(SLUICE_E_INVALID,
                            "the first line has %u fields, and a list without a header must have 1 "
                            "or 2, path and label; write a header such as image, label, "
                            "boxes:boxes[100] with the list's separator",
                            fields);
    }
    return st;
}

/* Reads the file of the names of classes, if there is one. */
static sluice_status read_classes(list_records *list)
{
    vocabulary *names;
    uint32_t count = 0;

    if (list->classes[0] == '\0') {
        return SLUICE_OK;
    }
    names = list_columns_classes(&list->columns, &count);
    return count == 1 ? vocabulary_read(names, list->classes)
                      : sli_fail(SLUICE_E_INVALID,
                                 "classes= is for a list with one column of kind class, such as "
                                 "label:class, and this one has %u",
                                 count);
}

/* ---- one record ------------------------------------------------------------------------------ */

/* How far a record was parsed. */
typedef struct record_place {
    const char *at;                      /* the field */
    uint32_t counts[SLUICE_MAX_COLUMNS]; /* number of elements of each field so far */
} record_place;

/*
 * Parses one field that is not a path, and writes it into its columns of the row. A path must not
 * be empty.
 */
static sluice_status write_field(const list_records *list, uint32_t i, const list_field *field,
                                 void *const *row, record_place *place)
{
    const list_column *column = &list->columns.fields[i];

    if (column->kind == LIST_IMAGE || column->kind == LIST_MASK) {
        return field->length == 0 ? sli_fail(SLUICE_E_CORRUPT, "the path must not be empty")
                                  : SLUICE_OK;
    }
    return list_write_counted(&list->columns, i, field, row, place->counts);
}

/* Prepends the name of a column to the last error: JSON has no position of a column. */
static sluice_status add_column_name(const list_records *list, uint32_t i, sluice_status status)
{
    return sli_fail_quoting(status, "%s: %s",
                            list->columns.schema.columns[list->columns.fields[i].column].name,
                            sluice_last_error());
}

/*
 * Parses the next field of a record. E_CORRUPT: the field is bad, or there are too few or too many
 * fields.
 */
static sluice_status next_field(const list_records *list, uint32_t i, list_cursor *cursor,
                                void *const *row, record_place *place, list_field *field_out,
                                bool *last_out)
{
    sluice_status st;

    place->at = cursor->at;
    if (list->json.lines != NULL && i == 0 && *cursor->at == JSON_LINES_BAD) {
        return sli_fail(SLUICE_E_CORRUPT, "%.*s", (int)strcspn(cursor->at + 1, "\n"),
                        cursor->at + 1);
    }
    if (i == list->columns.count) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the line has more than %u fields, the number of columns in the header", i);
    }
    st = list_next_field(cursor, field_out, last_out);
    if (st == SLUICE_OK) {
        st = write_field(list, i, field_out, row, place);
        st = st != SLUICE_OK && list->json.lines != NULL ? add_column_name(list, i, st) : st;
    }
    if (st == SLUICE_OK && *last_out && i + 1 < list->columns.count) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "the line has %u fields, and must have %u, one for each column", i + 1,
                      list->columns.count);
    }
    return st;
}

/* Returns the line in JSON lines of the record at a position: that of the last record whose offset
 * is at or before it. */
static uint64_t json_line(const list_records *list, const char *at)
{
    const uint64_t offset = (uint64_t)(at - list->text);
    uint64_t low = 0;
    uint64_t high = list->count;

    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;

        *(list->offsets[middle] <= offset ? &low : &high) = middle;
    }
    return list->json.lines[low];
}

/* Prepends the position to the last error. */
static sluice_status add_place(const list_records *list, const char *at, sluice_status status)
{
    uint64_t line;
    uint64_t column;
    sli_error error;

    if (list->json.lines != NULL && list->count > 0) {
        sli_error_take(status, &error);
        return sli_fail_with(status, error.error_number, "%llu: %s",
                             (unsigned long long)json_line(list, at), error.text);
    }
    list_lines_find(&list->lines, at, &line, &column);
    sli_error_take(status, &error);
    return sli_fail_with(status, error.error_number, "%llu:%llu: %s", (unsigned long long)line,
                         (unsigned long long)column, error.text);
}

sluice_status list_records_parse(const list_records *list, uint64_t index, void *const *row,
                                 list_field *image_out)
{
    list_cursor cursor = list_records_at(list, index);
    record_place place = {.at = cursor.at};
    bool last = false;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && !last; i++) {
        list_field field;

        st = next_field(list, i, &cursor, row, &place, &field, &last);
        if (st == SLUICE_OK && list->columns.fields[i].column == list->columns.schema.image) {
            *image_out = field;
        }
    }
    return st == SLUICE_OK ? st : add_place(list, place.at, st);
}

/* ---- all records ----------------------------------------------------------------------------- */

/* Checks a record, and collects the names of classes of a good one. On failure, *at_out is the
 * position of the error. */
static sluice_status check_record(const list_records *list, list_cursor cursor, const char **at_out)
{
    static void *const nowhere[SLUICE_MAX_COLUMNS] = {NULL};
    list_field fields[SLUICE_MAX_COLUMNS];
    record_place place = {.at = cursor.at};
    char path[PATH_MAX];
    bool last = false;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && !last; i++) {
        list_field field;

        st = next_field(list, i, &cursor, nowhere, &place, &field, &last);
        if (st == SLUICE_OK && (list->columns.fields[i].kind == LIST_IMAGE ||
                                list->columns.fields[i].kind == LIST_MASK)) {
            st = list_copy_field(&field, path, sizeof(path));
        }
        if (st == SLUICE_OK) {
            fields[i] = field;
        }
    }
    for (uint32_t i = 0; st == SLUICE_OK && i < list->columns.count; i++) {
        st = list_learn_field(&list->columns, i, &fields[i]);
    }
    *at_out = place.at;
    return st;
}

/* Moves past a record, whose fields may be bad. On failure, *at_out is the position of the error.
 */
static sluice_status pass_record(list_cursor *cursor, const char **at_out)
{
    sluice_status st = SLUICE_OK;
    bool last = false;

    while (st == SLUICE_OK && !last) {
        list_field field;

        *at_out = cursor->at;
        st = list_next_field(cursor, &field, &last);
    }
    return st;
}

/* The bad records of a list. */
typedef struct bad_records {
    uint64_t count;
    sli_error first; /* with its line */
} bad_records;

/* Stores the offset of a record, and checks it. */
static sluice_status add_record(list_records *list, list_cursor *cursor, bad_records *bad,
                                const char **at_out)
{
    uint64_t *grown =
        sli_grow(list->offsets, &list->capacity, (size_t)list->count + 1, sizeof(*grown));
    sluice_status st;

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a list of %llu samples",
                        (unsigned long long)list->count);
    }
    list->offsets = grown;
    grown[list->count++] = (uint64_t)(cursor->at - list->text);
    st = check_record(list, *cursor, at_out);
    if (st != SLUICE_OK && bad->count++ == 0) {
        st = add_place(list, *at_out, st);
        sli_error_take(st, &bad->first);
    }
    return pass_record(cursor, at_out);
}

/* Numbers the classes, after all names were collected. */
static sluice_status close_classes(list_records *list)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && i < list->columns.count; i++) {
        vocabulary *names = list->columns.fields[i].names;

        st = names != NULL && names->is_open ? vocabulary_close(names) : SLUICE_OK;
    }
    return st;
}

/*
 * Ends the opening of a list: says how many records are bad samples. Fails if there are no records,
 * or all are bad. Without a header, the first record must be good: it may be a header of another
 * form.
 */
static sluice_status judge_records(const list_records *list, const char *path, bool has_header,
                                   const bad_records *bad)
{
    const char *at;

    if (list->count == 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "no valid data in the dataset: image_list: %s has a header only", path);
    }
    if (bad->count == 0) {
        return SLUICE_OK;
    }
    if (bad->count == list->count ||
        (!has_header && check_record(list, list_records_at(list, 0), &at) != SLUICE_OK)) {
        return bad->count > 1
                   ? sli_fail(bad->first.status, "%s:%.700s; and %llu more records of %llu are bad",
                              path, bad->first.text, (unsigned long long)(bad->count - 1),
                              (unsigned long long)list->count)
                   : sli_fail(bad->first.status, "%s:%.700s", path, bad->first.text);
    }
    sli_log(SLUICE_LOG_WARN,
            "image_list: %llu of %llu records are bad samples, the first %s:%.700s; 'sluice "
            "inspect' lists them, and on_error decides what a run does with them",
            (unsigned long long)bad->count, (unsigned long long)list->count, path, bad->first.text);
    return SLUICE_OK;
}

sluice_status list_records_find(list_records *list, const char *path)
{
    const bool has_mark = strncmp(list->text, "\xEF\xBB\xBF", 3) == 0; /* UTF-8 byte order mark */
    list_cursor cursor = cursor_at(list, has_mark ? 3 : 0);
    const char *at = list->text;
    bad_records bad = {.count = 0};
    const char *first;
    bool has_header;
    sluice_status st = list_lines_init(&list->lines, list->text, list->size);

    if (st != SLUICE_OK) {
        return st;
    }
    if (!list_begin_record(&cursor)) {
        st = sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: the list is empty");
    }
    first = cursor.at;
    if (st == SLUICE_OK) {
        st = list->json.lines != NULL ? check_image(&list->columns)
                                      : read_header(list, &cursor, &at);
        st = st == SLUICE_OK ? read_classes(list) : st;
    }
    has_header = cursor.at != first || list->json.lines != NULL;
    while (st == SLUICE_OK && list_begin_record(&cursor)) {
        st = add_record(list, &cursor, &bad, &at);
    }
    if (st == SLUICE_OK) {
        st = close_classes(list);
        return st == SLUICE_OK ? judge_records(list, path, has_header, &bad) : st;
    }
    st = add_place(list, at, st);
    return sli_fail_quoting(st, "%s:%s", path, sluice_last_error());
}
