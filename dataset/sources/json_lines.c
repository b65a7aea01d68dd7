/* SPDX-License-Identifier: Apache-2.0 */
#include "json_lines.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "error_int.h"
#include "status_int.h"
#include "text_int.h"

/* Limit on the bytes of a line; it bounds the memory of its values. jansson limits the depth. */
enum { MOST_LINE = 1 << 20 };

/* ---- one line -------------------------------------------------------------------------------- */

static bool is_blank(const char *text, size_t size)
{
    while (size > 0 && (*text == ' ' || *text == '\t' || *text == '\r')) {
        text++;
        size--;
    }
    return size == 0;
}

/* Parses a line. The caller releases the object. */
static sluice_status parse_line(const char *text, size_t size, json_t **object_out)
{
    json_error_t error;

    *object_out = NULL;
    if (size > MOST_LINE) {
        return sli_fail(SLUICE_E_CORRUPT, "the line has %zu bytes, and must have at most %d", size,
                        MOST_LINE);
    }
    *object_out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (*object_out == NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "not JSON: %s, near byte %d", error.text, error.position);
    }
    if (!json_is_object(*object_out)) {
        json_decref(*object_out);
        *object_out = NULL;
        return sli_fail(SLUICE_E_CORRUPT, "the line must be an object, {...}");
    }
    return SLUICE_OK;
}

/* Returns the value of a key with this name, or at a path of keys, a.b.c. NULL: there is none, or
 * it is null. */
static const json_t *find_value(const json_t *object, const char *path)
{
    const json_t *value = json_object_get(object, path);
    char key[JSON_PATH_SIZE];

    while (value == NULL && json_is_object(object)) {
        const size_t length = strcspn(path, ".");

        memcpy(key, path, length);
        key[length] = '\0';
        object = json_object_get(object, key);
        if (path[length] == '\0') {
            value = object;
            break;
        }
        path += length + 1;
    }
    return json_is_null(value) ? NULL : value;
}

static const char *type_of(const json_t *value)
{
    return json_is_object(value)   ? "an object"
           : json_is_array(value)  ? "a list"
           : json_is_string(value) ? "a string"
           : json_is_number(value) ? "a number"
                                   : "true or false";
}

/* Adds a text, in which quotes are doubled. */
static void add_string(sli_text *text, const char *at)
{
    while (*at != '\0') {
        const size_t length = strcspn(at, "\"");

        sli_text_add(text, "%.*s%s", (int)length, at, at[length] == '"' ? "\"\"" : "");
        at += length + (at[length] == '"');
    }
}

/* Adds a number, a string or a truth value. */
static sluice_status add_scalar(sli_text *text, const json_t *value, bool in_list)
{
    if (json_is_string(value)) {
        const char *string = json_string_value(value);

        if (in_list && strpbrk(string, ",;") != NULL) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the string '%.60s' in a list must have no comma and no semicolon",
                            string);
        }
        add_string(text, string);
    } else if (json_is_integer(value)) {
        sli_text_add(text, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        sli_text_add_real(text, json_real_value(value));
    } else if (json_is_boolean(value)) {
        sli_text_add(text, "%d", json_is_true(value));
    } else {
        return sli_fail(SLUICE_E_CORRUPT, "it holds %s, and must hold numbers or strings",
                        type_of(value));
    }
    return SLUICE_OK;
}

/* Adds a list of numbers or strings; of boxes and points also lists of numbers. */
static sluice_status add_list(sli_text *text, const list_column *column, const json_t *list)
{
    const bool may_nest = column->kind == LIST_BOXES || column->kind == LIST_POINTS;
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; st == SLUICE_OK && i < json_array_size(list); i++) {
        const json_t *element = json_array_get(list, i);
        const size_t count = json_array_size(element);

        if (!json_is_array(element)) {
            sli_text_add(text, "%s", i > 0 ? "," : "");
            st = add_scalar(text, element, true);
            continue;
        }
        if (!may_nest || count == 0) {
            return sli_fail(SLUICE_E_CORRUPT, "it holds %s, and must hold %s",
                            count == 0 ? "an empty list" : "lists",
                            may_nest ? "lists of numbers" : "numbers or strings");
        }
        sli_text_add(text, "%s", i > 0 ? ";" : "");
        for (size_t k = 0; st == SLUICE_OK && k < count; k++) {
            sli_text_add(text, "%s", k > 0 ? "," : "");
            st = add_scalar(text, json_array_get(element, k), true);
        }
    }
    return st;
}

