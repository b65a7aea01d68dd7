/* SPDX-License-Identifier: Apache-2.0 */
#include "web_fields.h"

#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "image_extensions.h"
#include "status_int.h"

static sluice_status bad_field(const char *text)
{
    return sli_fail(
        SLUICE_E_INVALID,
        "webdataset: fields: '%.100s' must be NAME:FIELD, such as image:jpg, "
        "seg:png@mask, label:cls, vector:npy, boxes:boxes.npy[100] with the most rows, "
        "classes:classes.npy[100]@boxes with as many rows, or caption:txt[512] with the "
        "most bytes, at most %d",
        text, WEB_MOST_ROW);
}

/* Returns the kind of a field by its extension. */
static web_kind kind_of(const char *field)
{
    const char *dot = strrchr(field, '.');
    const char *end = dot != NULL ? dot + 1 : field;

    if (image_extension_is_in(end, image_extensions) || sli_same_word(end, "png")) {
        return WEB_IMAGE; /* a build without libpng says so when it decodes */
    }
    return sli_same_word(end, "cls")   ? WEB_NUMBER
           : sli_same_word(end, "npy") ? WEB_ARRAY
                                       : WEB_BYTES;
}

bool web_field_has_length(const web_field *field)
{
    return field->most > 0 && field->rows_of < 0;
}

/* Parses a text that begins with "[N]". Returns the rest; NULL: it does not. */
static const char *parse_most(const char *text, uint32_t *most_out)
{
    uint64_t most = 0;

    if (*text++ != '[') {
        return NULL;
    }
    for (; *text >= '0' && *text <= '9' && most <= WEB_MOST_ROW; text++) {
        most = most * 10 + (uint64_t)(*text - '0');
    }
    *most_out = (uint32_t)most;
    return *text == ']' && most > 0 && most <= WEB_MOST_ROW ? text + 1 : NULL;
}

/*
 * Copies the text up to the first of `stops`. Returns the rest, from that character on; NULL if the
 * part is empty or does not fit.
 */
