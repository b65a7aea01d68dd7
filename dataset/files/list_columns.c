/* SPDX-License-Identifier: Apache-2.0 */
#include "list_columns.h"

#include <stdio.h>
#include <string.h>

#include "box_rule.h"
#include "point_range.h"
#include "status_int.h"
#include "tensor_int.h"
#include "text_int.h"

/* Limit on N in NAME:KIND[N]; it limits a column's row to 64 MiB. */
enum { MOST_ELEMENTS = 1 << 22 };

/* Indexed by box_form: the KIND in a header field, and the valid boxes, for messages. */
static const struct {
    const char *name;
    const char *box;
} box_forms[] = {
    {"boxes", "x0,y0,x1,y1 with x0 <= x1 and y0 <= y1"},
    {"coco", "x,y,width,height with 0 <= width and 0 <= height"},
    {"voc", "x0,y0,x1,y1 with x0 <= x1 and y0 <= y1"},
    {"darknet", "x,y,width,height of its centre and size, as fractions of the image from 0 to 1"},
};

/* Returns the text without the blanks around it; removes those at its end. */
static char *trim(char *text)
{
    size_t length;

    text += strspn(text, " \t");
    length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        text[--length] = '\0';
    }
    return text;
}

/* ---- the header ------------------------------------------------------------------------------ */

static sluice_status bad_field(const char *text)
{
    return sli_fail(
        SLUICE_E_INVALID,
        "'%.100s' must be a column: image, label, or NAME:KIND, where KIND is image, mask, "
        "boxes[N], coco[N], voc[N], darknet[N], points[N], text[N], or a type such as f32, "
        "f32[N] or i32[N]@BOXES, and N is at most %d",
        text, MOST_ELEMENTS);
}

/* The parts of a header field NAME:WORD[MOST]@BOXES. */
typedef struct header_words {
    char name[SLUICE_NAME_SIZE];
    char word[16];
    bool has_most;
    uint64_t most;
    char boxes[SLUICE_NAME_SIZE]; /* name in @BOXES; "": the field has no @BOXES */
} header_words;

/*
 * Copies the text up to the first stop character, without the blanks around it. Returns the
 * remaining text, which begins with that character, or NULL if the copy is too long.
 */
static const char *take_until(const char *text, const char *stops, char *copy, size_t size)
{
    const char *const end = text + strcspn(text, stops);
    size_t length;

    text += strspn(text, " \t");
    length = text < end ? (size_t)(end - text) : 0;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        length--;
    }
    if (length >= size) {
        return NULL;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return end;
}

static bool take_most(const char **text, header_words *words)
{
    const char *at = *text + 1;
    uint64_t most = 0;

    for (; *at >= '0' && *at <= '9' && most <= MOST_ELEMENTS; at++) {
        most = most * 10 + (uint64_t)(*at - '0');
    }
    if (*at != ']' || most == 0 || most > MOST_ELEMENTS) {
        return false;
    }
    words->has_most = true;
    words->most = most;
    *text = at + 1 + strspn(at + 1, " \t");
    return true;
}

static bool take_apart(const char *text, header_words *words)
{
    memset(words, 0, sizeof(*words));
    text = take_until(text, ":", words->name, sizeof(words->name));
    if (text != NULL && *text == ':') {
        text = take_until(text + 1, "[@", words->word, sizeof(words->word));
    } else if (text != NULL) {
        const char *usual = strcmp(words->name, "image") == 0   ? "image"
                            : strcmp(words->name, "label") == 0 ? "i32"
                                                                : "";

        snprintf(words->word, sizeof(words->word), "%s", usual);
    }
    if (text != NULL && *text == '[' && !take_most(&text, words)) {
        return false;
    }
    if (text != NULL && *text == '@') {
        text = take_until(text + 1, "", words->boxes, sizeof(words->boxes));
    }
    return text != NULL && *text == '\0' && words->word[0] != '\0';
}

/* Adds a column to the batch. Returns NULL if there are too many columns. */
static sluice_column *add_to_schema(stage_schema *schema, const char *name, sluice_dtype dtype)
{
    sluice_column *column;

    if (schema->column_count == SLUICE_MAX_COLUMNS) {
        return NULL;
    }
    column = &schema->columns[schema->column_count++];
    *column = (sluice_column){.dtype = dtype};
    snprintf(column->name, sizeof(column->name), "%s", name);
    return column;
}

