/* SPDX-License-Identifier: Apache-2.0 */
#include "json_fields.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "status_int.h"

sluice_status json_fields_check(void)
{
    return SLUICE_OK;
}

sluice_status json_fields_add_column(list_columns *columns, const char *declaration,
                                     const char *path, json_paths *paths)
{
    const uint32_t i = columns->count;
    sluice_status st = list_add_column(columns, declaration);

    if (st == SLUICE_OK) {
        snprintf(paths->paths[i], JSON_PATH_SIZE, "%s",
                 path != NULL ? path : columns->schema.columns[columns->fields[i].column].name);
    }
    return st;
}

sluice_status json_fields_parse(const char *text, size_t size, const char *what,
                                json_t **object_out)
{
    json_error_t error;

    *object_out = NULL;
    if (size > JSON_OBJECT_MOST) {
        return sli_fail(SLUICE_E_CORRUPT, "%s has %zu bytes, and must have at most %d", what, size,
                        JSON_OBJECT_MOST);
    }
    *object_out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (*object_out == NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "not JSON: %s, near byte %d", error.text, error.position);
    }
    if (!json_is_object(*object_out)) {
        json_decref(*object_out);
        *object_out = NULL;
        return sli_fail(SLUICE_E_CORRUPT, "%s must be an object, {...}", what);
    }
    return SLUICE_OK;
}

/* Returns a member of an object, or an element of a list by its number; NULL: there is none. */
static const json_t *find_member(const json_t *value, const char *key)
{
    size_t number = 0;

    if (!json_is_array(value)) {
        return json_object_get(value, key);
    }
    for (size_t i = 0; key[i] != '\0'; i++) {
        if (key[i] < '0' || key[i] > '9' || i > 7) {
            return NULL;
        }
        number = number * 10 + (size_t)(key[i] - '0');
    }
    return key[0] != '\0' ? json_array_get(value, number) : NULL;
}

/* Returns the value of a key with this name, or at a path of keys, a.b.0.c. NULL: there is none, or
 * it is null. */
static const json_t *find_value(const json_t *object, const char *path)
{
    const json_t *value = json_object_get(object, path);
    char key[JSON_PATH_SIZE];

    while (value == NULL && object != NULL) {
        const size_t length = strcspn(path, ".");

        memcpy(key, path, length);
        key[length] = '\0';
        object = find_member(object, key);
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
           : json_is_null(value)   ? "null"
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

/* True for a column of numbers of type u8: 1 and 0 for true and false. */
static bool takes_truth(const list_column *column)
{
    return column->dtype == SLUICE_U8 && column->names == NULL &&
           (column->kind == LIST_NUMBER || column->kind == LIST_NUMBERS);
}

/* Adds a number, a string or a truth value. */
static sluice_status add_scalar(sli_text *text, const list_column *column, const json_t *value,
                                bool in_list)
{
    if (json_is_string(value)) {
        const char *string = json_string_value(value);

        if (in_list && strpbrk(string, ",;") != NULL) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the string '%.60s' in a list must have no comma and no semicolon",
                            string);
        }
        if (in_list && string[0] == '\0') { /* a list of it would be written as an empty one */
            return sli_fail(SLUICE_E_CORRUPT, "a string in a list must not be empty");
        }
        add_string(text, string);
    } else if (json_is_integer(value)) {
        sli_text_add(text, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        sli_text_add_real(text, json_real_value(value));
    } else if (json_is_boolean(value) && takes_truth(column)) {
        sli_text_add(text, "%d", json_is_true(value));
    } else if (json_is_boolean(value)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "it is %s, and must be a number or a string; a column of type u8 takes "
                        "true as 1 and false as 0",
                        json_is_true(value) ? "true" : "false");
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

        if (json_is_array(element) != json_is_array(json_array_get(list, 0))) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "it holds lists beside other values, and must hold only lists or none");
        }
        if (!json_is_array(element)) {
            sli_text_add(text, "%s", i > 0 ? "," : "");
            st = add_scalar(text, column, element, true);
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
            st = add_scalar(text, column, json_array_get(element, k), true);
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
        return add_scalar(text, column, value, column->kind == LIST_NUMBERS);
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

        sli_text_add(text, "%s\"", i > 0 ? "\t" : "");
        st = value != NULL ? add_value(text, &columns->fields[i], value)
                           : sli_fail(SLUICE_E_CORRUPT, "there is no value");
        sli_text_add(text, "\"");
        if (st != SLUICE_OK) {
            st = sli_fail_quoting(st, "%s: %.600s", paths->paths[i], sluice_last_error());
        }
    }
    return st;
}

sluice_status json_fields_convert(const char *text, size_t size, const char *what,
                                  const list_columns *columns, const json_paths *paths,
                                  sli_text *record)
{
    json_t *object = NULL;
    sluice_status st = json_fields_parse(text, size, what, &object);

    st = st == SLUICE_OK ? add_fields(record, object, columns, paths) : st;
    json_decref(object);
    return st;
}
