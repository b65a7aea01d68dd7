/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a record: their text as numbers, boxes, points, bytes and classes. */
#include "list_columns.h"

#include <stdio.h>
#include <string.h>

#include "box_rule.h"
#include "point_range.h"
#include "status_int.h"
#include "tensor_int.h"
#include "text_int.h"

/* Indexed by box_form: the valid boxes, for messages. */
static const char *const form_boxes[] = {
    "x0,y0,x1,y1 with x0 <= x1 and y0 <= y1",
    "x,y,width,height with 0 <= width and 0 <= height",
    "x0,y0,x1,y1 with x0 <= x1 and y0 <= y1",
    "x,y,width,height of its centre and size, as fractions of the image from 0 to 1",
};

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

/* ---- classes ------------------------------------------------------------------------------- */

/* Replaces doubled quotes in an element of a quoted field by single ones. */
static void join_quotes(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        *to++ = *from;
        from += *from == '"' && from[1] == '"';
    }
    *to = '\0';
}

/* Copies the next element of a field of classes, which is the whole field of one class, to `name`.
 * E_CORRUPT: it is too long. */
static sluice_status next_class(const list_column *field, const list_field *text, elements *from,
                                char name[CLASS_NAME_SIZE])
{
    const char separator = field->kind == LIST_NUMBERS ? ',' : '\0';

    if (separator == '\0') {
        from->at = NULL;
    }
    if (separator == '\0' ? list_copy_field(text, name, CLASS_NAME_SIZE) != SLUICE_OK
                          : !take_element(from, separator, name, CLASS_NAME_SIZE)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the class '%.*s' must have less than %d bytes, none of them zero",
                        shown_length(text), text->text, CLASS_NAME_SIZE);
    }
    if (separator != '\0' && text->quoted) {
        join_quotes(name);
    }
    memmove(name, list_trim(name), strlen(list_trim(name)) + 1);
    return name[0] != '\0' ? SLUICE_OK
                           : sli_fail(SLUICE_E_CORRUPT, "the name of a class must not be empty");
}

/* Writes the number of a class. While its names are collected, every name is one. */
static sluice_status write_class(const vocabulary *names, const char *name, void *to)
{
    uint32_t number = 0;

    if (!names->is_open && !vocabulary_find(names, name, &number)) {
        return sli_fail(
            SLUICE_E_CORRUPT, "'%.100s' must be one of the %u classes%s%.300s: %s%s", name,
            names->count, names->file != NULL ? " of " : "", names->file != NULL ? names->file : "",
            names->count > 0 ? vocabulary_text(names, 0) : "", names->count > 1 ? ", ..." : "");
    }
    memcpy(to, &(const int32_t){(int32_t)number}, sizeof(int32_t));
    return SLUICE_OK;
}

sluice_status list_learn_field(const list_columns *columns, uint32_t field, const list_field *text)
{
    const list_column *at = &columns->fields[field];
    elements from = {text->text, text->text + text->length};
    char name[CLASS_NAME_SIZE];
    sluice_status st = SLUICE_OK;

    if (at->names == NULL || !at->names->is_open ||
        (at->kind == LIST_NUMBERS && text->length == 0)) {
        return SLUICE_OK;
    }
    while (st == SLUICE_OK && from.at != NULL) {
        st = next_class(at, text, &from, name);
        st = st == SLUICE_OK ? vocabulary_add(at->names, name) : st;
    }
    return st;
}

/* ---- kinds of fields ------------------------------------------------------------------------- */