/*
 * Adds the i32 column NAME_length, the number of elements in column `name`. False: too many
 * columns, or the name is too long.
 */
static bool add_length(list_columns *columns, list_column *field, const char *name)
{
    char text[SLUICE_NAME_SIZE + 8];

    snprintf(text, sizeof(text), "%s_length", name);
    field->length = (int)columns->schema.column_count;
    return strlen(text) < SLUICE_NAME_SIZE &&
           add_to_schema(&columns->schema, text, SLUICE_I32) != NULL;
}

/* Returns the index of the field of boxes or points with this name, or -1 if there is none. */
static int find_boxes(const list_columns *columns, const char *name)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        const list_column *field = &columns->fields[i];

        if ((field->kind == LIST_BOXES || field->kind == LIST_POINTS) &&
            strcmp(columns->schema.columns[field->column].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

/* Finds a box format by its KIND. False: the word is not a box format. */
static bool find_form(const char *word, box_form *form_out)
{
    for (uint32_t i = 0; i < sizeof(box_forms) / sizeof(box_forms[0]); i++) {
        if (strcmp(box_forms[i].name, word) == 0) {
            *form_out = (box_form)i;
            return true;
        }
    }
    return false;
}

/* Determines the kind, type and number of elements of a field. */
static sluice_status choose_kind(const list_columns *columns, const header_words *words,
                                 const char *text, list_column *field)
{
    const bool has_boxes = words->boxes[0] != '\0';

    field->most = (uint32_t)words->most;
    field->dtype = SLUICE_U8;
    if (strcmp(words->word, "image") == 0 || strcmp(words->word, "mask") == 0) {
        field->kind = words->word[0] == 'i' ? LIST_IMAGE : LIST_MASK;
        field->dtype = SLUICE_ENCODED;
        return words->has_most || has_boxes ? bad_field(text) : SLUICE_OK;
    }
    if (find_form(words->word, &field->form) || strcmp(words->word, "text") == 0 ||
        strcmp(words->word, "points") == 0) {
        field->kind = words->word[0] == 't'   ? LIST_TEXT
                      : words->word[0] == 'p' ? LIST_POINTS
                                              : LIST_BOXES;
        field->dtype = field->kind == LIST_TEXT ? SLUICE_U8 : SLUICE_F32;
        return words->has_most && !has_boxes ? SLUICE_OK : bad_field(text);
    }
    if (!sli_dtype_parse(words->word, &field->dtype) || field->dtype == SLUICE_F16 ||
        field->dtype == SLUICE_BF16 || field->dtype == SLUICE_U64) {
        return bad_field(text);
    }
    field->kind = words->has_most ? LIST_NUMBERS : LIST_NUMBER;
    if (has_boxes) {
        field->boxes = find_boxes(columns, words->boxes);
        if (field->boxes < 0) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: there is no column %s of boxes or points before it", words->name,
                            words->boxes);
        }
        if (columns->fields[field->boxes].most != field->most) {
            return sli_fail(SLUICE_E_INVALID, "%s must have [%u], as many as %s", words->name,
                            columns->fields[field->boxes].most, words->boxes);
        }
    }
    return SLUICE_OK;
}