/* Adds the value of a column. A text, a path or a single number must be no list. */
static sluice_status add_value(sli_text *text, const list_column *column, const json_t *value)
{
    const bool is_text =
        column->kind == LIST_TEXT || column->kind == LIST_IMAGE || column->kind == LIST_MASK;

    if (is_text && !json_is_string(value)) {
        return sli_fail(SLUICE_E_CORRUPT, "it is %s, and must be a string", type_of(value));
    }
    if (!json_is_array(value)) {
        return add_scalar(text, value, column->kind == LIST_NUMBERS);
    }
    return column->kind == LIST_NUMBER
               ? sli_fail(SLUICE_E_CORRUPT, "it is a list, and must be one value")
               : add_list(text, column, value);
}

static sluice_status add_fields(sli_text *text, const json_t *object, const list_columns *columns,
                                const json_paths *paths)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; st == SLUICE_OK && i < columns->count; i++) {
        const json_t *value = find_value(object, paths->paths[i]);
        sli_error error;

        sli_text_add(text, "%s\"", i > 0 ? "\t" : "");
        st = value != NULL ? add_value(text, &columns->fields[i], value)
                           : sli_fail(SLUICE_E_CORRUPT, "there is no value");
        sli_text_add(text, "\"");
        if (st != SLUICE_OK) {
            sli_error_take(st, &error);
            st = sli_fail(st, "%s: %.600s", paths->paths[i], error.text);
        }
    }
    return st;
}

/* ---- all lines ------------------------------------------------------------------------------- */

/* Writes the reason why a line is bad, as a record. */
static void write_bad(sli_text *text, sluice_status status)
{
    sli_error error;

    sli_error_take(status, &error);
    for (char *at = error.text; *at != '\0'; at++) {
        *at = (char)(*at == '\n' || *at == '\t' || *at == '\r' ? ' ' : *at);
    }
    sli_text_add(text, "%c%.700s", JSON_LINES_BAD, error.text);
}

/* Adds a line as a record. */
static sluice_status convert_line(const char *line, size_t size, const list_columns *columns,
                                  const json_paths *paths, sli_text *text)
{
    json_t *object = NULL;
    sli_text fields = {0};
    char *record = NULL;
    sluice_status st = parse_line(line, size, &object);

    st = st == SLUICE_OK ? add_fields(&fields, object, columns, paths) : st;
    json_decref(object);
    if (st == SLUICE_OK) {
        st = sli_text_take(&fields, &record);
        sli_text_add(text, "%s\n", st == SLUICE_OK ? record : "");
        sluice_string_free(record);
        return st;
    }
    sli_text_free(&fields);
    write_bad(text, st);
    sli_text_add(text, "\n");
    return SLUICE_OK;
}

/* Returns the next line that is not blank, without its break; NULL: there is none. *number_io: its
 * number. */
static const char *next_line(const char **at, const char *end, size_t *size_out,
                             uint64_t *number_io)
{
    while (*at < end) {
        const char *line = *at;
        const char *stop = memchr(line, '\n', (size_t)(end - line));

        *size_out = (size_t)((stop != NULL ? stop : end) - line);
        *at = stop != NULL ? stop + 1 : end;
        ++*number_io;
        if (!is_blank(line, *size_out)) {
            return line;
        }
    }
    return NULL;
}