/* Parses the next element, `count` from 0, of a field of numbers or classes. */
static sluice_status next_number(const list_column *field, const list_field *text, uint32_t count,
                                 elements *from, void *number)
{
    char word[CLASS_NAME_SIZE];

    if (field->names != NULL) {
        const sluice_status st = next_class(field, text, from, word);

        return st == SLUICE_OK ? write_class(field->names, word, number) : st;
    }
    return take_element(from, ',', word, 64) && write_number(list_trim(word), field->dtype, number)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "element %u of '%.*s' must be a number of type %s",
                          count + 1, shown_length(text), text->text,
                          sluice_dtype_name(field->dtype));
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
        sluice_status st;

        if (count == field->most) {
            return sli_fail(SLUICE_E_CORRUPT, "the array has more than %u numbers", field->most);
        }
        st = next_number(field, text, count, &from, number);
        if (st != SLUICE_OK) {
            return st;
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
               write_number(list_trim(word), SLUICE_F32, &box[i]);
    }
    if (good && from.at == NULL) {
        float clipped[4];

        box_to_corners(form, box);
        memcpy(clipped, box, sizeof(clipped));
        verdict = box_judge(clipped, size, size);
    }
    if (verdict == BOX_INVALID) {
        return sli_fail(SLUICE_E_CORRUPT, "box %u, '%.60s', must be %s", number, text,
                        form_boxes[form]);
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
               write_number(list_trim(word), SLUICE_F32, &point[i]);
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
           sli_parse_real(list_trim(word), &real);
}

/* Fails because of a field of one number. It may be meant otherwise. */
static sluice_status bad_number(const list_columns *columns, const list_column *field,
                                const list_field *text)
{
    const char *name = columns->schema.columns[field->column].name;
    char hint[240] = "";

    if (columns->is_plain) {
        snprintf(
            hint, sizeof(hint),
            ", the label of a list without a header; if this line is the header, its columns "
            "must be image and label; if labels are names of classes, the header must be image "
            "and label:class");
    } else if (text->length > 0 && !is_number(text)) {
        snprintf(hint, sizeof(hint),
                 "; if %s is the name of a class, the column must be %s:class, and for "
                 "other texts %s:text[N]",
                 name, name, name);
    }
    return sli_fail(SLUICE_E_CORRUPT, "'%.*s' must be a number of type %s%s", shown_length(text),
                    text->text, sluice_dtype_name(field->dtype), hint);
}

static sluice_status write_single(const list_columns *columns, const list_column *field,
                                  const list_field *text, uint8_t *to)
{
    uint8_t number[8];
    char word[64];
    elements from = {text->text, text->text + text->length};

    if (field->names != NULL) {
        const sluice_status st = next_number(field, text, 0, &from, number);

        if (st != SLUICE_OK) {
            return st;
        }
    } else if (text->length >= sizeof(word) ||
               list_copy_field(text, word, sizeof(word)) != SLUICE_OK ||
               !write_number(list_trim(word), field->dtype, number)) {
        return bad_number(columns, field, text);
    }
    if (to != NULL) {
        memcpy(to, number, sluice_dtype_size(field->dtype));
    }
    return SLUICE_OK;
}

sluice_status list_write_field(const list_columns *columns, uint32_t field, const list_field *text,
                               void *const *row, uint32_t *count_out)
{
    const list_column *at = &columns->fields[field];
    const uint32_t numbers = at->kind == LIST_BOXES ? 4 : at->kind == LIST_POINTS ? 2 : 1;
    uint8_t *to = row[at->column];
    sluice_status st;

    *count_out = 1;
    if (at->kind == LIST_NUMBER) {
        return write_single(columns, at, text, to);
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

sluice_status list_write_counted(const list_columns *columns, uint32_t field,
                                 const list_field *text, void *const *row, uint32_t *counts)
{
    const int boxes = columns->fields[field].boxes;
    const sluice_status st = list_write_field(columns, field, text, row, &counts[field]);

    return st != SLUICE_OK || boxes < 0 || counts[field] == counts[boxes]
               ? st
               : sli_fail(SLUICE_E_CORRUPT,
                          "the field has %u numbers, and must have one for each of the %u %s",
                          counts[field], counts[boxes],
                          columns->fields[boxes].kind == LIST_BOXES ? "boxes" : "points");
}