/* Adds the field's columns to the batch. False: too many columns, or a name is too long. */
static bool add_columns(list_columns *columns, const header_words *words, list_column *field)
{
    stage_schema *schema = &columns->schema;
    sluice_column *column = add_to_schema(schema, words->name, field->dtype);
    column_info *info = &schema->infos[schema->column_count - 1];

    field->column = (int)schema->column_count - 1;
    if (column == NULL) {
        return false;
    }
    switch (field->kind) {
    case LIST_IMAGE:
        info->role = schema->image >= 0 ? ROLE_IMAGE : ROLE_PLAIN;
        schema->image = schema->image >= 0 ? schema->image : field->column;
        return true;
    case LIST_MASK:
        info->role = ROLE_MASK;
        return true;
    case LIST_BOXES:
        column->rank = 2;
        column->shape[0] = field->most;
        column->shape[1] = 4;
        info->role = ROLE_BOXES;
        info->length = schema->column_count;
        info->in_parts = field->form == BOX_DARKNET;
        return add_length(columns, field, words->name);
    case LIST_POINTS:
        column->rank = 2;
        column->shape[0] = field->most;
        column->shape[1] = 2;
        info->role = ROLE_POINTS;
        info->length = schema->column_count;
        return add_length(columns, field, words->name);
    case LIST_NUMBER:
        return true;
    case LIST_NUMBERS:
    case LIST_TEXT:
        column->rank = 1;
        column->shape[0] = field->most;
        if (field->boxes >= 0) {
            info->role = ROLE_TIED;
            info->tied_to = (uint32_t)columns->fields[field->boxes].column;
            return true;
        }
        info->rows = schema->column_count + 1;
        return add_length(columns, field, words->name);
    }
    return false;
}

sluice_status list_add_column(list_columns *columns, const char *text)
{
    list_column field = {.length = -1, .boxes = -1};
    header_words words;
    char own[128];
    sluice_status st;

    snprintf(own, sizeof(own), "%s", text);
    st = take_apart(trim(own), &words) ? choose_kind(columns, &words, text, &field)
                                       : bad_field(text);
    if (st != SLUICE_OK) {
        return st;
    }
    if (columns->count == SLUICE_MAX_COLUMNS || !add_columns(columns, &words, &field)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%.100s: with its length its name is too long, or there are more than %d "
                        "columns",
                        text, SLUICE_MAX_COLUMNS);
    }
    columns->fields[columns->count++] = field;
    return SLUICE_OK;
}

void list_plain_columns(list_columns *columns, uint32_t fields)
{
    static const char *const names[] = {"image", "label"};

    for (uint32_t i = 0; i < fields && i < 2; i++) {
        (void)list_add_column(columns, names[i]);
    }
    columns->is_plain = true;
}

/* ---- fields of a record ---------------------------------------------------------------------- */

/* The unparsed rest of a field's text; `at` is NULL after the last element. */
typedef struct elements {
    const char *at;
    const char *end;
} elements;

/* Copies the text up to the separator, or to the end, and moves past the separator. */
static bool take_element(elements *from, char separator, char *text, size_t size)
{
    const char *stop = memchr(from->at, separator, (size_t)(from->end - from->at));
    const size_t length = (size_t)((stop != NULL ? stop : from->end) - from->at);

    if (length >= size || memchr(from->at, '\0', length) != NULL) {
        return false;
    }
    memcpy(text, from->at, length);
    text[length] = '\0';
    from->at = stop != NULL ? stop + 1 : NULL;
    return true;
}

/* Parses a decimal integer within [low, high]. It may end in .0, as dataframes write it. */
static bool parse_integer(const char *text, int64_t low, int64_t high, int64_t *number_out)
{
    const bool negative = *text == '-';
    const char *at = text + negative;
    int64_t number = 0;

    if (*at < '0' || *at > '9') {
        return false;
    }
    for (; *at != '\0' && *at != '.'; at++) {
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, *at - '0', &number)) {
            return false;
        }
    }
    if (*at == '.' && (at[1] == '\0' || at[1 + strspn(at + 1, "0")] != '\0')) {
        return false;
    }
    if (!negative && __builtin_sub_overflow(0, number, &number)) {
        return false;
    }
    *number_out = number;
    return number >= low && number <= high;
}

/*
 * Parses an integer within the bounds of its type, and stores its `size` low-order bytes; supported
 * machines are little-endian.
 */
static bool write_integer(const char *text, int64_t low, int64_t high, size_t size, void *to)
{
    int64_t number;

    if (!parse_integer(text, low, high, &number)) {
        return false;
    }
    memcpy(to, &number, size);
    return true;
}