static const char *after_mark(const char *text, size_t size)
{
    return text + (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
}

sluice_status json_lines_convert(const char *text, size_t size, const list_columns *columns,
                                 const json_paths *paths, json_records *records)
{
    const char *at = after_mark(text, size);
    const char *line;
    sli_text converted = {0};
    uint64_t number = 0;
    size_t length = 0;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && (line = next_line(&at, text + size, &length, &number)) != NULL) {
        uint64_t *grown = sli_grow(records->lines, &records->lines_capacity,
                                   (size_t)records->count + 1, sizeof(*grown));

        if (grown == NULL) {
            st = sli_fail(SLUICE_E_NO_MEMORY, "a list of %llu samples",
                          (unsigned long long)records->count);
            break;
        }
        records->lines = grown;
        grown[records->count++] = number;
        st = convert_line(line, length, columns, paths, &converted);
    }
    records->size = converted.length;
    if (st != SLUICE_OK) {
        sli_text_free(&converted);
        return st;
    }
    return sli_text_take(&converted, &records->text);
}

/* ---- columns --------------------------------------------------------------------------------- */

static sluice_status add_column(list_columns *columns, const char *text, const char *path,
                                json_paths *paths)
{
    const uint32_t i = columns->count;
    sluice_status st = list_add_column(columns, text);

    if (st == SLUICE_OK) {
        snprintf(paths->paths[i], JSON_PATH_SIZE, "%s",
                 path != NULL ? path : columns->schema.columns[columns->fields[i].column].name);
    }
    return st;
}

/* Adds the columns of fields=. */
static sluice_status add_declared(const char *fields, list_columns *columns, json_paths *paths)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && fields != NULL) {
        const size_t length = strcspn(fields, ",");
        char text[JSON_PATH_SIZE];
        char *path;

        if (length == 0 || length >= sizeof(text)) {
            return sli_fail(SLUICE_E_INVALID,
                            "fields=%.100s: a field must be image, label, or NAME:KIND, with =KEY "
                            "or =KEY.KEY if the key is another one; such as "
                            "image=file_name,label:class,caption:text[300]",
                            fields);
        }
        memcpy(text, fields, length);
        text[length] = '\0';
        path = strchr(text, '=');
        if (path != NULL) {
            *path++ = '\0';
        }
        st = add_column(columns, text, path, paths);
        fields = fields[length] == ',' ? fields + length + 1 : NULL;
    }
    return st;
}

/* Adds image and label, as far as an object has them. */
static sluice_status add_usual(const json_t *object, list_columns *columns, json_paths *paths,
                               char *others, size_t size)
{
    sluice_status st = SLUICE_OK;
    const char *key;
    const json_t *value;
    size_t used = 0;

    st = json_object_get(object, "image") != NULL ? add_column(columns, "image", NULL, paths) : st;
    st = st == SLUICE_OK && json_object_get(object, "label") != NULL
             ? add_column(columns, "label", NULL, paths)
             : st;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (strcmp(key, "image") != 0 && strcmp(key, "label") != 0 && used < size) {
            used +=
                (size_t)snprintf(others + used, size - used, "%s%.40s", used > 0 ? ", " : "", key);
        }
    }
    return st == SLUICE_OK && columns->count == 0
               ? sli_fail(SLUICE_E_INVALID,
                          "the first line has neither image nor label; fields= must declare the "
                          "columns, such as image=file_name,label:class; its keys are %s",
                          others)
               : st;
}

sluice_status json_lines_columns(const char *fields, const char *text, size_t size,
                                 list_columns *columns, json_paths *paths_out, char *others,
                                 size_t others_size)
{
    const char *at = after_mark(text, size);
    uint64_t number = 0;
    size_t length = 0;
    json_t *object = NULL;
    const char *line;
    sluice_status st;

    others[0] = '\0';
    if (fields[0] != '\0') {
        return add_declared(fields, columns, paths_out);
    }
    line = next_line(&at, text + size, &length, &number);
    st = line != NULL
             ? parse_line(line, length, &object)
             : sli_fail(SLUICE_E_INVALID, "no valid data in the dataset: the list is empty");
    st = st == SLUICE_OK ? add_usual(object, columns, paths_out, others, others_size) : st;
    json_decref(object);
    return st;
}
