/* SPDX-License-Identifier: Apache-2.0 */
#include "record_fields.h"

#include <stdio.h>
#include <string.h>

#include "point_range.h"
#include "record_numbers.h"
#include "status_int.h"
#include "zero_padding_int.h"

/* ---- the text -------------------------------------------------------------------------------- */

static sluice_status bad_item(const char *stage, const char *item)
{
    return sli_fail(SLUICE_E_INVALID,
                    "%s: fields: '%.200s' must be NAME:FEATURE@KIND, such as "
                    "image:image/encoded@image, label:image/class/label@i32, w:w@f32[2], "
                    "boxes:bbox@boxes[100] or caption:text@text[512]; FEATURE has at most %d bytes",
                    stage, item, RECORD_NAME_SIZE - 1);
}

/* Numbers in a row of a column. */
static uint32_t row_numbers(const list_column *field)
{
    return field->kind == LIST_BOXES ? 4 : field->kind == LIST_POINTS ? 2 * field->row : field->row;
}

/* Finds the index of a value among the names, which get it if it is a new one. False: there are
 * too many. */
static bool find_name(record_fields *fields, const char *feature, size_t length,
                      uint32_t *index_out)
{
    record_names *names = &fields->names;
    uint32_t i = 0;

    while (i < names->count &&
           (strlen(names->names[i]) != length || memcmp(names->names[i], feature, length) != 0)) {
        i++;
    }
    *index_out = i;
    if (i == names->count && i < SLUICE_MAX_COLUMNS) {
        memcpy(fields->texts[i], feature, length);
        fields->texts[i][length] = '\0';
        names->names[names->count++] = fields->texts[i];
    }
    return i < SLUICE_MAX_COLUMNS;
}

/* The number of names in FEATURE: that of a row's numbers if + separates as many, else 1. */
static uint32_t count_parts(const list_column *field, const char *feature, size_t length)
{
    const bool has_rows =
        field->kind == LIST_BOXES || field->kind == LIST_POINTS || field->kind == LIST_NUMBERS;
    const uint32_t row = row_numbers(field);
    uint32_t count = 1;

    for (size_t i = 0; i < length; i++) {
        count += feature[i] == '+';
    }
    return has_rows && count == row && row <= RECORD_MOST_PARTS ? row : 1;
}

/* Finds the values of the last column. */
static sluice_status find_parts(record_fields *fields, const char *stage, const char *feature,
                                size_t length)
{
    const list_column *field = &fields->columns.fields[fields->columns.count - 1];
    const char *name = fields->columns.schema.columns[field->column].name;
    record_parts *parts = &fields->parts[fields->columns.count - 1];
    const uint32_t count = count_parts(field, feature, length);
    const char *end = feature + length;

    for (; parts->count < count; parts->count++) {
        const char *plus = count > 1 ? memchr(feature, '+', (size_t)(end - feature)) : NULL;
        const char *stop = plus != NULL ? plus : end;

        if (stop == feature) {
            return sli_fail(SLUICE_E_INVALID, "%s: fields: %s has an empty FEATURE", stage, name);
        }
        if (!find_name(fields, feature, (size_t)(stop - feature), &parts->values[parts->count])) {
            return sli_fail(SLUICE_E_INVALID, "%s: fields: more than %d values", stage,
                            SLUICE_MAX_COLUMNS);
        }
        feature = stop + (parts->count + 1 < count);
    }
    return SLUICE_OK;
}

static sluice_status add_item(record_fields *fields, const char *stage, const char *item)
{
    const char *colon = strchr(item, ':');
    const char *at = colon != NULL ? strchr(colon, '@') : NULL;
    char declaration[128];
    sluice_status st;

    if (at == NULL || colon == item || at == colon + 1 || at - colon > RECORD_NAME_SIZE ||
        snprintf(declaration, sizeof(declaration), "%.*s:%s", (int)(colon - item), item, at + 1) >=
            (int)sizeof(declaration)) {
        return bad_item(stage, item);
    }
    st = list_add_column(&fields->columns, declaration);
    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "%s: fields: %.200s: %.600s", stage, item, sluice_last_error());
    }
    return find_parts(fields, stage, colon + 1, (size_t)(at - colon - 1));
}