static bool write_number(const char *text, sluice_dtype dtype, void *to)
{
    const double most = dtype == SLUICE_F64 ? 1.79e308 : 3.4e38;
    double real;

    switch (dtype) {
    case SLUICE_U8:
        return write_integer(text, 0, UINT8_MAX, 1, to);
    case SLUICE_I8:
        return write_integer(text, INT8_MIN, INT8_MAX, 1, to);
    case SLUICE_I16:
        return write_integer(text, INT16_MIN, INT16_MAX, 2, to);
    case SLUICE_U16:
        return write_integer(text, 0, UINT16_MAX, 2, to);
    case SLUICE_I32:
        return write_integer(text, INT32_MIN, INT32_MAX, 4, to);
    case SLUICE_U32:
        return write_integer(text, 0, UINT32_MAX, 4, to);
    case SLUICE_I64:
        return write_integer(text, INT64_MIN, INT64_MAX, 8, to);
    default:
        if (!sli_parse_real(text, &real) || !(real >= -most && real <= most)) {
            return false;
        }
        memcpy(to, dtype == SLUICE_F64 ? (void *)&real : &(float){(float)real},
               sluice_dtype_size(dtype));
        return true;
    }
}

/* Number of bytes of a field that messages show. */
static int shown_length(const list_field *field)
{
    return field->length < 80 ? (int)field->length : 80;
}

/* Parses comma-separated numbers and stores them. With `to` NULL it only checks them. */
static sluice_status write_numbers(const list_column *field, const list_field *text, uint8_t *to,
                                   uint32_t *count_out)
{
    const size_t size = sluice_dtype_size(field->dtype);
    elements from = {text->text, text->text + text->length};
    uint32_t count = 0;

    for (; from.at != NULL && text->length > 0; count++) {
        uint8_t number[8];
        char word[64];

        if (count == field->most) {
            return sli_fail(SLUICE_E_CORRUPT, "the array has more than %u numbers", field->most);
        }
        if (!take_element(&from, ',', word, sizeof(word)) ||
            !write_number(trim(word), field->dtype, number)) {
            return sli_fail(SLUICE_E_CORRUPT, "element %u of '%.*s' must be a number of type %s",
                            count + 1, shown_length(text), text->text,
                            sluice_dtype_name(field->dtype));
        }
        if (to != NULL) {
            memcpy(to + count * size, number, size);
        }
    }
    *count_out = count;
    return SLUICE_OK;
}

/*
 * Parses a box and converts it to x0,y0,x1,y1. `number`, from 1, is for the error text. A bad box
 * is an error here, whose text has the form of the list; others are clipped and dropped when the
 * sample is read.
 */
static sluice_status write_box(box_form form, const char *text, uint32_t number, float *box)
{
    const float size = form == BOX_DARKNET ? 1 : 0;
    elements from = {text, text + strlen(text)};
    box_verdict verdict = BOX_INVALID;
    bool good = true;

    for (int i = 0; i < 4 && good; i++) {
        char word[64];

        good = from.at != NULL && take_element(&from, ',', word, sizeof(word)) &&
               write_number(trim(word), SLUICE_F32, &box[i]);
    }
    if (good && from.at == NULL) {
        float clipped[4];

        box_to_corners(form, box);
        memcpy(clipped, box, sizeof(clipped));
        verdict = box_judge(clipped, size, size);
    }
    if (verdict == BOX_INVALID) {
        return sli_fail(SLUICE_E_CORRUPT, "box %u, '%.60s', must be %s", number, text,
                        box_forms[form].box);
    }
    return verdict != BOX_OUTSIDE
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "box %u, '%.60s', is wholly outside its image", number,
                          text);
}

/* Parses a point. `number`, from 1, is for the error text. */
static sluice_status write_point(const char *text, uint32_t number, float *point)
{
    elements from = {text, text + strlen(text)};
    bool good = true;

    for (int i = 0; i < 2 && good; i++) {
        char word[64];

        good = from.at != NULL && take_element(&from, ',', word, sizeof(word)) &&
               write_number(trim(word), SLUICE_F32, &point[i]);
    }
    return good && from.at == NULL && point_is_valid(point)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT,
                          "point %u, '%.60s', must be x,y with numbers from -1e6 to 1e6", number,
                          text);
}

