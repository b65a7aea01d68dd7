/* SPDX-License-Identifier: Apache-2.0 */
#include "web_fields.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "format_int.h"
#include "image_extensions.h"
#include "status_int.h"

static sluice_status bad_field(const char *text)
{
    return sli_fail(SLUICE_E_INVALID,
                    "webdataset: fields: '%.100s' must be NAME:FIELD, such as image:jpg, "
                    "seg:png@mask, label:cls, vector:npy, boxes:boxes.npy[100] with the most rows, "
                    "classes:classes.npy[100]@boxes with as many rows, boxes:boxes[100]=boxes.npy "
                    "with the role of boxes, points or image, caption:txt[512] with the most "
                    "bytes, at most %d, or label:class=json.a.b at a path of a JSON member",
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

/* True if the field is a text by its extension, for the readers of WebDataset. */
static bool is_text(const web_field *field)
{
    const char *dot = strrchr(field->field, '.');
    const char *end = dot != NULL ? dot + 1 : field->field;

    return field->kind == WEB_BYTES && (sli_same_word(end, "txt") || sli_same_word(end, "text") ||
                                        sli_same_word(end, "transcript"));
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

        if (field->kind == WEB_ARRAY && field->most == most &&
            (field->rows_of < 0 || web_role_is_points(field->role)) &&
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

/* True if a member with this extension may take the place of one of a kind. JPEG 2000, which is
 * decoded only by the name of a file, is no image otherwise. */
static bool is_of_kind(const char *extension, web_kind kind)
{
    return kind_of(extension) == kind ||
           (kind == WEB_IMAGE && image_extension_is_in(extension, IMAGE_JP2_EXTENSIONS));
}

/* Takes a FIELD such as mask.png/ppm apart, with the extensions that the member may have instead.
 * False: one is empty, too long, or of another kind than the first. */
static bool take_extensions(const char *text, web_field *field)
{
    const char *rest = copy_until(text, "/", field->field, sizeof(field->field));
    size_t length = 0;

    if (rest == NULL || field->field[0] == '.') {
        return false;
    }
    while (*rest == '/') {
        char extension[12];

        rest = copy_until(rest + 1, "/", extension, sizeof(extension));
        if (rest == NULL || strchr(extension, '.') != NULL ||
            !is_of_kind(extension, kind_of(field->field))) {
            return false;
        }
        length += (size_t)snprintf(field->others + length, sizeof(field->others) - length, "%s%s",
                                   length > 0 ? "," : "", extension);
        if (length >= sizeof(field->others)) {
            return false;
        }
    }
    return true;
}

/* Parses FIELD, and what follows it. */
static bool parse_member(const web_fields *fields, const char *text, web_field *field)
{
    char member[128];
    const char *rest = copy_until(text, "[@", member, sizeof(member));

    if (rest == NULL || !take_extensions(member, field)) {
        return false;
    }
    field->kind = kind_of(field->field);
    return parse_rest(fields, rest, field);
}

static sluice_status parse_field(const web_fields *fields, const char *text, web_field *field)
{
    const char *rest = copy_until(text, ":", field->name, sizeof(field->name));

    return rest != NULL && *rest == ':' && parse_member(fields, rest + 1, field) ? SLUICE_OK
                                                                                 : bad_field(text);
}

/* Parses NAME:ROLE=FIELD. */
static sluice_status parse_role(const web_fields *fields, const char *text, web_field *field)
{
    web_role_words words;
    const char *member = web_role_parse(text, WEB_MOST_ROW, &words);

    if (member == NULL || !parse_member(fields, member, field) || field->kind != WEB_ARRAY ||
        field->most > 0) {
        return bad_field(text);
    }
    snprintf(field->name, sizeof(field->name), "%s", words.name);
    field->role = words.role;
    field->pairs = words.pairs;
    field->most = words.most;
    if (words.rows[0] != '\0') {
        field->rows_of = find_rows(fields, words.rows, words.most);
        return field->rows_of >= 0 ? SLUICE_OK : bad_field(text);
    }
    return SLUICE_OK;
}

static sluice_status too_many(void)
{
    return sli_fail(SLUICE_E_INVALID,
                    "webdataset: fields: more than %d columns; each with [N] has one for its "
                    "length, too",
                    SLUICE_MAX_COLUMNS);
}

static sluice_status given_twice(const char *member)
{
    return sli_fail(SLUICE_E_INVALID, "webdataset: fields: %s is given twice", member);
}

/* Fails if a member of the field is listed already. */
static sluice_status check_new(const web_fields *fields, const web_field *field)
{
    const char *dot = strrchr(field->field, '.');
    const int stem = dot != NULL ? (int)(dot - field->field) + 1 : 0;

    if (web_fields_find(fields, field->field) >= 0) {
        return given_twice(field->field);
    }
    for (const char *at = field->others; *at != '\0'; at += strspn(at, ",")) {
        const int length = (int)strcspn(at, ",");
        char member[sizeof(field->field) + sizeof(field->others)];

        snprintf(member, sizeof(member), "%.*s%.*s", stem, field->field, length, at);
        if (web_fields_find(fields, member) >= 0) {
            return given_twice(member);
        }
        at += length;
    }
    return SLUICE_OK;
}

/* Returns the path in a FIELD such as json.a.b or info.json.a.b, whose member ends before it; NULL:
 * there is none. */
static const char *find_path(const char *field)
{
    for (const char *part = field; part != NULL;) {
        const char *dot = strchr(part, '.');

        if (dot != NULL && dot - part == 4 && strncasecmp(part, "json", 4) == 0) {
            return dot[1] != '\0' ? dot + 1 : NULL;
        }
        part = dot != NULL ? dot + 1 : NULL;
    }
    return NULL;
}

/* Takes NAME:json.PATH or NAME:KIND=json.PATH apart. False: the item has neither form. */
static bool take_path(const char *text, char declaration[128], const char **field_out)
{
    const char *equals = strchr(text, '=');
    const char *colon = strchr(text, ':');

    if (strlen(text) >= 128) {
        return false;
    }
    if (equals != NULL && find_path(equals + 1) != NULL) {
        snprintf(declaration, 128, "%.*s", (int)(equals - text), text);
        *field_out = equals + 1;
        return true;
    }
    if (colon == NULL || strpbrk(colon, "[@=") != NULL || find_path(colon + 1) == NULL) {
        return false;
    }
    snprintf(declaration, 128, "%.*s:i32", (int)(colon - text), text);
    *field_out = colon + 1;
    return true;
}

/* Returns the field of a JSON member, which is added if it is a new one. */
static sluice_status find_json(web_fields *fields, const web_field *field, web_field **found_out)
{
    const int at = web_fields_find(fields, field->field);
    sluice_status st;

    if (at >= 0 && fields->fields[at].kind == WEB_JSON) {
        *found_out = &fields->fields[at];
        return SLUICE_OK;
    }
    st = check_new(fields, field);
    if (st == SLUICE_OK && fields->count == SLUICE_MAX_COLUMNS) {
        st = too_many();
    }
    if (st == SLUICE_OK) {
        *found_out = &fields->fields[fields->count];
        **found_out = *field;
        st = web_json_create(&(*found_out)->json);
    }
    fields->count += st == SLUICE_OK;
    return st;
}

/* Adds the column at a path of a JSON member. */
static sluice_status add_path(web_fields *fields, const char *text, const char *declaration,
                              const char *from)
{
    const char *path = find_path(from);
    web_field field = {.kind = WEB_JSON, .rows_of = -1, .column = fields->column_count};
    web_field *found = NULL;
    uint32_t columns = 0;
    sluice_status st;

    if (path == NULL || from[0] == '.' || strchr(from, '/') != NULL ||
        (size_t)(path - from) > sizeof(field.field)) {
        return bad_field(text);
    }
    snprintf(field.field, sizeof(field.field), "%.*s", (int)(path - from) - 1, from);
    st = find_json(fields, &field, &found);
    if (st == SLUICE_OK) {
        st = web_json_add(found->json, declaration, path, fields->column_count, &columns);
    }
    if (st != SLUICE_OK) {
        return sli_fail_quoting(st, "webdataset: fields: %.100s: %.700s", text,
                                sluice_last_error());
    }
    fields->column_count += columns;
    return SLUICE_OK;
}

/* Adds the column of a member. */
static sluice_status add_member(web_fields *fields, const char *text, bool *has_image)
{
    web_field field = {.rows_of = -1};
    sluice_status st = strchr(text, '=') != NULL ? parse_role(fields, text, &field)
                                                 : parse_field(fields, text, &field);

    if (st == SLUICE_OK) {
        st = check_new(fields, &field);
    }
    if (st == SLUICE_OK && fields->count == SLUICE_MAX_COLUMNS) {
        st = too_many();
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (field.kind == WEB_IMAGE) {
        field.kind = *has_image ? WEB_FURTHER : WEB_IMAGE;
    }
    field.is_further = field.role == WEB_PIXELS && *has_image;
    *has_image = *has_image || field.kind == WEB_IMAGE || field.role == WEB_PIXELS;
    field.column = fields->column_count;
    fields->column_count += web_field_has_length(&field) ? 2 : 1;
    fields->fields[fields->count++] = field;
    return SLUICE_OK;
}

/* Fails if an array, or a column of a JSON member, follows an image. */
static sluice_status check_followers(const web_fields *fields)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        const web_json *json = fields->fields[i].json;

        if (fields->fields[i].role != WEB_PLAIN) {
            return sli_fail(SLUICE_E_INVALID,
                            "webdataset: fields: %s needs an image, which its %s are of: add one, "
                            "such as image:jpg; numbers need none, as NAME:npy[N]",
                            fields->fields[i].name, web_role_word(fields->fields[i].role));
        }

        for (uint32_t k = 0; json != NULL && k < json->columns.count; k++) {
            const list_column *column = &json->columns.fields[k];

            if (column->kind == LIST_BOXES || column->kind == LIST_POINTS) {
                return sli_fail(SLUICE_E_INVALID,
                                "webdataset: fields: the boxes or points of %s need an image: add "
                                "one, such as image:jpg; numbers need none, as NAME:f32[N]",
                                json->columns.schema.columns[column->column].name);
            }
        }
    }
    return SLUICE_OK;
}

static sluice_status parse_fields(const char *text, web_fields *fields)
{
    bool masks = false;
    bool images = false;

    for (bool more = true; more;) {
        const size_t length = strcspn(text, ",");
        const char *from;
        char one[768]; /* of points, pairs of which a flip exchanges */
        char declaration[128];
        sluice_status st;

        snprintf(one, sizeof(one), "%.*s", (int)(length < sizeof(one) ? length : sizeof(one)),
                 text);
        st = length >= sizeof(one)                ? bad_field(one)
             : take_path(one, declaration, &from) ? add_path(fields, one, declaration, from)
                                                  : add_member(fields, one, &images);
        if (st == SLUICE_OK && fields->column_count > SLUICE_MAX_COLUMNS) {
            st = too_many();
        }
        if (st != SLUICE_OK) {
            return st;
        }
        masks = masks || fields->fields[fields->count - 1].kind == WEB_MASK;
        more = text[length] == ',';
        text += length + more;
    }
    if (masks && !images) {
        return sli_fail(SLUICE_E_INVALID,
                        "webdataset: fields: a mask needs an image: add one, such as image:jpg");
    }
    return images ? SLUICE_OK : check_followers(fields);
}

sluice_status web_fields_parse(const char *text, web_fields *fields_out)
{
    web_fields fields = {.count = 0};
    const sluice_status st = parse_fields(text, &fields);

    if (st != SLUICE_OK) {
        web_fields_free(&fields);
        return st;
    }
    *fields_out = fields;
    return SLUICE_OK;
}

void web_fields_free(web_fields *fields)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        web_json_free(fields->fields[i].json);
    }
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
    case WEB_JSON:
        web_json_schema(field->json, schema);
        return SLUICE_OK;
    }
    snprintf(column->name, sizeof(column->name), "%s", field->name);
    if (field->most > 0) {
        column->shape[0] = field->most;
    }
    if (!web_field_has_length(field)) {
        return SLUICE_OK;
    }
    info->rows = field->column + 2;
    info->is_text = is_text(field);
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
        const web_field *field = &fields->fields[i];

        st = add_columns(field, &types[i], schema);
        if (st == SLUICE_OK && field->kind == WEB_ARRAY) {
            st = web_role_set(field->role, field->column,
                              field->rows_of >= 0 ? (int)fields->fields[field->rows_of].column : -1,
                              schema);
        }
    }
    return st == SLUICE_OK ? schema_check_names(schema, "webdataset") : st;
}

/* True if a member's part after its first dot is the field with one of its further extensions. */
static bool is_other(const web_field *field, const char *member)
{
    const char *own = strrchr(field->field, '.');
    const char *dot = strrchr(member, '.');
    const size_t stem = own != NULL ? (size_t)(own - field->field) + 1 : 0;

    return (dot != NULL ? (size_t)(dot - member) + 1 : 0) == stem &&
           strncasecmp(field->field, member, stem) == 0 &&
           sli_word_rank(member + stem, field->others) != UINT32_MAX;
}

int web_fields_find(const web_fields *fields, const char *member)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        const web_field *field = &fields->fields[i];

        if (sli_same_word(field->field, member) ||
            (field->others[0] != '\0' && is_other(field, member))) {
            return (int)i;
        }
    }
    return -1;
}