/* Fails if a column follows an image, and there is none. */
static sluice_status check_followers(const stage_schema *schema, const char *stage)
{
    for (uint32_t i = 0; schema->image < 0 && i < schema->column_count; i++) {
        if (schema_follows(schema->infos[i].role)) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: fields: %s is %s, which needs an image: add one, such as "
                            "image:image/encoded@image; numbers need none, as NAME:FEATURE@f32[N]",
                            stage, schema->columns[i].name, schema_role_words(schema, i));
        }
    }
    return SLUICE_OK;
}

sluice_status record_fields_parse(const char *text, const char *stage, record_fields *fields)
{
    bool more = true;
    sluice_status st = SLUICE_OK;

    memset(fields, 0, sizeof(*fields));
    fields->columns.is_binary = true;
    fields->columns.schema.image = -1;
    while (more && st == SLUICE_OK) {
        const size_t length = strcspn(text, ",");
        char item[RECORD_NAME_SIZE + 128];

        snprintf(item, sizeof(item), "%.*s",
                 (int)(length < sizeof(item) ? length : sizeof(item) - 1), text);
        st = length < sizeof(item) ? add_item(fields, stage, item) : bad_item(stage, item);
        more = text[length] == ',';
        text += length + more;
    }
    if (st != SLUICE_OK) {
        return st;
    }
    st = schema_check_names(&fields->columns.schema, stage);
    return st == SLUICE_OK ? check_followers(&fields->columns.schema, stage) : st;
}

void record_fields_schema(const record_fields *fields, stage_schema *schema)
{
    const stage_schema *own = &fields->columns.schema;

    schema->image = own->image;
    schema->column_count = own->column_count;
    memcpy(schema->columns, own->columns, sizeof(own->columns));
    memcpy(schema->infos, own->infos, sizeof(own->infos));
}

uint32_t record_fields_find(const record_fields *fields, uint32_t column)
{
    uint32_t i = 0;

    while (i + 1 < fields->columns.count && fields->columns.fields[i].column != (int)column) {
        i++;
    }
    return i;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *column_name(const record_fields *fields, uint32_t field)
{
    return fields->columns.schema.columns[fields->columns.fields[field].column].name;
}

/* Adds the names of value and column to the text of an error. */
static sluice_status value_error(const record_fields *fields, uint32_t field, sluice_status status)
{
    return sli_fail_quoting(status, "%s (column %s): %.600s",
                            fields->names.names[fields->parts[field].values[0]],
                            column_name(fields, field), sluice_last_error());
}

static sluice_status is_missing(void)
{
    return sli_fail(SLUICE_E_CORRUPT, "the record has no such value");
}

/* Fails unless a value is a single byte string. */
static sluice_status check_bytes(const record_value *value)
{
    if (value->kind == RECORD_MISSING) {
        return is_missing();
    }
    if (value->kind == RECORD_NUMBERS) {
        return sli_fail(SLUICE_E_CORRUPT, "it is %llu numbers of type %s, not bytes",
                        (unsigned long long)value->count, sluice_dtype_name(value->dtype));
    }
    return value->count == 1
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "it has %llu byte strings, and must have one",
                          (unsigned long long)value->count);
}

sluice_status record_fields_encoded(const record_fields *fields, uint32_t field,
                                    const record_value *values, const uint8_t **bytes_out,
                                    size_t *size_out)
{
    const record_value *value = &values[fields->parts[field].values[0]];
    const sluice_status st = check_bytes(value);

    if (st != SLUICE_OK) {
        return value_error(fields, field, st);
    }
    *bytes_out = value->data;
    *size_out = value->size;
    return SLUICE_OK;
}

static sluice_status write_text(const list_column *field, const record_value *value, uint8_t *to,
                                uint64_t *rows_out)
{
    const bool is_empty =
        value->kind == RECORD_MISSING || (value->kind != RECORD_NUMBERS && value->count == 0);
    const size_t size = is_empty ? 0 : value->size;
    const sluice_status st = is_empty ? SLUICE_OK : check_bytes(value);

    if (st != SLUICE_OK) {
        return st;
    }
    if (size > field->most) {
        return sli_fail(SLUICE_E_CORRUPT, "it has %zu bytes, and must have at most %u", size,
                        field->most);
    }
    *rows_out = size;
    if (to != NULL) {
        if (size > 0) {
            memcpy(to, value->data, size);
        }
        sli_zero_padding(to + size, field->most - size);
    }
    return SLUICE_OK;
}