/* Parses boxes or points, which are separated by semicolons, and stores them. */
static sluice_status write_boxes(const list_column *field, const list_field *text, uint8_t *to,
                                 uint32_t *count_out)
{
    const bool are_boxes = field->kind == LIST_BOXES;
    const size_t size = (are_boxes ? 4 : 2) * sizeof(float);
    elements from = {text->text, text->text + text->length};
    uint32_t count = 0;

    for (; from.at != NULL && text->length > 0; count++) {
        float box[4];
        char word[256];
        sluice_status st;

        if (count == field->most) {
            return sli_fail(SLUICE_E_CORRUPT, "more than %u %s, the most that the header declares",
                            field->most, are_boxes ? "boxes" : "points");
        }
        if (!take_element(&from, ';', word, sizeof(word))) {
            word[0] = '\0'; /* too long: neither a box nor a point */
        }
        st = are_boxes ? write_box(field->form, word, count + 1, box)
                       : write_point(word, count + 1, box);
        if (st != SLUICE_OK) {
            return st;
        }
        if (to != NULL) {
            memcpy(to + count * size, box, size);
        }
    }
    *count_out = count;
    return SLUICE_OK;
}

static sluice_status write_text(const list_column *field, const list_field *text, uint8_t *to,
                                uint32_t *count_out)
{
    uint32_t count = 0;

    for (size_t i = 0; i < text->length; i++) {
        i += text->quoted && text->text[i] == '"'; /* skip the first quote of a doubled quote */
        if (count == field->most) {
            return sli_fail(SLUICE_E_CORRUPT, "the text has more than %u bytes", field->most);
        }
        if (to != NULL) {
            to[count] = (uint8_t)text->text[i];
        }
        count++;
    }
    *count_out = count;
    return SLUICE_OK;
}

/* True if the field is a number of any type; it need not be one of its column's type. */
static bool is_number(const list_field *text)
{
    char word[64];
    double real;

    return text->length < sizeof(word) && list_copy_field(text, word, sizeof(word)) == SLUICE_OK &&
           sli_parse_real(trim(word), &real);
}

/* Fails because of a field of one number. It may be meant otherwise. */
static sluice_status bad_number(const list_columns *columns, const list_column *field,
                                const list_field *text)
{
    const char *name = columns->schema.columns[field->column].name;
    char hint[240] = "";

    if (columns->is_plain) {
        snprintf(hint, sizeof(hint),
                 ", the label of a list without a header; if this line is the header, its columns "
                 "must be image and label; if labels are texts, the header must be image and "
                 "label:text[N]");
    } else if (text->length > 0 && !is_number(text)) {
        snprintf(hint, sizeof(hint), "; if %s is a text, the header must have %s:text[N]", name,
                 name);
    }
    return sli_fail(SLUICE_E_CORRUPT, "'%.*s' must be a number of type %s%s", shown_length(text),
                    text->text, sluice_dtype_name(field->dtype), hint);
}

sluice_status list_write_field(const list_columns *columns, uint32_t field, const list_field *text,
                               void *const *row, uint32_t *count_out)
{
    const list_column *at = &columns->fields[field];
    const uint32_t numbers = at->kind == LIST_BOXES ? 4 : at->kind == LIST_POINTS ? 2 : 1;
    uint8_t *to = row[at->column];
    char word[64];
    sluice_status st;

    *count_out = 1;
    if (at->kind == LIST_NUMBER) {
        uint8_t number[8];

        if (text->length >= sizeof(word) ||
            list_copy_field(text, word, sizeof(word)) != SLUICE_OK ||
            !write_number(trim(word), at->dtype, number)) {
            return bad_number(columns, at, text);
        }
        if (to != NULL) {
            memcpy(to, number, sluice_dtype_size(at->dtype));
        }
        return SLUICE_OK;
    }
    if (to != NULL) {
        memset(to, 0, at->most * sluice_dtype_size(at->dtype) * numbers);
    }
    st = numbers > 1             ? write_boxes(at, text, to, count_out)
         : at->kind == LIST_TEXT ? write_text(at, text, to, count_out)
                                 : write_numbers(at, text, to, count_out);
    if (st == SLUICE_OK && at->length >= 0 && row[at->length] != NULL) {
        *(int32_t *)row[at->length] = (int32_t)*count_out;
    }
    return st;
}