static const char *copy_until(const char *text, const char *stops, char *copy, size_t size)
{
    const size_t length = strcspn(text, stops);

    if (length == 0 || length >= size) {
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return text + length;
}

/* Finds the field of arrays whose number of rows another field has; -1: there is none. */
static int find_rows(const web_fields *fields, const char *name, uint32_t most)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        const web_field *field = &fields->fields[i];

        if (field->kind == WEB_ARRAY && field->most == most && field->rows_of < 0 &&
            strcmp(field->name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Parses what follows FIELD: nothing, "[N]", "[N]@ROWS" or "@mask". */
static bool parse_rest(const web_fields *fields, const char *rest, web_field *field)
{
    if (field->kind == WEB_IMAGE && strcmp(rest, "@mask") == 0) {
        field->kind = WEB_MASK;
        return true;
    }
    if (field->kind == WEB_BYTES || (field->kind == WEB_ARRAY && *rest != '\0')) {
        rest = parse_most(rest, &field->most);
    }
    if (rest != NULL && field->kind == WEB_ARRAY && field->most > 0 && *rest == '@') {
        field->rows_of = find_rows(fields, rest + 1, field->most);
        return field->rows_of >= 0;
    }
    return rest != NULL && *rest == '\0';
}

static sluice_status parse_field(const web_fields *fields, const char *text, web_field *field)
{
    const char *rest = copy_until(text, ":", field->name, sizeof(field->name));

    if (rest == NULL || *rest != ':') {
        return bad_field(text);
    }
    rest = copy_until(rest + 1, "[@", field->field, sizeof(field->field));
    if (rest == NULL || field->field[0] == '.' || strchr(field->field, '/') != NULL) {
        return bad_field(text);
    }
    field->kind = kind_of(field->field);
    return parse_rest(fields, rest, field) ? SLUICE_OK : bad_field(text);
}

/* Fails if the field is listed already. */
static sluice_status check_new(const web_fields *fields, const web_field *field)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        if (sli_same_word(fields->fields[i].field, field->field)) {
            return sli_fail(SLUICE_E_INVALID, "webdataset: fields: %s is given twice",
                            field->field);
        }
    }
    return SLUICE_OK;
}

sluice_status web_fields_parse(const char *text, web_fields *fields_out)
{
    web_fields fields = {.count = 0};
    bool masks = false;
    bool images = false;

    for (bool more = true; more;) {
        const size_t length = strcspn(text, ",");
        web_field field = {.rows_of = -1};
        char one[128];
        sluice_status st;

        snprintf(one, sizeof(one), "%.*s", (int)(length < sizeof(one) ? length : sizeof(one)),
                 text);
        st = length < sizeof(one) ? parse_field(&fields, one, &field) : bad_field(one);
        if (st == SLUICE_OK) {
            st = check_new(&fields, &field);
        }
        if (st != SLUICE_OK) {
            return st;
        }
        masks = masks || field.kind == WEB_MASK;
        if (field.kind == WEB_IMAGE) {
            field.kind = images ? WEB_FURTHER : WEB_IMAGE;
            images = true;
        }
        field.column = fields.column_count;
        fields.column_count += web_field_has_length(&field) ? 2 : 1;
        if (fields.column_count > SLUICE_MAX_COLUMNS) {
            return sli_fail(
                SLUICE_E_INVALID,
                "webdataset: fields: more than %d columns; each with [N] has one for its "
                "length, too",
                SLUICE_MAX_COLUMNS);
        }
        fields.fields[fields.count++] = field;
        more = text[length] == ',';
        text += length + more;
    }
    if (masks && !images) {
        return sli_fail(SLUICE_E_INVALID,
                        "webdataset: fields: a mask needs an image: add one, such as image:jpg");
    }
    *fields_out = fields;
    return SLUICE_OK;
}

/* Writes the columns of a field into the schema. */
static sluice_status add_columns(const web_field *field, const sluice_column *type,
                                 stage_schema *schema)
{
    sluice_column *column = &schema->columns[field->column];
    column_info *info = &schema->infos[field->column];

    *column = (sluice_column){.dtype = SLUICE_ENCODED};
    switch (field->kind) {
    case WEB_IMAGE:
        schema->image = (int)field->column;
        break;
    case WEB_FURTHER:
        info->role = ROLE_IMAGE;
        break;
    case WEB_MASK:
        info->role = ROLE_MASK;
        break;
    case WEB_NUMBER:
        column->dtype = SLUICE_I32;
        break;
    case WEB_ARRAY:
        *column = *type;
        break;
    case WEB_BYTES:
        *column = (sluice_column){.dtype = SLUICE_U8, .rank = 1};
        break;
    }
    snprintf(column->name, sizeof(column->name), "%s", field->name);
    if (field->most > 0) {
        column->shape[0] = field->most;
    }
    if (!web_field_has_length(field)) {
        return SLUICE_OK;
    }
    info->rows = field->column + 2;
    column[1] = (sluice_column){.dtype = SLUICE_I32};
    return snprintf(column[1].name, sizeof(column[1].name), "%s_length", field->name) <
                   (int)sizeof(column[1].name)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID, "webdataset: fields: with _length %s is too long",
                          field->name);
}

sluice_status web_fields_schema(const web_fields *fields, const sluice_column *types,
                                stage_schema *schema)
{
    sluice_status st = SLUICE_OK;

    schema->image = -1;
    schema->column_count = fields->column_count;
    for (uint32_t i = 0; i < fields->count && st == SLUICE_OK; i++) {
        st = add_columns(&fields->fields[i], &types[i], schema);
    }
    return st == SLUICE_OK ? schema_check_names(schema, "webdataset") : st;
}

int web_fields_find(const web_fields *fields, const char *field)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        if (sli_same_word(fields->fields[i].field, field)) {
            return (int)i;
        }
    }
    return -1;
}