/* Converts boxes to corners; a bad one is found when the sample is read. */
static void convert_boxes(box_form form, uint8_t *to, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        float box[4];

        memcpy(box, to + i * sizeof(box), sizeof(box));
        box_to_corners(form, box);
        memcpy(to + i * sizeof(box), box, sizeof(box));
    }
}

static sluice_status check_points(const uint8_t *points, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        float point[2];

        memcpy(point, points + i * sizeof(point), sizeof(point));
        if (!point_is_valid(point)) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "point %llu, %g,%g, must be x,y with numbers from -1e6 to 1e6",
                            (unsigned long long)i + 1, (double)point[0], (double)point[1]);
        }
    }
    return SLUICE_OK;
}

/* Determines the number of rows of a column of [N]. */
static sluice_status count_rows(const list_column *field, uint64_t numbers, uint64_t *rows_out)
{
    const uint32_t row = row_numbers(field);

    if (numbers % row != 0) {
        return sli_fail(SLUICE_E_CORRUPT, "it has %llu numbers, and must have %u for each row",
                        (unsigned long long)numbers, row);
    }
    *rows_out = numbers / row;
    if (field->kind == LIST_POINTS && field->length < 0 && field->boxes < 0 &&
        *rows_out != field->most) {
        return sli_fail(SLUICE_E_CORRUPT, "it has %llu points, and must have %u",
                        (unsigned long long)*rows_out, field->most);
    }
    return *rows_out <= field->most
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "it has %llu rows, and must have at most %u",
                          (unsigned long long)*rows_out, field->most);
}

/* Counts the numbers of a column. Its values must have as many, each. */
static sluice_status count_numbers(const list_column *field, const record_parts *parts,
                                   const record_value *values, uint64_t *numbers_out)
{
    uint64_t first = 0;

    for (uint32_t p = 0; p < parts->count; p++) {
        const record_value *value = &values[parts->values[p]];
        uint64_t numbers = 0;
        const sluice_status st = value->kind != RECORD_MISSING
                                     ? record_numbers_count(value, field->dtype, &numbers)
                                     : SLUICE_OK;

        if (st != SLUICE_OK) {
            return st;
        }
        if (p > 0 && numbers != first) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "it has %llu numbers, and value %u of the row has %llu",
                            (unsigned long long)first, p + 1, (unsigned long long)numbers);
        }
        first = numbers;
    }
    *numbers_out = first * parts->count;
    return SLUICE_OK;
}

/* Converts the values of a column, number p of each row from value p. */
static sluice_status convert_parts(const list_column *field, const record_parts *parts,
                                   const record_value *values, uint64_t numbers, uint8_t *to)
{
    const size_t size = sluice_dtype_size(field->dtype);
    sluice_status st = SLUICE_OK;

    if (parts->count == 1) {
        return numbers > 0 ? record_numbers_convert(&values[parts->values[0]], field->dtype, to)
                           : SLUICE_OK;
    }
    for (uint64_t i = 0; i < numbers && st == SLUICE_OK; i++) {
        record_value one = values[parts->values[i % parts->count]];
        const size_t own = one.kind == RECORD_NUMBERS ? sluice_dtype_size(one.dtype) : size;

        one.data = (const uint8_t *)one.data + i / parts->count * own;
        one.size = own;
        one.count = 1;
        st = record_numbers_convert(&one, field->dtype, to + i * size);
    }
    return st;
}

static sluice_status write_rows(const list_column *field, const record_parts *parts,
                                const record_value *values, uint8_t *to, uint64_t *rows_out)
{
    const size_t size = sluice_dtype_size(field->dtype);
    uint64_t numbers = 0;
    sluice_status st = count_numbers(field, parts, values, &numbers);

    if (st == SLUICE_OK) {
        st = count_rows(field, numbers, rows_out);
    }
    if (st != SLUICE_OK || to == NULL) {
        return st;
    }
    st = convert_parts(field, parts, values, numbers, to);
    sli_zero_padding(to + numbers * size,
                     ((size_t)field->most * row_numbers(field) - (size_t)numbers) * size);
    if (st == SLUICE_OK && field->kind == LIST_BOXES) {
        convert_boxes(field->form, to, *rows_out);
    }
    return st == SLUICE_OK && field->kind == LIST_POINTS ? check_points(to, *rows_out * field->row)
                                                         : st;
}

/* Fails if a value has another shape than its column. */
static sluice_status check_shape(const sluice_column *column, const record_value *value)
{
    char text[120];

    for (uint32_t i = 0; value->rank == column->rank && i < column->rank; i++) {
        if (value->shape[i] != column->shape[i]) {
            return sli_fail(SLUICE_E_CORRUPT, "its dimension %u has length %llu, and must be %s",
                            i + 1, (unsigned long long)value->shape[i],
                            column_type_text(column, text, sizeof(text)));
        }
    }
    return SLUICE_OK;
}

/* True for types that many formats have only as bytes; a text may be as long as other ones. */
static bool is_raw(sluice_dtype dtype)
{
    return dtype == SLUICE_F16 || dtype == SLUICE_BF16 || dtype == SLUICE_F64 ||
           dtype == SLUICE_U64;
}

/* Writes one number, or numbers of a fixed shape. */
static sluice_status write_fixed(const list_column *field, const sluice_column *column,
                                 const record_value *value, uint8_t *to)
{
    uint64_t numbers = 0;
    sluice_status st;

    if (value->kind == RECORD_MISSING) {
        return is_missing();
    }
    if (field->kind == LIST_NUMBER && value->kind != RECORD_NUMBERS && !is_raw(field->dtype)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "it is a byte string, and must be a number; text[N] reads it");
    }
    st = record_numbers_count(value, field->dtype, &numbers);
    if (st == SLUICE_OK && numbers != field->row) {
        st = sli_fail(SLUICE_E_CORRUPT, "it has %llu numbers, and must have %u",
                      (unsigned long long)numbers, field->row);
    }
    if (st == SLUICE_OK) {
        st = check_shape(column, value);
    }
    return st == SLUICE_OK ? record_numbers_convert(value, field->dtype, to) : st;
}

/* Writes the values of a field into its columns of a row, and its number of rows to counts[i]. */
static sluice_status write_field(const record_fields *fields, uint32_t i,
                                 const record_value *values, void *const *row, uint64_t *counts)
{
    const list_column *field = &fields->columns.fields[i];
    const record_parts *parts = &fields->parts[i];
    const record_value *value = &values[parts->values[0]];
    uint8_t *to = row[field->column];
    sluice_status st;

    if (field->kind == LIST_NUMBER || field->kind == LIST_ARRAY) {
        return write_fixed(field, &fields->columns.schema.columns[field->column], value, to);
    }
    st = field->kind == LIST_TEXT ? write_text(field, value, to, &counts[i])
                                  : write_rows(field, parts, values, to, &counts[i]);
    if (st == SLUICE_OK && field->boxes >= 0 && counts[i] != counts[field->boxes]) {
        st = sli_fail(SLUICE_E_CORRUPT, "it has %llu rows, and must have %llu, as %s has",
                      (unsigned long long)counts[i], (unsigned long long)counts[field->boxes],
                      column_name(fields, (uint32_t)field->boxes));
    }
    if (st == SLUICE_OK && field->length >= 0 && row[field->length] != NULL) {
        *(int32_t *)row[field->length] = (int32_t)counts[i];
    }
    return st;
}

sluice_status record_fields_write(const record_fields *fields, const record_value *values,
                                  void *const *row)
{
    uint64_t counts[SLUICE_MAX_COLUMNS] = {0};

    for (uint32_t i = 0; i < fields->columns.count; i++) {
        const list_kind kind = fields->columns.fields[i].kind;
        sluice_status st;

        if (kind == LIST_IMAGE || kind == LIST_MASK || kind == LIST_PIXELS) {
            continue;
        }
        st = write_field(fields, i, values, row, counts);
        if (st != SLUICE_OK) {
            return value_error(fields, i, st);
        }
    }
    return SLUICE_OK;
}

sluice_status record_fields_pixels(const record_fields *fields, uint32_t field,
                                   const record_value *values, uint8_t *pixels)
{
    const list_column *column = &fields->columns.fields[field];
    const sluice_status st = write_fixed(column, &fields->columns.schema.columns[column->column],
                                         &values[fields->parts[field].values[0]], pixels);

    return st == SLUICE_OK ? st : value_error(fields, field, st);
}
